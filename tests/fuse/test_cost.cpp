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
  auto steps = fuse(f.g, {}, [](const Region&) { return Schedule::Pointwise; });
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
  CHECK(repetitions(s, inner, x, Reductions::Windows) == 3);
  CHECK(repetitions(s, outer, x, Reductions::Windows) == 15);
  CHECK(executed_instructions(s, inner) == 3);
  CHECK(executed_instructions(s, outer) == 5 * (3 + 8 + 1));
  const ops::Scalar row = over(k, s.load(DType::F32, x, {k}));
  CHECK(repetitions(s, row, x, Reductions::Windows) == 1);
  CHECK(repetitions(s, row, x, Reductions::All) == 3);
}

}  // namespace
}  // namespace dlcb::fuse
