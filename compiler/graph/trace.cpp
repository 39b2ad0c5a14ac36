#include "graph/trace.h"

#include "graph/text.h"

namespace dlcb::graph {

Trace::Trace(const Graph& graph, std::string_view pattern)
    : graph_(graph), rewrite_{std::string(pattern), {}, {}}, listening_(static_cast<bool>(graph.on_rewrite)) {}

Trace& Trace::before(NodeId node) {
  if (listening_) rewrite_.before.push_back(statement(graph_, node));
  return *this;
}

Trace& Trace::before(ValueId value) {
  if (listening_) rewrite_.before.push_back(declaration(graph_, value));
  return *this;
}

Trace& Trace::after(NodeId node) {
  if (listening_) rewrite_.after.push_back(statement(graph_, node));
  return *this;
}

Trace& Trace::after(ValueId value) {
  if (listening_) rewrite_.after.push_back(declaration(graph_, value));
  return *this;
}

Trace& Trace::after_nodes(uint32_t first) {
  for (uint32_t n = first; listening_ && n < graph_.node_count(); ++n) {
    if (graph_.node(NodeId{n}).op) after(NodeId{n});
  }
  return *this;
}

void Trace::done() const {
  if (listening_) graph_.on_rewrite(rewrite_);
}

}  // namespace dlcb::graph
