// --trace-rewrites: a pass tells, for every rewrite, which statements of the graph's text became which. A rewrite adds
// nodes first and removes nodes later, so the two sides are taken down at different times.
#pragma once
#include <string>
#include <string_view>

#include "graph/graph.h"

namespace dlcb::graph {

class Trace {
 public:
  // `pattern` says what is rewritten ("gelu", "repeated node"). Where nobody listens, nothing below does anything.
  Trace(const Graph& graph, std::string_view pattern);

  // Statements as they are now; of a value that no node makes, its declaration.
  Trace& before(NodeId node);
  Trace& before(ValueId value);
  Trace& after(NodeId node);
  Trace& after(ValueId value);
  Trace& after_nodes(uint32_t first);  // every node from `first` on: those just added
  // Hands the rewrite to the listener.
  void done() const;

 private:
  const Graph& graph_;
  Rewrite rewrite_;
  bool listening_;
};

}  // namespace dlcb::graph
