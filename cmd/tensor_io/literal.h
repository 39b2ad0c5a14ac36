// Tensors typed on the command line: numbers, nested lists, and seeded random values of a given shape.
//   3   true   [1, 2]   [[1.5, 2], [3, 4]]   [nan, inf, -inf]
//   zeros[2,3]   ones[2,3]   random[2,3]   random[2,3]:SEED   random[2,3]:SEED:LO..HI
#pragma once
#include <string>
#include <string_view>

#include "cmd/tensor_io/tensor.h"

namespace dlcb::cmd {

// `dtype` is the model's. Random floats are uniform in [LO, HI) (default -1..1), integers in LO..HI inclusive (default
// 0..9, bool 0..1); the same text gives the same values on every machine. `source` is named in errors.
Result<Tensor> parse_literal(const std::string& source, std::string_view text, DType dtype);

}  // namespace dlcb::cmd
