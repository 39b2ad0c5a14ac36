// Calls that succeed: values, memory, memo, graphs, host tensors, reads from the device, predicates, fallbacks.
#include <thread>

#include "catch.h"
#include "harness.h"

using namespace dlcb;
using namespace dlcb::test;

namespace {

rt::Error invoke(rt::Context& context, const DLTensor& x, DLTensor* y, void* stream = nullptr) {
  return context.invoke({&x, 1}, {y, 1}, stream);
}

void check_sample(const float* y, size_t rows, float x) {
  for (size_t i = 0; i < rows * 3; ++i) CHECK(y[i] == 2 * (x + static_cast<float>(i % 3)));
}

}  // namespace

TEST_CASE("a call with device tensors") {
  Harness h;
  add_sample_kernels(*h.state);
  REQUIRE_FALSE(h.load(sample_program()));
  const auto context = h.context();
  for (int64_t n : {2, 1, 0, 8, 2}) {
    auto x = floats({n, 3}, 5), y = floats({n, 3}, -1);
    const rt::Error error = invoke(*context, x.dl, &y.dl);
    CHECK(error.message == "");
    check_sample(y.values.data(), static_cast<size_t>(n), 5);
  }
  CHECK(context->shapes_known() == 4);
  CHECK(h.count("launch 0") == 4);  // none for batch 0
}

TEST_CASE("host tensors are copied in and out, byte_offset is honoured") {
  Harness h;
  add_sample_kernels(*h.state);
  REQUIRE_FALSE(h.load(sample_program()));
  const auto context = h.context();
  auto x = floats({3, 3}, 4, kDLCPU), y = floats({3, 3}, -1, kDLCPU);
  x.dl.byte_offset = y.dl.byte_offset = 12;
  x.shape[0] = y.shape[0] = 2;
  REQUIRE_FALSE(invoke(*context, x.dl, &y.dl));
  CHECK(y.values[2] == -1);
  check_sample(y.values.data() + 3, 2, 4);
  CHECK(h.count("upload 24") == 1);
  CHECK(h.count("download 24") == 1);
}

TEST_CASE("the context provides outputs; one may be the next call's input") {
  Harness h;
  add_sample_kernels(*h.state);
  REQUIRE_FALSE(h.load(sample_program()));
  const auto context = h.context();
  auto x = floats({2, 3}, 1);
  Empty y(2), z(2);
  REQUIRE_FALSE(invoke(*context, x.dl, &y.dl));
  CHECK(y.shape == std::vector<int64_t>{2, 3});
  CHECK(y.dl.ndim == 2);
  CHECK(y.dl.device.device_type == kDLCUDA);
  CHECK(y.dl.dtype.code == kDLFloat);
  check_sample(static_cast<float*>(y.dl.data), 2, 1);
  REQUIRE_FALSE(invoke(*context, y.dl, &z.dl));
  CHECK(z.dl.data != y.dl.data);
  CHECK(static_cast<float*>(z.dl.data)[1] == 2 * (2 * (1 + 1) + 1));
}

TEST_CASE("resolve gives shapes and workspace without data") {
  Harness h;
  REQUIRE_FALSE(h.load(sample_program()));
  const auto context = h.context();
  auto x = floats({7, 3}, 0);
  x.dl.data = nullptr;
  int64_t shape[2] = {};
  int64_t* shapes[] = {shape};
  size_t workspace = 0;
  REQUIRE_FALSE(context->resolve({&x.dl, 1}, shapes, &workspace));
  CHECK(shape[0] == 7);
  CHECK(shape[1] == 3);
  CHECK(workspace == 256);
  CHECK(h.state->launches == 0);
  x.shape[0] = 9;
  CHECK(context->resolve({&x.dl, 1}, shapes, nullptr).message ==
        "input 'x' dim 0 is 9, but at most 8 is allowed; N is dim 0 of input 'x'");
}

TEST_CASE("memory grows to the largest shape, no further, and is given back") {
  Harness h;
  add_sample_kernels(*h.state);
  ProgramBuilder program = sample_program();
  program.program.guards.clear();
  REQUIRE_FALSE(h.load(program));
  {
    const auto context = h.context();
    uint64_t settled = 0;
    for (int round = 0; round < 3; ++round) {
      for (int64_t n = 1; n < 600; n += 7) {
        auto x = floats({n, 3}, 1), y = floats({n, 3}, 0);
        REQUIRE_FALSE(invoke(*context, x.dl, &y.dl));
      }
      if (round == 0) settled = h.state->allocated;
      CHECK(h.state->allocated == settled);
    }
    CHECK(settled <= 64 + 600 * 12 * 9 / 8 + 256);
    CHECK(context->shapes_known() <= 256);
  }
  CHECK(h.state->allocated == 64);  // the weights
  h.model.reset();
  CHECK(h.state->allocated == 0);
}

TEST_CASE("out of memory is an error, and the next call works") {
  Harness h;
  add_sample_kernels(*h.state);
  REQUIRE_FALSE(h.load(sample_program()));
  const auto context = h.context();
  h.state->limit = 64;
  auto x = floats({2, 3}, 1), y = floats({2, 3}, 0);
  const rt::Error error = invoke(*context, x.dl, &y.dl);
  CHECK(error.status == DLCB_OUT_OF_MEMORY);
  CHECK(error.message == "no device memory for intermediates (256 bytes)");
  h.state->limit = UINT64_MAX;
  REQUIRE_FALSE(invoke(*context, x.dl, &y.dl));
  check_sample(y.values.data(), 2, 1);
}

TEST_CASE("the caller's allocator is used for everything") {
  struct Counter {
    int live = 0;
    bool odd = false;
  } counter;
  const dlcb_allocator allocator = {&counter,
                                    [](void* user, size_t bytes, void*) -> void* {
                                      ++static_cast<Counter*>(user)->live;
                                      auto* p = static_cast<char*>(std::aligned_alloc(256, (bytes + 511) / 256 * 256));
                                      return p + (static_cast<Counter*>(user)->odd ? 16 : 0);
                                    },
                                    [](void* user, void* p, void*) {
                                      --static_cast<Counter*>(user)->live;
                                      std::free(static_cast<char*>(p) - (static_cast<Counter*>(user)->odd ? 16 : 0));
                                    }};
  Harness h;
  add_sample_kernels(*h.state);
  h.options.allocator = &allocator;
  REQUIRE_FALSE(h.load(sample_program()));
  {
    const auto context = h.context();
    auto x = floats({2, 3}, 1, kDLCPU);
    Empty y(2);
    REQUIRE_FALSE(invoke(*context, x.dl, &y.dl));
    CHECK(counter.live == 4);  // weights, arena, input, output
  }
  h.model.reset();
  CHECK(counter.live == 0);
  CHECK(h.state->peak == 0);
  counter.odd = true;
  CHECK(h.load(sample_program()).message == "the allocator returned memory that is not 256-byte aligned");
  CHECK(counter.live == 0);
}

TEST_CASE("graphs: the second sight of shape and pointers captures, the third replays") {
  Harness h;
  add_sample_kernels(*h.state);
  h.state->graphs = true;
  REQUIRE_FALSE(h.load(sample_program()));
  auto context = h.context();
  auto x = floats({2, 3}, 1), y = floats({2, 3}, 0), other = floats({2, 3}, 9);
  REQUIRE_FALSE(invoke(*context, x.dl, &y.dl));
  CHECK(h.state->captures == 0);
  REQUIRE_FALSE(invoke(*context, x.dl, &y.dl));
  CHECK(h.state->captures == 1);
  x.values.assign(6, 3);
  REQUIRE_FALSE(invoke(*context, x.dl, &y.dl));
  CHECK(h.state->captures == 1);
  CHECK(h.state->replays == 2);
  check_sample(y.values.data(), 2, 3);
  REQUIRE_FALSE(invoke(*context, other.dl, &y.dl));  // other pointers: not that graph
  check_sample(y.values.data(), 2, 9);
  CHECK(h.state->replays == 2);

  auto big = floats({8, 3}, 1), big_y = floats({8, 3}, 0);  // the arena of [2, 3] holds both
  REQUIRE_FALSE(invoke(*context, big.dl, &big_y.dl));
  check_sample(big_y.values.data(), 8, 1);
  REQUIRE_FALSE(invoke(*context, x.dl, &y.dl));
  check_sample(y.values.data(), 2, 3);
  context.reset();
  CHECK(h.state->live_graphs.empty());
}

TEST_CASE("graphs: fresh pointers never cost a capture, host tensors keep theirs") {
  Harness h;
  add_sample_kernels(*h.state);
  h.state->graphs = true;
  REQUIRE_FALSE(h.load(sample_program()));
  const auto context = h.context();
  std::vector<std::unique_ptr<Tensor<float>>> kept;
  for (int i = 0; i < 50; ++i) {
    kept.push_back(std::make_unique<Tensor<float>>(std::vector<int64_t>{2, 3}, std::vector<float>(6, 1), kF32));
    Empty y(2);
    REQUIRE_FALSE(invoke(*context, kept.back()->dl, &y.dl));
  }
  CHECK(h.state->captures == 0);
  for (int i = 0; i < 5; ++i) {
    auto x = floats({2, 3}, static_cast<float>(i), kDLCPU), y = floats({2, 3}, 0, kDLCPU);
    REQUIRE_FALSE(invoke(*context, x.dl, &y.dl));
    check_sample(y.values.data(), 2, static_cast<float>(i));
  }
  CHECK(h.state->captures == 1);
  CHECK(h.state->replays == 4);
}

TEST_CASE("graphs: the cache is bounded and stops thrashing; a growing arena drops it") {
  Harness h;
  add_sample_kernels(*h.state);
  h.state->graphs = true;
  h.options.graph_cache_entries = 2;
  ProgramBuilder program = sample_program();
  program.program.guards.clear();
  REQUIRE_FALSE(h.load(program));
  const auto context = h.context();
  std::vector<std::unique_ptr<Tensor<float>>> x, y;
  for (int64_t n = 1; n <= 6; ++n) {
    x.push_back(std::make_unique<Tensor<float>>(std::vector<int64_t>{n, 3},
                                                std::vector<float>(static_cast<size_t>(n) * 3, 1), kF32));
    y.push_back(std::make_unique<Tensor<float>>(std::vector<int64_t>{n, 3},
                                                std::vector<float>(static_cast<size_t>(n) * 3, 0), kF32));
  }
  for (int round = 0; round < 20; ++round)
    for (size_t i = 0; i < x.size(); ++i) REQUIRE_FALSE(invoke(*context, x[i]->dl, &y[i]->dl));
  CHECK(context->graphs_held() == 2);
  CHECK(h.state->captures < 10);
  auto large = floats({500, 3}, 1), large_y = floats({500, 3}, 0);
  REQUIRE_FALSE(invoke(*context, large.dl, &large_y.dl));
  CHECK(context->graphs_held() == 0);
  CHECK(h.state->live_graphs.empty());
}

TEST_CASE("graphs: a device that cannot capture is asked once") {
  Harness h;
  add_sample_kernels(*h.state);
  h.state->graphs = h.state->capture_fails = true;
  REQUIRE_FALSE(h.load(sample_program()));
  const auto context = h.context();
  auto x = floats({2, 3}, 1), y = floats({2, 3}, 0);
  for (int i = 0; i < 4; ++i) REQUIRE_FALSE(invoke(*context, x.dl, &y.dl));
  CHECK(h.state->launches == 8);
  CHECK(h.state->captures == 0);
}

TEST_CASE("alignments are part of the key only where the program asks for them") {
  for (bool asks : {false, true}) {
    ProgramBuilder b = sample_program();
    if (asks) b.op(fb::Op::InputAlign, 0);
    Harness h;
    add_sample_kernels(*h.state);
    REQUIRE_FALSE(h.load(b));
    const auto context = h.context();
    auto x = floats({3, 3}, 1), y = floats({2, 3}, 0);
    x.shape[0] = 2;
    for (uint64_t offset : {0, 4, 8, 12}) {
      x.dl.byte_offset = offset;
      REQUIRE_FALSE(invoke(*context, x.dl, &y.dl));
    }
    CHECK((context->shapes_known() > 1) == asks);
  }
}

TEST_CASE("changing the stream waits for the one before") {
  Harness h;
  add_sample_kernels(*h.state);
  REQUIRE_FALSE(h.load(sample_program()));
  const auto context = h.context();
  auto x = floats({2, 3}, 1), y = floats({2, 3}, 0);
  h.state->log.clear();
  int a, b;
  REQUIRE_FALSE(invoke(*context, x.dl, &y.dl, &a));
  REQUIRE_FALSE(invoke(*context, x.dl, &y.dl, &a));
  CHECK(h.count("synchronize") == 0);
  REQUIRE_FALSE(invoke(*context, x.dl, &y.dl, &b));
  CHECK(h.count("synchronize") == 1);
}

TEST_CASE("contexts of one model serve several threads, with and without queues of their own") {
  for (bool can_fork : {true, false}) {
    Harness h;
    add_sample_kernels(*h.state);
    h.state->can_fork = can_fork;
    REQUIRE_FALSE(h.load(sample_program()));
    std::vector<std::thread> threads;
    std::vector<int> wrong(4, 0);
    for (int id = 0; id < 4; ++id)
      threads.emplace_back([&, id] {
        const auto context = h.context();
        for (int i = 0; i < 50; ++i) {
          auto x = floats({1 + i % 8, 3}, static_cast<float>(id), kDLCPU), y = floats({1 + i % 8, 3}, 0, kDLCPU);
          wrong[static_cast<size_t>(id)] +=
              invoke(*context, x.dl, &y.dl) || y.values[1] != 2 * (static_cast<float>(id) + 1);
        }
      });
    for (std::thread& t : threads) t.join();
    CHECK(wrong == std::vector<int>(4, 0));
  }
}
