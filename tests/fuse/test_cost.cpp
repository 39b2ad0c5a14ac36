// What fusion may compute again: windows over windows cost the product of their taps, whatever lies between them.
#include "fuse/cost.h"

#include "fuse/fuse.h"
#include "graph/fixture.h"

namespace dlcb::fuse {
namespace {

using graph::testing::Fixture;
using ops::ValueId;

// Kernels of a chain of pools, with everything allowed that cost allows.
size_t kernels(Fixture& f) {
  auto steps = fuse(f.g, {}, [](const Region&) { return Classification{Schedule::Pointwise, {}}; });
  REQUIRE(steps);
  return steps->size();
}

ops::Attrs window(int64_t taps, int64_t stride) {
  return {{"kernel", std::vector<int64_t>{taps, taps}}, {"strides", std::vector<int64_t>{stride, stride}}};
}

TEST_CASE("a window is not computed again for every tap of another", "[fuse]") {
  for (const char* pool : {"max_pool", "avg_pool"}) {
    for (const bool relu : {false, true}) {
      Fixture f;
      ValueId v = f.input("x", DType::F32, {"N", "C", "H", "W"});
      for (int level = 0; level < 5; ++level) {
        v = f.add(pool, {v}, window(3, 2));
        if (relu) v = f.add("relu", {v});
      }
      f.g.add_output("y", v);
      CHECK(kernels(f) == 5);
    }
  }
}

TEST_CASE("windows of few taps may be", "[fuse]") {
  Fixture f;
  ValueId v = f.input("x", DType::F32, {"N", "C", "H", "W"});
  for (int level = 0; level < 2; ++level) v = f.add("max_pool", {v}, {{"kernel", std::vector<int64_t>{1, 2}}});
  f.g.add_output("y", v);
  CHECK(kernels(f) == 1);
}

TEST_CASE("taps of nested reductions multiply", "[fuse]") {
  Fixture f;
  ops::ScalarStore& s = f.g.scalars();
  const ValueId x = f.input("x", DType::F32, {"N"});
  const sym::Expr i = f.s.index("i", f.expr("N")), k = f.s.index("k", f.s.constant(3)),
                  l = f.s.index("l", f.s.constant(5));
  const auto over = [&](sym::Expr index, ops::Scalar body) { return s.reduce(ops::ReduceFn::Max, {index}, body); };
  const ops::Scalar inner = over(k, s.load(DType::F32, x, {f.s.add({{i, k, l}})}));
  const ops::Scalar outer = over(l, s.unary(ops::Fn::Exp, inner));
  CHECK(repetitions(s, inner, x, Reductions::Overlapping) == 3);
  CHECK(repetitions(s, outer, x, Reductions::Overlapping) == 15);
  CHECK(executed_instructions(s, inner) == 3);
  CHECK(executed_instructions(s, outer) == 5 * (3 + 8 + 1));
  const ops::Scalar row = over(k, s.load(DType::F32, x, {k}));
  CHECK(repetitions(s, row, x, Reductions::Overlapping) == 1);
  CHECK(repetitions(s, row, x, Reductions::All) == 3);
}

TEST_CASE("terms count as often as they need the same element", "[fuse]") {
  Fixture f;
  ops::ScalarStore& s = f.g.scalars();
  const ValueId x = f.input("x", DType::F32, {"N", "M"});
  f.s.index("i", f.expr("N"));
  f.s.index("j", f.s.constant(256));
  const sym::Expr k = f.s.index("k", f.s.constant(6)), rows = f.s.index("rows", f.expr("M"));
  const auto times = [&](std::vector<sym::Expr> bound, const char* first, const char* second) {
    const ops::Scalar load = s.load(DType::F32, x, {f.expr(first), f.expr(second)});
    return repetitions(s, s.reduce(ops::ReduceFn::Max, bound, load), x, Reductions::Overlapping);
  };
  CHECK(times({k}, "i + k", "j") == 6);
  CHECK(times({k}, "2*i + k", "j") == 3);
  CHECK(times({k}, "4*i + k", "j") == 2);
  CHECK(times({k}, "6*i + k", "j") == 1);
  CHECK(times({k}, "8*i + k - 1", "j") == 1);
  CHECK(times({k}, "4*i + 2*k", "j") == 3);  // with holes
  CHECK(times({k}, "3*i + 2*k", "j") == 2);
  CHECK(times({k}, "4*k + j//64", "j % 64") == 1);  // rows of 256 as 4 of 64
  CHECK(times({k}, "3*k + j//64", "j % 64") == 2);
  CHECK(times({k}, "j", "(i + k) // 2") == 6);  // not seen through
  CHECK(times({k}, "i", "j") == 1);
  CHECK(times({rows}, "2*rows + k", "j") == 3);
  CHECK(times({rows}, "rows + i", "j") == INT64_MAX);
  CHECK(times({rows, k}, "2*i + rows", "2*j + k") == INT64_MAX);
  CHECK(times({rows, k}, "6*rows + k", "j") == 1);
}

// The pool keeps its producer: neither computes an element of it twice.
TEST_CASE("a tile under a reduction reads what is computed in its kernel", "[fuse]") {
  for (const int64_t stride : {1, 2}) {
    Fixture f;
    ValueId v = f.input("x", DType::F32, {"N", "C", "H", "W"});
    for (int level = 0; level < 3; ++level) v = f.add("tanh", {v});
    v = f.add("max_pool", {v}, window(2, stride));
    v = f.add("reduce_sum", {v}, {{"axes", std::vector<int64_t>{2, 3}}, {"keepdims", int64_t{0}}});
    f.g.add_output("y", v);
    auto steps = fuse(f.g, {}, [](const Region&) { return Classification{Schedule::RowReduce, {}}; });
    REQUIRE(steps);
    CHECK(steps->size() == (stride == 2 ? 1 : 2));
  }
}

// The instructions of all bodies that fusion looks at, for a chain of additions of which every step is also used.
int64_t work(int steps, int* kept) {
  Fixture f;
  const ValueId one = f.constant<float>("one", DType::F32, {}, {1});
  const ValueId x = f.input("x", DType::F32, {"N"});
  ValueId v = x;
  for (int step = 0; step < steps; ++step) {
    v = f.add("add", {v, one});
    f.g.add_output("y" + std::to_string(step), f.add("mul", {v, x}));
  }
  int64_t looked_at = 0;
  const auto result = fuse(f.g, {}, [&](const Region& r) {
    for (const Output& o : r.outputs) looked_at += cost_of(f.scalars, o.body).instructions;
    return Classification{Schedule::Pointwise, {}};
  });
  REQUIRE(result);
  *kept = 0;
  for (const Step& step : *result)
    for (const Output& o : std::get<Region>(step.action).outputs) *kept += cost_of(f.scalars, o.body).instructions;
  return looked_at;
}

TEST_CASE("a chain whose every step is used is not computed again from its beginning", "[fuse]") {
  int kept_200 = 0, kept_400 = 0;
  const int64_t at_200 = work(200, &kept_200), at_400 = work(400, &kept_400);
  CHECK(kept_400 < 400 * 26);
  CHECK(kept_400 <= 2.1 * kept_200);
  CHECK(at_400 <= 2.1 * at_200);
  CHECK(at_400 < 400 * 26 * 26);
}

}  // namespace
}  // namespace dlcb::fuse
