// Kernels divide within 2 ulp, which nobody sees but a function that jumps: floor(6 / 3) must not be 1. Before bodies
// are put together, every quotient that such a function may follow, in whatever later node, becomes a correctly rounded
// one.
#pragma once
#include <span>
#include <vector>

#include "graph/graph.h"

namespace dlcb::fuse {

// Changes the definitions of the graph's nodes.
void make_divisions_exact(graph::Graph& graph);

// The same for one body; `jumps`: the body's own value is rounded, truncated or compared later. Adds to `loaded` the
// values for which that then holds too.
ops::Scalar with_exact_divisions(ops::ScalarStore& store, ops::Scalar body, bool jumps,
                                 std::vector<ops::ValueId>& loaded);

}  // namespace dlcb::fuse
