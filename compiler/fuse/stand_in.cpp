#include "fuse/stand_in.h"

#include <algorithm>
#include <unordered_set>

#include "fuse/order.h"

namespace dlcb::fuse {
namespace {

using graph::Graph;
using ops::Scalar;
using ops::ValueId;

Tensor tensor(const Graph& graph, ValueId v) {
  const graph::Value& value = graph.value(v);
  const bool caller =
      graph.is_output(v) || std::find(graph.inputs.begin(), graph.inputs.end(), v) != graph.inputs.end();
  return {v, value.dtype, value.dims, value.order, !caller};
}

const ops::OutputDef& definition(const Graph& graph, ValueId v) {
  const graph::Value& value = graph.value(v);
  return graph.node(value.producer).definition.outputs[value.output];
}

}  // namespace

Region stand_in(const Graph& graph, const Claim& claim) {
  ops::ScalarStore& scalars = graph.scalars();
  const ValueId result = result_of(claim);
  const ops::OutputDef& last = definition(graph, result);
  Scalar body = last.body;
  for (size_t n = claim.nodes.size() - 1; n-- > 0;) {
    const ValueId inner = graph.node(claim.nodes[n]).outputs[0];
    const ops::OutputDef& def = definition(graph, inner);
    body = scalars.inline_load(body, inner, [&](std::span<const sym::Expr> coords) {
      std::unordered_map<uint32_t, sym::Expr> at;
      for (size_t i = 0; i < coords.size(); ++i) at[def.index[i].id] = coords[i];
      return scalars.substitute(def.body, at);
    });
  }
  Region region;
  for (graph::NodeId n : claim.nodes)
    region.name += (region.name.empty() ? "" : "+") + std::string(graph.node(n).op->name);
  region.outputs.push_back({tensor(graph, result), last.index, body});
  std::unordered_set<uint32_t> seen;
  for (Scalar load : scalars.loads(body)) {
    const ValueId v = scalars.node(load).value;
    if (seen.insert(v.id).second) region.inputs.push_back(tensor(graph, v));
  }
  return region;
}

}  // namespace dlcb::fuse
