// A sum after a library call (x + f(x) of residual networks and transformers) can be made by the call, which then reads
// the other summand as it writes its result. Where a kernel does nothing but add, that saves the kernel and two passes
// over memory, unless the library then needs a second kernel itself. A kernel that adds on the way to something else
// (a norm of the sum) stays: at most one pass would be saved, and about as often lost again in the library.
#pragma once
#include <span>
#include <vector>

#include "fuse/region.h"

namespace dlcb::library {

// Extends claims by the sums that kernels of `steps`, fused for these claims, exist for. Whether any was: the graph
// must then be fused again.
bool take_residuals(graph::Graph& graph, std::span<const fuse::Step> steps, std::vector<fuse::Claim>& claims);

}  // namespace dlcb::library
