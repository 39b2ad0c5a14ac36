// Pointwise kernels that read along one loop and write along another.
#pragma once
#include <optional>

#include "kernel/schedule.h"

namespace dlcb::kernel {

struct Turn {
  Loop loaded, stored;              // contiguous in what is turned, in the output
  std::vector<Loop> batch;          // all others
  bool row_major = false;           // the output runs over batch, loaded, stored
  std::vector<ops::Scalar> values;  // that are read along `loaded`: one or two loads or windows of loads
};

// `loops` are collapsed, outermost first, in the output's physical order. Nothing if no load would gain.
std::optional<Turn> find_turn(Lowered& region, std::span<const Loop> loops);

Kernel generate_transpose(Lowered& region, const Turn& turn, const GenerateOptions& options);

}  // namespace dlcb::kernel
