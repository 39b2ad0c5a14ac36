// Replacing a node of an operator that is defined by others by that graph of others.
#pragma once
#include "graph/graph.h"

namespace dlcb::graph {

// In place: the new nodes stand at the end (sort_topologically() restores the order, once after many expansions), carry
// the old node's origins and predicate, and the last ones make values under the old outputs' names. The node is
// removed.
Status expand_node(Graph& g, NodeId node);

}  // namespace dlcb::graph
