// A kernel's registers and compile time grow with the tensors that it reads, and faster than their number: a
// concatenation of hundreds (the rounds of an unrolled loop) becomes a tree of small ones, which share their code where
// the operands are alike.
#pragma once
#include "graph/graph.h"

namespace dlcb::rewrite {

// Leaves no concatenation of more than 16 tensors. The graph is sorted by the caller.
Status split_wide_concats(graph::Graph& graph);

}  // namespace dlcb::rewrite
