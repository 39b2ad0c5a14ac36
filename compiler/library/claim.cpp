#include "library/claim.h"

#include "library/epilogue.h"

namespace dlcb::library {
namespace {

using fuse::Claim;
using graph::Graph;
using graph::Node;
using graph::NodeId;

std::optional<Claim> match(Graph& graph, NodeId n) {
  const Node& node = graph.node(n);
  if (node.op->name == "matmul") {
    if (auto call = match_matmul(graph, node)) return Claim{*call, {n}};
  } else if (node.op->name == "conv" || node.op->name == "conv_transpose") {
    if (auto call = match_conv(graph, node)) return Claim{*call, {n}};
  }
  return std::nullopt;
}

}  // namespace

std::vector<Claim> claim_library_calls(Graph& graph) {
  std::vector<Claim> claims;
  const auto users = graph.users();
  for (uint32_t n = 0; n < graph.node_count(); ++n) {
    const Node& node = graph.node(NodeId{n});
    if (!node.op || (users[node.outputs[0].id].empty() && !graph.is_output(node.outputs[0]))) continue;
    std::optional<Claim> claim = match(graph, NodeId{n});
    if (!claim) continue;
    if (has_epilogue(graph, *claim)) {
      EpilogueMatcher matcher(graph, users, *claim);
      matcher.take_scale();
      matcher.take_bias();
      matcher.take_relu();
    }
    claims.push_back(*std::move(claim));
  }
  return claims;
}

}  // namespace dlcb::library
