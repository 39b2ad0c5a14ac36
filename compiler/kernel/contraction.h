// Matrix products and convolutions that no library takes, as one tiled kernel.
#pragma once
#include <optional>

#include "kernel/schedule.h"

namespace dlcb::kernel {

// reduce = sum over `summed` of a * b, used in the region's only output.
struct Contraction {
  ops::Scalar reduce, a, b;
  std::vector<Loop> batch, rows, columns;  // of the result: in both or neither factor, in a only, in b only
  std::vector<Loop> summed;
};

// Nothing when the sum is not of that form.
std::optional<Contraction> find_contraction(Lowered& region, ops::Scalar reduce);

Kernel generate_contraction(Lowered& region, Contraction c, const GenerateOptions& options);

}  // namespace dlcb::kernel
