// Which float functions may be computed with less than full precision because only 16-bit results depend on them.
#pragma once
#include <unordered_set>

#include "kernel/lowered.h"

namespace dlcb::kernel {

// Exponentials in f32 whose relative error reaches nothing but values rounded to 16 bits, and reaches those without
// growing: through products, quotients and sums of one sign or another, as in a softmax that casts around its body.
std::unordered_set<uint32_t> coarse_values(Lowered& region);

}  // namespace dlcb::kernel
