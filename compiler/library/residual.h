// A sum after a library call (x + f(x) of residual networks and transformers) can be made by the call, which then reads
// the other summand as it writes its result. That saves passes over memory where the sum is stored anyway; where
// a kernel adds on the way (a norm that alone needs the sum), it would only move a read from one side to the other.
#pragma once
#include <span>
#include <vector>

#include "fuse/region.h"

namespace dlcb::library {

// Extends claims by the sums that `steps`, fused for these claims, store. Whether any was: the graph must then be fused
// again.
bool take_residuals(graph::Graph& graph, std::span<const fuse::Step> steps, std::vector<fuse::Claim>& claims);

}  // namespace dlcb::library
