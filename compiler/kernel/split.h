// A reduction with few outputs and a long reduced space would keep few blocks busy: the mean over a plane at batch 1,
// the sum of a whole tensor. Blocks then reduce parts of the space into workspaces, and a second launch, a reduction
// over the parts, computes the outputs. Both kernels are regions, made from the given one by exchanging its Reduce
// nodes, so what is reduced and what follows from it is generated like any other region. One text serves for a part and
// for the whole, which is the case of one part; the host program chooses their number from the outputs and the length.
// It follows from the shape alone, and parts are combined in a fixed order: results are deterministic. (Were the last
// block to combine, the second launch would be saved, but that needs counters that are zero, and fences; clusters of
// blocks are not portable.)
//
// Not split: reductions that depend on others (softmax, variance, arg-reductions) and those whose kernels also write
// tensors of the whole space.
#pragma once
#include "kernel/reductions.h"

namespace dlcb::kernel {

struct Split {
  Cut cut;
  Region first, last;  // outputs of the one that are inputs of the other: workspace(i) for the i-th reduction
  Reductions first_reductions, last_reductions;
};

// Nothing if the reductions cannot be split, or if sizes are known to make it useless. `from`: see GenerateOptions.
std::optional<Split> split_reductions(Lowered& region, const Reductions& reductions, int64_t from);

// For the writer of a kernel with a cut: text of what this block's part is, [begin, end), and of `whole`, that there is
// no other. Pointers to workspaces are moved to the part's results.
void open_part(Emitter& e, Params& params, Lowered& region, const Reductions& reductions);
// Whether a thread that has the output's value is to store it, given as text the condition `has` of that; "" for never.
std::string stores_part(const Output& output, const std::string& has, bool is_cut);

}  // namespace dlcb::kernel
