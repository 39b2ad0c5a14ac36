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

// The values that the body reads, each once.
std::vector<ValueId> loaded(const ops::ScalarStore& scalars, Scalar body) {
  std::vector<ValueId> values;
  for (Scalar load : scalars.loads(body)) {
    const ValueId v = scalars.node(load).value;
    if (std::find(values.begin(), values.end(), v) == values.end()) values.push_back(v);
  }
  return values;
}

}  // namespace

Region stand_in(const Graph& graph, const Claim& claim) {
  ops::ScalarStore& scalars = graph.scalars();
  const ValueId result = result_of(claim);
  const ops::OutputDef& last = definition(graph, result);
  const std::vector<ValueId> operands = operands_of(claim);
  const auto is_inner = [&](ValueId v) { return std::find(operands.begin(), operands.end(), v) == operands.end(); };
  Scalar body = last.body;
  for (std::vector<ValueId> values = loaded(scalars, body);;) {
    const auto inner = std::find_if(values.begin(), values.end(), is_inner);
    if (inner == values.end()) break;
    const ops::OutputDef& def = definition(graph, *inner);
    body = scalars.inline_load(body, *inner, [&](std::span<const sym::Expr> coords) {
      std::unordered_map<uint32_t, sym::Expr> at;
      for (size_t i = 0; i < coords.size(); ++i) at[def.index[i].id] = coords[i];
      return scalars.substitute(def.body, at);
    });
    values = loaded(scalars, body);
  }
  Region region;
  for (graph::NodeId n : claim.nodes)
    region.name += (region.name.empty() ? "" : "+") + std::string(graph.node(n).op->name);
  region.outputs.push_back({tensor(graph, result), last.index, body});
  for (ValueId v : loaded(scalars, body)) region.inputs.push_back(tensor(graph, v));
  return region;
}

}  // namespace dlcb::fuse
