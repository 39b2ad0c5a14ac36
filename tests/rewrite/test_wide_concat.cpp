// Concatenations of many tensors as trees.
#include <algorithm>

#include "graph/fixture.h"
#include "rewrite/wide_concat.h"

namespace dlcb::rewrite {
namespace {

using graph::testing::Fixture;
using ops::ValueId;

// The leaves below v, in order; `most` becomes the largest number of operands.
void leaves(const graph::Graph& g, ValueId v, std::vector<ValueId>& found, size_t& most) {
  const graph::NodeId made = g.value(v).producer;
  if (!made.valid()) return found.push_back(v);
  most = std::max(most, g.node(made).inputs.size());
  for (ValueId operand : g.node(made).inputs) leaves(g, operand, found, most);
}

TEST_CASE("a concatenation of many tensors is a tree over the same tensors", "[rewrite]") {
  for (const size_t count : {2, 16, 17, 40, 600}) {
    Fixture f;
    std::vector<ValueId> parts;
    for (size_t i = 0; i < count; ++i) parts.push_back(f.input("x" + std::to_string(i), DType::F32, {"N", "3"}));
    f.g.add_output("y", f.add("concat", parts, {{"axis", int64_t{1}}}));
    const std::string dims = f.dims(f.g.outputs[0]);
    REQUIRE(split_wide_concats(f.g));
    f.g.sort_topologically();
    CHECK(graph::verify(f.g).empty());
    CHECK(f.dims(f.g.outputs[0]) == dims);
    std::vector<ValueId> found;
    size_t most = 0;
    leaves(f.g, f.g.outputs[0], found, most);
    CHECK(most <= 16);
    CHECK(found == parts);
    if (count <= 16) CHECK(most == count);
  }
}

}  // namespace
}  // namespace dlcb::rewrite
