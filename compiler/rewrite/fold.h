// Computes at compile time what depends on constants alone, with the operators' CPU reference.
#pragma once
#include "graph/graph.h"

namespace dlcb::rewrite {

// Large tensors that are only re-read (a transposed weight) are left alone unless a convolution needs them in memory:
// fusion and library calls read through views, and folding would copy hundreds of megabytes. What takes the reference
// long (a product of large matrices) stays in the graph, too, and runs with the model. `first`: nodes before it are
// left alone.
Status fold_constants(graph::Graph& graph, uint32_t first = 0);

}  // namespace dlcb::rewrite
