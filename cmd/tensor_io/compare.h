// Whether an output is what was expected, and if not, how far off and where.
#pragma once
#include <optional>
#include <string>

#include "cmd/tensor_io/tensor.h"

namespace dlcb::cmd {

struct Tolerance {
  double rtol = 1e-3, atol = 1e-5;  // each element: |a - b| <= atol + rtol * |b|
  std::optional<double> rel_norm;   // if given, this alone decides: |a - b| / |b| over the whole tensor (L2)
};

struct Comparison {
  bool equal = false;               // within the tolerance
  std::string difference;           // when not equal: one line
  double max_abs = 0;               // largest |a - b| of the finite elements
  double rel_norm = 0;              // 0 when both norms are 0; infinite when only the expected one is
  uint64_t outside = 0, count = 0;  // elements beyond rtol and atol
};

// Equal infinities and NaN against NaN count as equal. Types and dims must agree exactly.
Comparison compare(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance);

}  // namespace dlcb::cmd
