// The region that computes what a library call does: from it a kernel is generated that stands by for libraries,
// versions and GPUs that refuse the call.
#pragma once
#include "fuse/region.h"

namespace dlcb::fuse {

// Reads what the library call reads (of views, the tensors behind them) and writes its result, in their layouts.
Region stand_in(const graph::Graph& graph, const Claim& claim);

}  // namespace dlcb::fuse
