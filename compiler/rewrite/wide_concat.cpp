#include "rewrite/wide_concat.h"

#include <algorithm>

#include "graph/trace.h"
#include "graph/under_predicate.h"

namespace dlcb::rewrite {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using ops::ValueId;

constexpr size_t kMaxOperands = 16;  // each level is one more pass over memory

// Joins groups of neighbours until few enough tensors are left.
Result<std::vector<ValueId>> join_groups(Graph& graph, const Node& node, std::vector<ValueId> parts) {
  const std::string hint = graph.value(node.outputs[0]).name + ".part";
  while (parts.size() > kMaxOperands) {
    std::vector<ValueId> joined;
    for (size_t begin = 0; begin < parts.size(); begin += kMaxOperands) {
      const size_t count = std::min(kMaxOperands, parts.size() - begin);
      const auto first = parts.begin() + static_cast<std::ptrdiff_t>(begin);
      if (count == 1) {
        joined.push_back(*first);
        continue;
      }
      DLCB_ASSIGN(const ValueId group, graph.add1("concat", {first, first + static_cast<std::ptrdiff_t>(count)},
                                                  node.attrs, node.origins, hint));
      joined.push_back(group);
    }
    parts = std::move(joined);
  }
  return parts;
}

Status split(Graph& graph, NodeId id) {
  const Node node = graph.node(id);  // a copy: adding nodes moves the original
  graph::Trace trace(graph, "wide concatenation");
  trace.before(id);
  const uint32_t first = graph.node_count();
  DLCB_ASSIGN(std::vector<ValueId> parts, join_groups(graph, node, node.inputs));
  DLCB_ASSIGN(const ValueId whole, graph.add1("concat", std::move(parts), node.attrs, node.origins));
  std::swap(graph.value(whole).name, graph.value(node.outputs[0]).name);
  graph.remove(id);
  graph.replace_uses(node.outputs[0], whole);
  trace.after_nodes(first).done();
  return ok();
}

}  // namespace

Status split_wide_concats(Graph& graph) {
  const uint32_t count = graph.node_count();
  for (uint32_t n = 0; n < count; ++n) {
    const Node& node = graph.node({n});
    if (!node.op || node.op->name != "concat" || node.inputs.size() <= kMaxOperands) continue;
    const graph::UnderPredicate branch(graph, node.predicate);
    DLCB_TRY(split(graph, {n}));
  }
  return ok();
}

}  // namespace dlcb::rewrite
