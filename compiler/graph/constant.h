// Single elements of constants as numbers, whatever their element type.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/dtype.h"

namespace dlcb::graph {

// Element i of dense little-endian data of a float type.
double real_element(DType dtype, std::span<const std::byte> bytes, int64_t i);
// Element i of an integer or bool type; nothing if a u64 does not fit.
std::optional<int64_t> integer_element(DType dtype, std::span<const std::byte> bytes, int64_t i);

}  // namespace dlcb::graph
