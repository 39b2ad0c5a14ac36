// What pattern rewrites ask of a graph: who makes a value, whether it is a known number, whether anyone else looks.
#pragma once
#include <optional>
#include <string_view>

#include "graph/graph.h"

namespace dlcb::rewrite {

class Match {
 public:
  explicit Match(graph::Graph& graph) : graph_(graph), users_(graph.users()) {}

  // The live node that makes v, if it is an `op`; else nullptr.
  const graph::Node* made_by(ops::ValueId v, std::string_view op) const;
  // The value of a constant with one element.
  std::optional<double> number(ops::ValueId v) const;
  // For a two-operand node: the operand that is not a number, when the other is about `wanted`.
  std::optional<ops::ValueId> other_than(const graph::Node& node, double wanted) const;
  // Operands that read v; an output of the graph has one more.
  size_t users(ops::ValueId v) const { return users_[v.id].size() + graph_.is_output(v); }
  bool used_once(ops::ValueId v) const { return users(v) == 1; }

 private:
  graph::Graph& graph_;
  std::vector<std::vector<graph::NodeId>> users_;
};

// Origins of several nodes, each once, in order.
std::vector<graph::Origin> merged_origins(std::initializer_list<const graph::Node*> nodes);

}  // namespace dlcb::rewrite
