// Graph to steps: which values exist in memory, and which operators become one kernel. Fusion needs relations between
// shapes, never their values. A producer joins its consumer by substituting its body for the loads of its result; a
// value used by several regions is stored by the one that can compute it on the way, else recomputed if that is cheaper
// than a pass.
#pragma once
#include <span>
#include <vector>

#include "fuse/region.h"

namespace dlcb::fuse {

// `claims` are executed by libraries; their operands and results are in memory. Every other live node must be of kind
// Define. Steps come in an order in which producers precede consumers.
Result<std::vector<Step>> fuse(graph::Graph& graph, std::span<const Claim> claims, const Classify& classify);

}  // namespace dlcb::fuse
