#include "library/claim.h"

#include "rewrite/channel.h"

namespace dlcb::library {
namespace {

using fuse::Claim;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using ops::ValueId;

// Follows the call's result through a bias addition (if it has none yet) and a ReLU, as far as nobody else sees it.
template <class Call>
void absorb(Graph& graph, const std::vector<std::vector<NodeId>>& users, Call& call, std::vector<NodeId>& nodes,
            size_t axis) {
  NodeId next = rewrite::sole_user(graph, users, call.out);
  if (next.valid() && !call.bias.valid() && graph.node(next).op->name == "add") {
    const Node& add = graph.node(next);
    if (const ValueId bias = rewrite::per_channel_operand(graph, add, ops::Fn::Add, call.out, axis); bias.valid()) {
      graph.value(add.outputs[0]).order = graph.value(call.out).order;
      call.bias = bias;
      call.out = add.outputs[0];
      nodes.push_back(next);
      next = rewrite::sole_user(graph, users, call.out);
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
        // A sum of no terms is a tensor that is cleared, which has no epilogue.
        if (graph.facts().proves(graph.sym().le(graph.sym().constant(1), call->k)))
          absorb(graph, users, *call, nodes, rank - 1);
        claims.push_back({*call, nodes});
      }
    } else if (node.op->name == "conv" || node.op->name == "conv_transpose") {
      if (auto call = match_conv(graph, node)) {
        if (!call->transposed) absorb(graph, users, *call, nodes, 1);
        claims.push_back({*call, nodes});
      }
    }
  }
  return claims;
}

}  // namespace dlcb::library
