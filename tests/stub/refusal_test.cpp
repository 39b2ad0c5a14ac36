// What a call may be refused for, as a table, with the exact sentence that the user sees. Nothing runs when one is
// given.
#include "base/limits.h"
#include "catch.h"
#include "harness.h"

using namespace dlcb;
using namespace dlcb::test;

namespace {

// ids: i64[N, T], mask: f32[N, T], image: f32[N, 2*T, 3]; 7 <= T; T % 4 == 0 for Conv '/enc/conv0'.
ProgramBuilder guarded_program() {
  ProgramBuilder b;
  const uint32_t two = b.i64(2), three = b.i64(3), four = b.i64(4), seven = b.i64(7), zero = b.i64(0);
  const uint32_t n = b.dim(0, 0), t = b.dim(0, 1), twice = b.op(fb::Op::Mul, two, t);
  b.input("ids", 10, {{n, "N"}, {t, "T"}});
  b.input("mask", 0, {{n, "N"}, {t, "T"}});
  b.input("image", 0, {{n, "N"}, {twice, "2*T"}, {three, "3"}});
  b.symbol("N", n);
  b.symbol("T", t);
  b.output("y", 0, {{n, "N"}}, b.op(fb::Op::Mul, n, four));
  fb::GuardT& range = b.guard(b.op(fb::Op::Le, seven, t), "7 <= T");
  range.input = 0;
  range.axis = 1;
  range.origins.push_back(std::make_unique<fb::OriginT>());
  range.origins[0]->op = "Conv";
  range.origins[0]->node = "/enc/conv0";
  range.origins[0]->detail = "kernel 7";
  fb::GuardT& divisible = b.guard(b.op(fb::Op::Eq, b.op(fb::Op::Mod, t, four), zero), "T % 4 == 0");
  divisible.why = "Reshape needs whole groups";
  divisible.shown.push_back(std::make_unique<fb::ShownT>());
  divisible.shown[0]->text = "T";
  divisible.shown[0]->reg = t;
  return b;
}

struct Call {
  Tensor<int64_t> ids{{2, 8}, std::vector<int64_t>(16), kI64};
  Tensor<float> mask = floats({2, 8}, 0), image = floats({2, 16, 3}, 0);
  Empty y{1};
  int n_inputs = 3;
  std::vector<int64_t> strides;
};

struct Row {
  std::function<void(Call&)> change;
  int status;
  const char* message;
};

void set_shape(DLTensor& t, std::vector<int64_t>& storage, std::vector<int64_t> dims) {
  storage = std::move(dims);
  t.shape = storage.data();
  t.ndim = static_cast<int32_t>(storage.size());
}

const Row kRows[] = {
    {[](Call& c) { c.n_inputs = 2; }, DLCB_BAD_ARGUMENT, "2 inputs were given, but the model has 3"},
    {[](Call& c) { c.ids.dl.dtype = kF32; }, DLCB_INPUT_REFUSED, "input 'ids' has element type f32, but i64 is needed"},
    {[](Call& c) { c.mask.dl.dtype.lanes = 4; }, DLCB_INPUT_REFUSED,
     "input 'mask' has element type DLPack type code 2 with 32 bits and 4 lanes, but f32 is needed"},
    {[](Call& c) { set_shape(c.mask.dl, c.mask.shape, {16}); }, DLCB_INPUT_REFUSED,
     "input 'mask' [16] has 1 dims, but 2 are needed"},
    {[](Call& c) { c.mask.dl.ndim = -1; }, DLCB_INPUT_REFUSED, "input 'mask' has -1 dims, but 2 are needed"},
    {[](Call& c) { c.mask.shape[1] = -8; }, DLCB_INPUT_REFUSED, "input 'mask' dim 1 is -8, which is negative"},
    {[](Call& c) {
       c.mask.shape = {kLargestDim, kLargestDim}, c.mask.dl.shape = c.mask.shape.data();
     },
     DLCB_INPUT_REFUSED, "input 'mask' has the impossible shape [2147483647, 2147483647]"},
    {[](Call& c) {
       c.mask.shape = {0, kLargestDim + 1}, c.mask.dl.shape = c.mask.shape.data();
     },
     DLCB_INPUT_REFUSED, "input 'mask' dim 1 is 2147483648, but at most 2147483647 is allowed"},
    {[](Call& c) { c.mask.shape[0] = 3; }, DLCB_INPUT_REFUSED,
     "input 'mask' dim 0 is 3, but N = 2 is needed; N is dim 0 of input 'ids'"},
    {[](Call& c) { c.image.shape[1] = 15; }, DLCB_INPUT_REFUSED,
     "input 'image' dim 1 is 15, but 2*T = 16 is needed; T is dim 1 of input 'ids'"},
    {[](Call& c) { c.image.shape[2] = 4; }, DLCB_INPUT_REFUSED, "input 'image' dim 2 is 4, but 3 is needed"},
    {[](Call& c) { c.ids.shape[1] = 6, c.mask.shape[1] = 6, c.image.shape[1] = 12; }, DLCB_INPUT_REFUSED,
     "input 'ids' dim 1 is 6, but 7 or more is needed; T is dim 1 of input 'ids'\n  from Conv '/enc/conv0' (kernel 7)"},
    {[](Call& c) { c.ids.shape[1] = 7, c.mask.shape[1] = 7, c.image.shape[1] = 14; }, DLCB_INPUT_REFUSED,
     "T % 4 == 0 is needed, but does not hold; here T = 7; T is dim 1 of input 'ids'; Reshape needs whole groups"},
    {[](Call& c) {
       c.strides = {1, 2}, c.mask.dl.strides = c.strides.data();
     },
     DLCB_INPUT_REFUSED, "input 'mask' is not contiguous (strides [1, 2] for shape [2, 8]); make it so first"},
    {[](Call& c) { c.mask.dl.shape = nullptr; }, DLCB_BAD_ARGUMENT, "input 'mask' has no array for its shape"},
    {[](Call& c) { c.mask.dl.data = nullptr; }, DLCB_BAD_ARGUMENT, "input 'mask' has no data"},
    {[](Call& c) { c.mask.dl.data = reinterpret_cast<char*>(c.mask.values.data()) + 1; }, DLCB_BAD_ARGUMENT,
     "input 'mask' begins at an address (data + byte_offset) that is not a multiple of its 4-byte elements"},
    {[](Call& c) { c.ids.dl.byte_offset = 4; }, DLCB_BAD_ARGUMENT,
     "input 'ids' begins at an address (data + byte_offset) that is not a multiple of its 8-byte elements"},
    {[](Call& c) {
       c.y.dl = c.mask.dl, c.y.dl.ndim = 1, c.y.dl.byte_offset = 2, c.y.shape[0] = 2, c.y.dl.shape = c.y.shape.data();
     },
     DLCB_BAD_ARGUMENT,
     "output 'y' begins at an address (data + byte_offset) that is not a multiple of its 4-byte elements"},
    {[](Call& c) { c.mask.dl.device.device_type = kDLMetal; }, DLCB_BAD_ARGUMENT,
     "input 'mask' is in memory of DLPack device type 8, which the test device cannot use"},
    {[](Call& c) { c.mask.dl.device.device_id = 3; }, DLCB_BAD_ARGUMENT,
     "input 'mask' is on CUDA device 3, but the model was loaded on 0"},
    {[](Call& c) { c.y.dl.shape = nullptr; }, DLCB_BAD_ARGUMENT, "output 'y' has no array for its shape"},
    {[](Call& c) { c.y.dl = floats({2}, 0).dl, c.y.dl.shape = c.y.shape.data(), c.y.shape[0] = 3; }, DLCB_INPUT_REFUSED,
     "output 'y' dim 0 is 3, but this call makes N = 2"},
    {[](Call& c) { c.y.dl = c.ids.dl, c.y.dl.ndim = 1; }, DLCB_INPUT_REFUSED,
     "output 'y' has element type i64, but the model makes f32"},
    {[](Call& c) { c.y.dl = c.mask.dl; }, DLCB_INPUT_REFUSED, "output 'y' has 2 dims, but the model makes 1"},
    {[](Call& c) { c.y.dl = c.mask.dl, c.y.dl.ndim = 1, c.y.shape[0] = 2, c.y.dl.shape = c.y.shape.data(); },
     DLCB_BAD_ARGUMENT, "output 'y' overlaps input 'mask' in memory"},
};

}  // namespace

TEST_CASE("refusals name input, axis, value and constraint") {
  Harness h;
  REQUIRE_FALSE(h.load(guarded_program()));
  const auto context = h.context();
  for (const Row& row : kRows) {
    Call c;
    row.change(c);
    h.state->log.clear();
    const DLTensor inputs[] = {c.ids.dl, c.mask.dl, c.image.dl};
    DLTensor outputs[] = {c.y.dl};
    const rt::Error error = context->invoke({inputs, static_cast<size_t>(c.n_inputs)}, outputs, nullptr);
    INFO(row.message);
    CHECK(error.message == row.message);
    CHECK(error.status == row.status);
    CHECK(h.state->log.empty());
  }
  Call good;
  const DLTensor inputs[] = {good.ids.dl, good.mask.dl, good.image.dl};
  DLTensor outputs[] = {good.y.dl};
  const rt::Error error = context->invoke(inputs, outputs, nullptr);
  CHECK(error.message == "");
  CHECK(context->shapes_known() == 1);  // refusals are not remembered
}

TEST_CASE("outputs must not overlap each other, wherever their memory is from") {
  Harness h;
  ProgramBuilder b;
  const uint32_t n = b.dim(0, 0), bytes = b.op(fb::Op::Mul, n, b.i64(4));
  b.input("x", 0, {{n, "N"}});
  b.output("y", 0, {{n, "N"}}, bytes);
  b.output("z", 0, {{n, "N"}}, bytes);
  REQUIRE_FALSE(h.load(b));
  const auto context = h.context();
  for (const DLDeviceType kind : {kDLCUDA, kDLCPU}) {  // written in place, and copied out
    auto x = floats({4}, 1, kind), memory = floats({8}, 0, kind);
    int64_t y_shape[] = {4}, z_shape[] = {4};
    DLTensor outputs[] = {memory.dl, memory.dl};
    outputs[0].shape = y_shape, outputs[1].shape = z_shape;
    for (const uint64_t at : {0, 4, 12, 16}) {
      outputs[1].byte_offset = at;
      const rt::Error error = context->invoke({&x.dl, 1}, outputs, nullptr);
      CHECK(error.message == (at < 16 ? "output 'z' overlaps output 'y' in memory" : ""));
      CHECK(error.status == (at < 16 ? DLCB_BAD_ARGUMENT : DLCB_OK));
    }
    outputs[0].data = outputs[1].data = nullptr;
    REQUIRE_FALSE(context->invoke({&x.dl, 1}, outputs, nullptr));
    outputs[0] = outputs[1], outputs[0].shape = y_shape;  // y shall go where z was; z gets other memory
    REQUIRE_FALSE(context->invoke({&x.dl, 1}, outputs, nullptr));
    CHECK(outputs[0].data != outputs[1].data);
  }
}

TEST_CASE("an input in memory that the context has used again since is refused") {
  Harness h;
  ProgramBuilder b;
  const uint32_t n = b.dim(0, 0), bytes = b.op(fb::Op::Mul, n, b.i64(4));
  b.input("a", 0, {{n, "N"}});
  b.input("b", 0, {{n, "N"}});
  b.output("y", 0, {{n, "N"}}, bytes);
  REQUIRE_FALSE(h.load(b));
  const auto context = h.context();
  const auto x = floats({4}, 1);
  Empty first(1), second(1), third(1);
  DLTensor inputs[] = {x.dl, x.dl};
  REQUIRE_FALSE(context->invoke(inputs, {&first.dl, 1}, nullptr));
  inputs[0] = first.dl;
  REQUIRE_FALSE(context->invoke(inputs, {&second.dl, 1}, nullptr));
  inputs[1] = second.dl;
  const rt::Error error = context->invoke(inputs, {&third.dl, 1}, nullptr);
  CHECK(error.status == DLCB_BAD_ARGUMENT);
  CHECK(error.message ==
        "tensors of this call lie in what two earlier calls provided for output 'y': the older of them is no longer "
        "valid");
}

TEST_CASE("strides of row-major order, and of dims that do not matter, are accepted") {
  int64_t shape[] = {2, 1, 3}, compact[] = {3, 99, 1}, wrong[] = {4, 3, 1};
  DLTensor t{nullptr, {kDLCPU, 0}, 3, kF32, shape, compact, 0};
  CHECK(rt::is_compact(t));
  t.strides = wrong;
  CHECK_FALSE(rt::is_compact(t));
  shape[2] = 0;
  CHECK(rt::is_compact(t));
}

TEST_CASE("sizes that do not fit a kernel's 32-bit parameter are refused") {
  struct Row {
    fb::ArgKind kind;
    int64_t value;
    bool fits;
  };
  const Row rows[] = {
      {fb::ArgKind::I32, (int64_t{1} << 31) - 1, true},
      {fb::ArgKind::I32, int64_t{1} << 31, false},
      {fb::ArgKind::I32, -(int64_t{1} << 31), true},
      {fb::ArgKind::I32, 2500000000, false},
      {fb::ArgKind::U32, (int64_t{1} << 32) - 1, true},
      {fb::ArgKind::U32, int64_t{1} << 32, false},
      {fb::ArgKind::U32, -1, false},
  };
  for (const Row& row : rows) {
    ProgramBuilder b;
    const uint32_t n = b.dim(0, 0), one = b.i64(1), value = b.i64(row.value);
    b.input("x", 0, {{n, "N"}});
    b.output("y", 0, {{n, "N"}}, n);
    auto launch = b.launch(b.entry("k"), one, {}, {});
    launch->variants[0]->args.push_back(fb::Arg(row.kind, value));
    b.program.entries[0]->params.push_back(row.kind);
    b.step(std::move(*launch));
    Harness h;
    REQUIRE_FALSE(h.load(b));
    const auto x = floats({2}, 0);
    Empty y(1);
    const rt::Error error = h.context()->invoke({&x.dl, 1}, {&y.dl, 1}, nullptr);
    INFO(row.value);
    CHECK((error.status == DLCB_INPUT_REFUSED) == !row.fits);
    if (row.fits) continue;
    CHECK(error.message == "kernel 0 needs the value " + std::to_string(row.value) + ", which does not fit 32 bits");
  }
}

namespace {

// x: i64[2] read by the host, y: f32[N] with N = x[0] * x[1] // x[1]; `guarded`: N <= 1000. A kernel runs if x[0] > 0.
ProgramBuilder product_program(bool guarded) {
  ProgramBuilder b;
  const uint32_t two = b.i64(2), four = b.i64(4), limit = b.i64(int64_t{1} << 40), one = b.i64(1), zero = b.i64(0);
  const uint32_t x0 = b.op(fb::Op::InputElem, 0, 0), x1 = b.op(fb::Op::InputElem, 0, 1);
  const uint32_t product = b.op(fb::Op::Mul, x0, x1), n = b.op(fb::Op::FloorDiv, product, x1);
  b.input("x", 10, {{two, "2"}}, true);
  b.output("y", 0, {{guarded ? one : n, "N"}}, guarded ? four : b.op(fb::Op::Mul, n, four));
  if (guarded) {
    fb::GuardT& guard = b.guard(b.op(fb::Op::Le, n, limit), "N <= 1099511627776");
    guard.shown.push_back(std::make_unique<fb::ShownT>());
    guard.shown[0]->text = "x[0]*x[1]";
    guard.shown[0]->reg = product;
  }
  b.step(std::move(*b.launch(b.entry("k"), n, {}, {})), static_cast<int32_t>(b.op(fb::Op::Lt, zero, x0)));
  return b;
}

}  // namespace

TEST_CASE("what does not fit 64 bits is refused, not taken for a size") {
  const int64_t big = int64_t{1} << 40;
  for (const bool guarded : {true, false}) {
    Harness h;
    REQUIRE_FALSE(h.load(product_program(guarded)));
    const auto call = [&](int64_t x0, int64_t x1) {
      Tensor<int64_t> x({2}, {x0, x1}, kI64);
      Empty y(1);
      return h.context()->invoke({&x.dl, 1}, {&y.dl, 1}, nullptr);
    };
    CHECK(call(3, big).message == "");
    CHECK(call(0, big).message == "");
    const rt::Error error = call(big, big);
    CHECK(error.status == DLCB_INPUT_REFUSED);
    CHECK(error.message == (guarded ? "N <= 1099511627776 is needed, but does not hold; here x[0]*x[1] = more than 64 "
                                      "bits hold"
                                    : "what the model computes of these inputs' sizes does not fit 64 bits"));
  }
}
