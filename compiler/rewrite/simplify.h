// Removes what computes nothing: unused nodes, nodes that only rename a tensor, and second copies of the same node.
#pragma once
#include "graph/graph.h"

namespace dlcb::rewrite {

Status simplify(graph::Graph& graph);

// Removes every node whose results nobody needs.
void remove_dead(graph::Graph& graph);

}  // namespace dlcb::rewrite
