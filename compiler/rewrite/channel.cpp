#include "rewrite/channel.h"

namespace dlcb::rewrite {

using graph::Graph;
using graph::NodeId;
using ops::ScalarKind;
using ops::ScalarNode;
using ops::ValueId;
using sym::Expr;

namespace {

// Whether `coords` walk a tensor of n elements with the channel index alone: exactly one dim is indexed, by `channel`.
bool walks_channel(const Graph& graph, const graph::Value& c, const std::vector<Expr>& coords, Expr channel,
                   Expr channels) {
  const sym::Store& sym = graph.sym();
  bool found = false;
  for (size_t i = 0; i < coords.size(); ++i) {
    if (coords[i] == channel && !found && graph.facts().equal(c.dims[i], channels)) {
      found = true;
    } else if (!sym.is_const(coords[i], 0) || !sym.is_const(c.dims[i], 1)) {
      return false;
    }
  }
  return found;
}

}  // namespace

ops::Scalar other_operand(const Graph& graph, const graph::Node& node, ops::Fn fn, ValueId v) {
  if (node.op->kind != ops::OpKind::Define || node.outputs.size() != 1) return {};
  const ops::OutputDef& def = node.definition.outputs[0];
  if (def.dims != graph.value(v).dims || def.dtype != graph.value(v).dtype) return {};
  const ScalarNode& body = graph.scalars().node(def.body);
  if (body.kind != ScalarKind::Binary || body.fn != fn) return {};
  for (int side : {0, 1}) {
    const ScalarNode& self = graph.scalars().node(body.operands[side]);
    if (self.kind == ScalarKind::Load && self.value == v && self.coords == def.index) return body.operands[1 - side];
  }
  return {};
}

ValueId per_channel_operand(const Graph& graph, const graph::Node& node, ops::Fn fn, ValueId v, size_t axis) {
  const ops::Scalar operand = other_operand(graph, node, fn, v);
  if (!operand.valid()) return {};
  const ScalarNode& other = graph.scalars().node(operand);
  if (other.kind != ScalarKind::Load) return {};
  const ops::OutputDef& def = node.definition.outputs[0];
  const graph::Value& c = graph.value(other.value);
  const bool found = c.constant && walks_channel(graph, c, other.coords, def.index[axis], def.dims[axis]);
  return found ? other.value : ValueId{};
}

NodeId sole_user(const Graph& graph, const std::vector<std::vector<NodeId>>& users, ValueId v) {
  if (graph.is_output(v) || v.id >= users.size() || users[v.id].size() != 1) return {};
  for (const graph::HostRead& read : graph.host_reads) {
    if (read.value == v) return {};
  }
  return users[v.id][0];
}

}  // namespace dlcb::rewrite
