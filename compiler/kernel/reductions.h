// Regions that reduce, in the form their schedules need: kept loops, reduced loops, and the reductions in the order in
// which they can be computed, all over the same reduced loops so that what they share is loaded and computed once.
#pragma once
#include <optional>
#include <vector>

#include "kernel/schedule.h"

namespace dlcb::kernel {

struct Reduction {
  ops::Scalar node;     // as it occurs in bodies
  ops::Scalar operand;  // over kept and reduced symbols; reductions in it come earlier
  int stage = 0;        // reductions of one stage do not depend on each other
};

// Blocks that share a reduction: the blockIdx.y-th has one run of `chunk` reduced elements, the last perhaps fewer. Of
// one part, a block writes the region's outputs, else what it has reduced: to workspaces, behind the results of the
// part before.
struct Cut {
  sym::Expr when;          // there is more than one part
  sym::Expr parts, chunk;  // else 1 and everything
};

struct Reductions {
  std::vector<Loop> kept, reduced;  // in physical order, outermost first
  std::vector<Reduction> all;
  bool along_rows = false;  // the reduced loops are innermost in memory
  bool vectors = true;      // may be used; false: the little there is to read is better spread over threads
  std::optional<Cut> cut;   // for independent reductions: the region's outputs include workspaces
};

// Small reductions whose coordinates mix kept and bound indices (pooling windows): every thread does them alone.
bool is_window(ops::ScalarStore& scalars, ops::Scalar reduce);
// Reduce nodes below s that are no windows, operands first.
void collect_reduces(ops::ScalarStore& scalars, ops::Scalar s, std::vector<ops::Scalar>& found);

// Whether the reduction depends on an index that is none of the output's: one of a window around it. There is no
// schedule for that, as it would be computed anew for every element of the window.
bool is_inside_window(ops::ScalarStore& scalars, const Output& output, ops::Scalar reduce);

// Whether some reduction is needed only where a condition on coordinates holds (inside padding, in one part of a
// concatenation). Schedules compute reductions first and for all coordinates: outside they would read beyond the
// tensor.
bool is_guarded(ops::ScalarStore& scalars, const Output& output);
// A sum of products whose factors vary along different kept loops (matmul, convolution).
bool is_contraction(ops::ScalarStore& scalars, ops::Scalar reduce);

// `region` must be unified with `reference` its largest output; nothing if the reductions do not fit one pair of
// spaces.
std::optional<Reductions> find_reductions(ops::ScalarStore& scalars, const sym::Facts& facts, const Region& region,
                                          size_t reference);

Kernel generate_row_reduce(Lowered& region, Reductions reductions, const GenerateOptions& options);
Kernel generate_column_reduce(Lowered& region, Reductions reductions, const GenerateOptions& options);

}  // namespace dlcb::kernel
