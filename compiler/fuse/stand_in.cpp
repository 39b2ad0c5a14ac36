#include "fuse/stand_in.h"

#include <algorithm>

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
  const std::vector<ValueId> operands = operands_of(claim);
  const auto is_inner = [&](ValueId v) { return std::find(operands.begin(), operands.end(), v) == operands.end(); };
  Region region;
  region.outputs.push_back({tensor(graph, result), last.index, last.body});
  Scalar& body = region.outputs[0].body;
  for (std::vector<ValueId> values = loaded_values(scalars, region.outputs);;) {
    const auto inner = std::find_if(values.begin(), values.end(), is_inner);
    if (inner == values.end()) break;
    const ops::OutputDef& def = definition(graph, *inner);
    body = scalars.inline_load(body, *inner, [&](std::span<const sym::Expr> coords) {
      std::unordered_map<uint32_t, sym::Expr> at;
      for (size_t i = 0; i < coords.size(); ++i) at[def.index[i].id] = coords[i];
      return scalars.substitute(def.body, at);
    });
    values = loaded_values(scalars, region.outputs);
  }
  for (graph::NodeId n : claim.nodes)
    region.name += (region.name.empty() ? "" : "+") + std::string(graph.node(n).op->name);
  for (ValueId v : loaded_values(scalars, region.outputs)) region.inputs.push_back(tensor(graph, v));
  return region;
}

}  // namespace dlcb::fuse
