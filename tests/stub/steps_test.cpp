// Steps other than plain launches: reads with further segments, predicates, variants, copies, library calls.
#include "catch.h"
#include "harness.h"

using namespace dlcb;
using namespace dlcb::test;

namespace {

// x: f32[N]; entry 0 writes how many of x are positive to `count`; y: f32[K] of that many, written by entry 1.
ProgramBuilder nonzero_program(bool with_predicate) {
  ProgramBuilder b;
  const uint32_t eight = b.i64(8), four = b.i64(4), one = b.i64(1);
  const uint32_t n = b.dim(0, 0);
  const uint32_t x = b.input("x", 0, {{n, "N"}});
  const uint32_t in = b.input_buffer(x), count = b.arena(eight, 0, 1, 10);
  const uint32_t k = b.reg(fb::RegType::I64), large = b.op(fb::Op::Le, four, n);
  b.step(std::move(*b.launch(b.entry("count"), one, {in, count}, {n})));
  fb::ReadT read;
  read.buffer = count;
  read.dst = k;
  read.next_segment = 1;
  b.step(read, with_predicate ? static_cast<int32_t>(large) : -1);
  b.next_segment();
  const uint32_t bytes = b.op(fb::Op::Mul, k, four);
  b.guard(b.op(fb::Op::Le, k, eight), "K <= 8", 1);
  const uint32_t temp = b.arena(bytes, 2, 3), y = b.output("y", 0, {{k, "K"}}, bytes);
  b.step(std::move(*b.launch(b.entry("fill"), k, {temp}, {k})));
  fb::CopyT copy;
  copy.from = temp;
  copy.to = y;
  copy.bytes = bytes;
  b.step(copy);
  return b;
}

void add_nonzero_kernels(FakeState& state) {
  state.kernels = {[](const rt::LaunchCall& call) {
                     int64_t positive = 0;
                     for (uint64_t i = 0; i < call.args[2]; ++i) positive += pointer<float>(call, 0)[i] > 0;
                     *pointer<int64_t>(call, 1) = positive;
                   },
                   [](const rt::LaunchCall& call) {
                     for (uint64_t i = 0; i < call.args[1]; ++i) pointer<float>(call, 0)[i] = static_cast<float>(i);
                   }};
}

}  // namespace

TEST_CASE("a size read from the device shapes what follows") {
  Harness h;
  add_nonzero_kernels(*h.state);
  h.state->graphs = true;  // never used: the host has to look
  REQUIRE_FALSE(h.load(nonzero_program(false)));
  const auto context = h.context();
  Tensor<float> x({6}, {1, -1, 2, -2, 3, 4}, kF32);
  Empty y(1);
  for (int round = 0; round < 3; ++round) {
    REQUIRE_FALSE(context->invoke({&x.dl, 1}, {&y.dl, 1}, nullptr));
    CHECK(y.shape[0] == 4);
    CHECK(static_cast<float*>(y.dl.data)[3] == 3);
  }
  CHECK(h.state->captures == 0);
  CHECK(context->shapes_known() == 2);  // one of each stage
  x.values = {-1, -1, -1, -1, -1, -1};
  std::copy(x.values.begin(), x.values.end(), static_cast<float*>(x.dl.data));
  REQUIRE_FALSE(context->invoke({&x.dl, 1}, {&y.dl, 1}, nullptr));
  CHECK(y.shape[0] == 0);

  int64_t shape = 0;
  int64_t* shapes[] = {&shape};
  REQUIRE_FALSE(context->resolve({&x.dl, 1}, shapes, nullptr));
  CHECK(shape == -1);  // not known before it has run
  auto given = floats({3}, 0);
  CHECK(context->invoke({&x.dl, 1}, {&given.dl, 1}, nullptr).message ==
        "output 'y' dim 0 is 3, but this call makes K = 0");
}

TEST_CASE("a guard after a read refuses") {
  Harness h;
  add_nonzero_kernels(*h.state);
  REQUIRE_FALSE(h.load(nonzero_program(false)));
  auto x = floats({9}, 1);
  Empty y(1);
  const rt::Error error = h.context()->invoke({&x.dl, 1}, {&y.dl, 1}, nullptr);
  CHECK(error.status == DLCB_INPUT_REFUSED);
  CHECK(error.message == "K <= 8 is needed, but does not hold");
  CHECK(h.count("launch 1") == 0);
}

TEST_CASE("a read whose predicate is false gives 0 and the segment runs") {
  Harness h;
  add_nonzero_kernels(*h.state);
  REQUIRE_FALSE(h.load(nonzero_program(true)));
  const auto context = h.context();
  auto small = floats({3}, 1), large = floats({5}, 1);
  Empty y(1);
  REQUIRE_FALSE(context->invoke({&small.dl, 1}, {&y.dl, 1}, nullptr));
  CHECK(y.shape[0] == 0);
  REQUIRE_FALSE(context->invoke({&large.dl, 1}, {&y.dl, 1}, nullptr));
  CHECK(y.shape[0] == 5);
}

TEST_CASE("values of a small integer input decide shapes, from host and device alike") {
  ProgramBuilder b;
  const uint32_t four = b.i64(4), two = b.i64(2);
  b.input("size", 10, {{two, "2"}}, true);
  const uint32_t h0 = b.op(fb::Op::InputElem, 0, 0), w = b.op(fb::Op::InputElem, 0, 1);
  b.output("y", 0, {{h0, "H"}, {w, "W"}}, b.op(fb::Op::Mul, b.op(fb::Op::Mul, h0, w), four));
  Harness h;
  REQUIRE_FALSE(h.load(b));
  const auto context = h.context();
  for (DLDeviceType kind : {kDLCPU, kDLCUDA}) {
    Tensor<int64_t> size({2}, {3, 5}, kI64, kind);
    Empty y(2);
    REQUIRE_FALSE(context->invoke({&size.dl, 1}, {&y.dl, 1}, nullptr));
    CHECK(y.shape == std::vector<int64_t>{3, 5});
    size.dl.data = nullptr;
    CHECK(context->resolve({&size.dl, 1}, nullptr, nullptr).message ==
          "input 'size' needs its data, because shapes depend on its values");
  }
  Tensor<int64_t> negative({2}, {3, -5}, kI64);
  Empty y(2);
  CHECK(context->invoke({&negative.dl, 1}, {&y.dl, 1}, nullptr).message ==
        "output 'y' would have the impossible shape [3, -5]");
}

TEST_CASE("predicates choose between branches, variants between kernels") {
  ProgramBuilder b;
  const uint32_t four = b.i64(4), one = b.i64(1);
  const uint32_t n = b.dim(0, 0), large = b.op(fb::Op::Le, four, n), small = b.op(fb::Op::Not, large);
  b.input("x", 0, {{n, "N"}});
  b.output("y", 0, {{n, "N"}}, b.op(fb::Op::Mul, n, four));
  const uint32_t k[] = {b.entry("a"), b.entry("b"), b.entry("c"), b.entry("d")};
  b.step(std::move(*b.launch(k[0], one, {})), static_cast<int32_t>(large));
  b.step(std::move(*b.launch(k[1], one, {})), static_cast<int32_t>(small));
  auto both = b.launch(k[2], one, {});
  both->variants[0]->when = large;
  auto second = b.launch(k[3], one, {});
  both->variants.push_back(std::move(second->variants[0]));
  b.step(std::move(*both));
  Harness h;
  REQUIRE_FALSE(h.load(b));
  h.state->kernels.assign(4, [](const rt::LaunchCall&) {});
  const auto context = h.context();
  for (int64_t size : {2, 5}) {
    auto x = floats({size}, 0);
    Empty y(1);
    h.state->log.clear();
    REQUIRE_FALSE(context->invoke({&x.dl, 1}, {&y.dl, 1}, nullptr));
    const std::vector<std::string> expected =
        size < 4 ? std::vector<std::string>{"launch 1", "launch 3"} : std::vector<std::string>{"launch 0", "launch 2"};
    CHECK(h.state->log == expected);
  }
}

namespace {

// y = relu(x w^T) by a library, or by the kernel that stands in for it.
struct LibraryCall {
  Harness h;
  Tensor<float> x = floats({2, 3}, 0);
  Empty y{2};

  static ProgramBuilder program() {
    ProgramBuilder b;
    const uint32_t three = b.i64(3), four = b.i64(4), one = b.i64(1), zero = b.i64(0);
    const uint32_t n = b.dim(0, 0);
    const uint32_t in = b.input_buffer(b.input("x", 0, {{n, "N"}, {three, "3"}})), w = b.weight(0, 64),
                   bytes = b.op(fb::Op::Mul, b.op(fb::Op::Mul, n, four), four);
    const uint32_t out = b.output("y", 0, {{n, "N"}, {four, "4"}}, bytes);
    fb::MatmulT m;
    m.a = in, m.b = w, m.c = out;
    m.m = n, m.n = four, m.k = three, m.batch = one;
    m.lda = three, m.ldb = four, m.ldc = four;
    m.stride_a = m.stride_b = m.stride_c = zero;
    m.trans_b = true;
    m.activation = fb::Activation::Relu;
    b.step(std::move(m)).fallback = b.launch(b.entry("matmul"), n, {in, w, out});
    return b;
  }
  std::unique_ptr<rt::Context> context() {
    h.options.allow_tf32_matmul = 1;
    REQUIRE_FALSE(h.load(program()));
    return h.context();
  }
  rt::Error invoke(rt::Context& context) { return context.invoke({&x.dl, 1}, {&y.dl, 1}, nullptr); }
};

}  // namespace

TEST_CASE_METHOD(LibraryCall, "library calls carry what the program says") {
  rt::MatmulCall seen{};
  h.state->on_matmul = [&](const rt::MatmulCall& call) {
    seen = call;
    return rt::Error{};
  };
  REQUIRE_FALSE(invoke(*context()));
  CHECK(seen.a == reinterpret_cast<rt::Ptr>(x.dl.data));
  CHECK(seen.c == reinterpret_cast<rt::Ptr>(y.dl.data));
  CHECK(*reinterpret_cast<const uint8_t*>(seen.b + 5) == 5);
  CHECK(seen.m == 2);
  CHECK(seen.bias == 0);
  CHECK(seen.trans_b);
  CHECK(seen.tf32);
  CHECK(seen.activation == 1);
  CHECK(h.state->launches == 0);
}

TEST_CASE_METHOD(LibraryCall, "a library's refusal is answered by the fallback from then on") {
  int asked = 0;
  h.state->on_matmul = [&](const rt::MatmulCall&) {
    ++asked;
    return rt::Error{DLCB_MISSING_LIBRARY, "no cuBLASLt"};
  };
  const auto loaded = context();
  for (int i = 0; i < 3; ++i) REQUIRE_FALSE(invoke(*loaded));
  CHECK(asked == 1);
  CHECK(h.count("launch 0") == 3);
}

TEST_CASE_METHOD(LibraryCall, "libraries that the caller does not want are not called") {
  h.state->on_matmul = [&](const rt::MatmulCall&) { return rt::Error{DLCB_DEVICE_ERROR, "called"}; };
  h.options.use_libraries = 0;
  REQUIRE_FALSE(invoke(*context()));
  CHECK(h.count("launch 0") == 1);
}

TEST_CASE_METHOD(LibraryCall, "a library call that fails is no refusal") {
  h.state->on_matmul = [&](const rt::MatmulCall&) { return rt::Error{DLCB_DEVICE_ERROR, "illegal address"}; };
  CHECK(invoke(*context()).message == "illegal address");
  CHECK(h.state->launches == 0);
}

TEST_CASE_METHOD(LibraryCall, "nothing is called for an empty result") {
  auto empty = floats({0, 3}, 0);
  REQUIRE_FALSE(context()->invoke({&empty.dl, 1}, {&y.dl, 1}, nullptr));
  CHECK(h.state->launches == 0);
}

TEST_CASE("a stand-in too large to launch is no obstacle as long as the library takes the call") {
  ProgramBuilder b;
  const uint32_t one = b.i64(1), four = b.i64(4), huge = b.i64(int64_t{1} << 40);
  const uint32_t n = b.dim(0, 0);
  const uint32_t in = b.input_buffer(b.input("x", 0, {{n, "N"}})), w = b.weight(0, 16);
  const uint32_t y = b.output("y", 0, {{n, "N"}}, b.op(fb::Op::Mul, n, four));
  fb::MatmulT m;
  m.a = in, m.b = w, m.c = y;
  m.m = n, m.n = m.k = m.batch = m.lda = m.ldb = m.ldc = one;
  m.stride_a = m.stride_b = m.stride_c = one;
  b.step(std::move(m)).fallback = b.launch(b.entry("matmul"), huge, {in, w, y});
  Harness h;
  h.state->on_matmul = [](const rt::MatmulCall&) { return rt::Error{}; };
  const bool allowed = GENERATE(false, true);
  h.options.use_libraries = allowed;
  REQUIRE_FALSE(h.load(b));
  auto x = floats({2}, 0);
  Empty out(1);
  const rt::Error error = h.context()->invoke({&x.dl, 1}, {&out.dl, 1}, nullptr);
  CHECK(error.message == (allowed ? "" : "kernel 0 cannot be launched for a shape this large"));
}

TEST_CASE("a convolution without library or fallback is the library's error") {
  ProgramBuilder b;
  const uint32_t one = b.i64(1), four = b.i64(4);
  const uint32_t n = b.dim(0, 0);
  const uint32_t in = b.input_buffer(b.input("x", 0, {{n, "N"}})), w = b.weight(0, 16);
  const uint32_t y = b.output("y", 0, {{n, "N"}}, b.op(fb::Op::Mul, n, four));
  fb::ConvT c;
  c.x = in, c.w = w, c.y = y;
  c.n = n, c.h = c.wd = c.c = c.k = c.p = c.q = one;
  c.r = c.s = c.groups = 1;
  c.pad = {0, 1, 2, 3}, c.stride = {1, 2}, c.dilation = {1, 1};
  const bool fallback = GENERATE(false, true), allowed = GENERATE(false, true);
  fb::StepT& step = b.step(std::move(c));
  if (fallback) step.fallback = b.launch(b.entry("conv"), n, {in, w, y});
  Harness h;
  h.options.use_libraries = allowed;
  REQUIRE_FALSE(h.load(b));
  auto x = floats({2}, 0);
  Empty out(1);
  const rt::Error error = h.context()->invoke({&x.dl, 1}, {&out.dl, 1}, nullptr);
  const char* refused = allowed ? "no convolution here; dlcbc --stand-ins makes a bundle that runs without the library"
                                : "kernel 0 is a library call without a stand-in; dlcbc --stand-ins makes one";
  CHECK(error.message == (fallback ? "" : refused));
  CHECK(h.state->launches == (fallback ? 1 : 0));
}
