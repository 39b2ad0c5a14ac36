#include "library/claim.h"

#include <algorithm>

#include "fuse/address.h"

namespace dlcb::library {
namespace {

using fuse::Claim;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using ops::ScalarKind;
using ops::ValueId;

// The only user of v, if there is exactly one and v is needed nowhere else.
NodeId sole_user(const Graph& graph, const std::vector<std::vector<NodeId>>& users, ValueId v) {
  if (graph.is_output(v) || users[v.id].size() != 1) return {};
  for (const graph::HostRead& read : graph.host_reads) {
    if (read.value == v) return {};
  }
  return users[v.id][0];
}

// The tensor b in add(v, b) if b is a vector along v's channel dim `axis` and constant along all others.
ValueId bias_of(Graph& graph, const Node& add, ValueId v, size_t axis) {
  const ops::OutputDef& def = add.definition.outputs[0];
  if (def.dims != graph.value(v).dims || graph.value(add.outputs[0]).dtype != graph.value(v).dtype) return {};
  const ops::ScalarNode& body = graph.scalars().node(def.body);
  if (body.kind != ScalarKind::Binary || body.fn != ops::Fn::Add) return {};
  for (int side : {0, 1}) {
    const ops::ScalarNode& other = graph.scalars().node(body.operands[1 - side]);
    const ops::ScalarNode& self = graph.scalars().node(body.operands[side]);
    if (self.kind != ScalarKind::Load || self.value != v || other.kind != ScalarKind::Load || self.coords != def.index) continue;
    const graph::Value& bias = graph.value(other.value);
    if (!bias.constant || !fuse::is_row_major(bias.order)) continue;
    sym::Store& sym = graph.sym();
    if (!graph.facts().equal(fuse::element_count(sym, bias.dims), def.dims[axis])) continue;
    if (fuse::element_offset(sym, bias.dims, bias.order, other.coords) == def.index[axis]) return other.value;
  }
  return {};
}

// Follows the call's result through a bias addition (if it has none yet) and a ReLU, as far as nobody else sees it.
template <class Call>
void absorb(Graph& graph, const std::vector<std::vector<NodeId>>& users, Call& call, std::vector<NodeId>& nodes, size_t axis) {
  NodeId next = sole_user(graph, users, call.out);
  if (next.valid() && !call.bias.valid() && graph.node(next).op->name == "add") {
    const Node& add = graph.node(next);
    if (const ValueId bias = bias_of(graph, add, call.out, axis); bias.valid()) {
      graph.value(add.outputs[0]).order = graph.value(call.out).order;
      call.bias = bias;
      call.out = add.outputs[0];
      nodes.push_back(next);
      next = sole_user(graph, users, call.out);
    }
  }
  if (next.valid() && graph.node(next).op->name == "relu") {
    const ValueId out = graph.node(next).outputs[0];
    if (graph.value(out).order != graph.value(call.out).order) return;
    call.activation = fuse::Activation::Relu;
    call.out = out;
    nodes.push_back(next);
  }
}

}  // namespace

std::vector<Claim> claim_library_calls(Graph& graph) {
  std::vector<Claim> claims;
  const auto users = graph.users();
  for (uint32_t n = 0; n < graph.node_count(); ++n) {
    const Node& node = graph.node(NodeId{n});
    if (!node.op || (users[node.outputs[0].id].empty() && !graph.is_output(node.outputs[0]))) continue;
    const size_t rank = graph.value(node.outputs[0]).dims.size();
    std::vector<NodeId> nodes{NodeId{n}};
    if (node.op->name == "matmul") {
      if (auto call = match_matmul(graph, node)) {
        absorb(graph, users, *call, nodes, rank - 1);
        claims.push_back({*call, nodes});
      }
    } else if (node.op->name == "conv" || node.op->name == "conv_transpose") {
      if (auto call = match_conv(graph, node)) {
        absorb(graph, users, *call, nodes, 1);
        claims.push_back({*call, nodes});
      }
    }
  }
  return claims;
}

}  // namespace dlcb::library
