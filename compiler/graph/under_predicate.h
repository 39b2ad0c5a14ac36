// Nodes that rewrites and readers add must run when the node runs that they replace or stand for.
#pragma once
#include "graph/graph.h"

namespace dlcb::graph {

// What is added to the graph while this lives runs under the predicate, whatever way the scope is left.
class UnderPredicate {
 public:
  UnderPredicate(Graph& graph, sym::Expr predicate) : graph_(graph), pushed_(!graph.sym().is_const(predicate, 1)) {
    if (pushed_) graph_.push_predicate(predicate);
  }
  ~UnderPredicate() {
    if (pushed_) graph_.pop_predicate();
  }
  UnderPredicate(const UnderPredicate&) = delete;
  UnderPredicate& operator=(const UnderPredicate&) = delete;

 private:
  Graph& graph_;
  bool pushed_;
};

}  // namespace dlcb::graph
