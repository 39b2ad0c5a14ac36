// Rules of ONNX and numpy for sizes that a model states loosely: slice bounds that count from the end or reach beyond
// the tensor, and the -1 of a reshape. Frontends use them to make the attributes that the operators take.
#pragma once
#include <span>

#include "base/result.h"
#include "sym/expr.h"

namespace dlcb::ops {

struct SliceRange {
  sym::Expr start, extent;  // 0 <= start, extent >= 0; start + (extent - 1) * step is inside the dim when extent > 0
};
// x[start:end:step] of a dim, step != 0. Bounds below 0 count from the end, bounds outside are clamped; constants of at
// least 2^31 - 1 in size mean "to the end" (or beginning). Folded as far as `facts` prove.
SliceRange clamp_slice(const sym::Facts& facts, sym::Expr start, sym::Expr end, int64_t step, sym::Expr dim);

// The dim that a reshape's -1 stands for: the product of `in` divided by that of the other output dims, after
// cancelling what occurs on both sides (so [N, 512, 1, 1] to [N, -1] gives 512, and [H*N, S] to [N, H, -1] gives S, and
// both stay right for N = 0, where any size would keep the number of elements).
sym::Expr inferred_dim(const sym::Facts& facts, std::span<const sym::Expr> in, std::span<const sym::Expr> others);

}  // namespace dlcb::ops
