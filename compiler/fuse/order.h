// The parts of fusion that look at whole steps: what a step reads and writes, memory that two values share, launch
// order.
#pragma once
#include <span>
#include <vector>

#include "fuse/region.h"

namespace dlcb::fuse {

std::vector<ops::ValueId> operands_of(const Claim& claim);
ops::ValueId result_of(const Claim& claim);
std::vector<ops::ValueId> reads(const Step& step);
std::vector<ops::ValueId> writes(const Step& step);

// Values that the host must have read before a step runs: those behind the Data symbols of its predicate, of the sizes
// of what it writes, and of a region's bodies.
std::vector<ops::ValueId> host_reads_of(const graph::Graph& graph, sym::Expr predicate,
                                        std::span<const ops::ValueId> written, const Region* region);

Step claim_step(const graph::Graph& graph, const Claim& claim);

// Turns regions that would copy a tensor onto the same addresses (reshape, a transpose that the layouts absorb) into
// Alias steps, unless one end belongs to the caller.
void make_aliases(graph::Graph& graph, std::vector<Step>& steps);

// Producers before consumers; among those that are ready, the one whose nodes come first in the graph.
std::vector<Step> in_launch_order(const graph::Graph& graph, std::vector<Step> steps);

}  // namespace dlcb::fuse
