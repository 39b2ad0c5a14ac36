// Single elements of constants as numbers, whatever their element type.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "sym/expr.h"

namespace dlcb::graph {

// Element i of dense little-endian data of a float type.
double real_element(DType dtype, std::span<const std::byte> bytes, int64_t i);
// Element i of an integer or bool type; nothing if a u64 does not fit.
std::optional<int64_t> integer_element(DType dtype, std::span<const std::byte> bytes, int64_t i);
// The dims as numbers, if all are literal (those of a constant always are).
std::optional<std::vector<int64_t>> literal_dims(const sym::Store& store, std::span<const sym::Expr> dims);

}  // namespace dlcb::graph
