// Whole steps: memory that values share, what waits for the host, and kernels that stand by for a library.
#include <algorithm>

#include "fuse/fuse.h"
#include "fuse/order.h"
#include "fuse/print.h"
#include "fuse/stand_in.h"
#include "graph/fixture.h"
#include "library/claim.h"
#include "rewrite/batch_norm.h"
#include "rewrite/layout.h"

namespace dlcb::fuse {
namespace {

using graph::testing::Fixture;
using ops::ValueId;

std::vector<Step> steps_of(Fixture& f) {
  REQUIRE(rewrite::assign_layouts(f.g));
  auto steps = fuse(f.g, library::claim_library_calls(f.g), [](const Region&) { return Classification{Schedule::Pointwise, {}}; });
  REQUIRE(steps);
  return *std::move(steps);
}

size_t writer(const std::vector<Step>& steps, ValueId v) {
  for (size_t s = 0; s < steps.size(); ++s) {
    const auto written = writes(steps[s]);
    if (std::find(written.begin(), written.end(), v) != written.end()) return s;
  }
  return SIZE_MAX;
}

TEST_CASE("a reshape between library calls is an alias", "[fuse]") {
  Fixture f;
  const ValueId x = f.input("x", DType::F32, {"M", "8"});
  const ValueId w = f.constant<float>("w", DType::F32, {8, 8}, std::vector<float>(64, 1));
  const ValueId v = f.constant<float>("v", DType::F32, {4, 4}, std::vector<float>(16, 1));
  const ValueId wide = f.add("matmul", {x, w});
  const ValueId split = f.add("reshape", {f.add("transpose", {wide}, {{"perm", std::vector<int64_t>{1, 0}}})},
                              {{"shape", f.exprs({"2", "4", "M"})}});
  f.g.add_output("y", f.add("matmul", {v, split}));
  for (const Step& step : steps_of(f)) CHECK_FALSE(std::holds_alternative<Region>(step.action));
}

TEST_CASE("steps come after the step whose result the host reads for them", "[fuse]") {
  Fixture f;
  const ValueId x = f.input("x", DType::F32, {"N"});
  const ValueId early = f.add("exp", {x});
  const ValueId count = f.add("reduce_max", {f.add("cast", {x}, {{"to", DType::I64}})},
                              {{"axes", std::vector<int64_t>{0}}, {"keepdims", int64_t{0}}});
  const auto size = f.g.elements(count, {});
  REQUIRE(size);
  f.g.push_predicate(f.s.le(f.s.constant(1), (*size)[0]));
  const ValueId inside = f.add("neg", {x});
  f.g.pop_predicate();
  f.g.add_output("a", early);
  f.g.add_output("b", inside);
  const std::vector<Step> steps = steps_of(f);
  CHECK(writer(steps, count) < writer(steps, inside));
}

TEST_CASE("a stand-in computes the whole claim", "[fuse]") {
  Fixture f;
  const ValueId x = f.input("x", DType::F32, {"N", "4", "H", "W"});
  const ValueId w = f.constant<float>("w", DType::F32, {4, 2, 1, 1}, std::vector<float>(8, 1));
  const ValueId bias = f.constant<float>("b", DType::F32, {4, 1, 1}, {1, 2, 3, 4});
  const ValueId conv = f.add("conv", {x, w}, {{"group", int64_t{2}}});
  f.g.add_output("y", f.add("relu", {f.add("add", {conv, bias})}));
  REQUIRE(rewrite::assign_layouts(f.g));
  const auto claims = library::claim_library_calls(f.g);
  REQUIRE(claims.size() == 1);
  REQUIRE(claims[0].nodes.size() == 3);
  CHECK(library::may_be_refused(claims[0]));
  const Region region = stand_in(f.g, claims[0]);
  REQUIRE(region.outputs.size() == 1);
  CHECK(region.outputs[0].tensor.value == result_of(claims[0]));
  std::vector<ValueId> inputs;
  for (const Tensor& t : region.inputs) inputs.push_back(t.value);
  std::vector<ValueId> operands = operands_of(claims[0]);
  std::sort(inputs.begin(), inputs.end());
  std::sort(operands.begin(), operands.end());
  CHECK(inputs == operands);
}

TEST_CASE("a stand-in reads views where the library does: through to the tensor behind", "[fuse]") {
  Fixture f;
  const ValueId x = f.input("x", DType::F32, {"N", "M", "8"}), y = f.input("y", DType::F32, {"N", "P", "8"});
  const ValueId turned = f.add("transpose", {y}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
  f.g.add_output("z", f.add("matmul", {x, turned}));
  const auto claims = library::claim_library_calls(f.g);
  REQUIRE(claims.size() == 1);
  REQUIRE(operands_of(claims[0]) == std::vector{x, y});
  const Region region = stand_in(f.g, claims[0]);
  REQUIRE(region.inputs.size() == 2);
  CHECK(region.inputs[0].value == x);
  CHECK(region.inputs[1].value == y);
}

}  // namespace
}  // namespace dlcb::fuse
