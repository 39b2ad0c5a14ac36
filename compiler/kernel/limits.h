// Kernels compute with 32-bit integers: which sizes keep every one of them exact, and when there is nothing to launch.
#pragma once
#include <span>
#include <vector>

#include "kernel/lowered.h"

namespace dlcb::kernel {

// Fills kernel.limits. `spaces` are the groups of loops that the kernel counts through as one: the tensors' sizes do
// not bound them where operands are broadcast (the sum over all of a[N, 1] + b[1, M] takes N * M steps).
void add_limits(Lowered& region, std::span<const std::vector<Loop>> spaces, Kernel& kernel);

// Makes the grids of a reduction 0 where no output has an element, however many rows there are.
void skip_empty_outputs(Lowered& region, Kernel& kernel);

}  // namespace dlcb::kernel
