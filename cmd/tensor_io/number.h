// Single elements: conversions between an element's bits and the numbers that people type and compare.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/dtype.h"

namespace dlcb::cmd {

float half_to_float(uint16_t bits);
uint16_t float_to_half(float value);    // to nearest, ties to even
uint16_t float_to_bfloat(float value);  // to nearest, ties to even

// Element `index` as a double; 64-bit integers above 2^53 are rounded.
double load_number(DType dtype, const std::byte* data, size_t index);
// The exact value of an integer or bool element; u64 wraps.
int64_t load_integer(DType dtype, const std::byte* data, size_t index);
// Rounds to float types, wraps to integer types, bool: whether it is not zero.
void store_number(DType dtype, std::byte* data, size_t index, double value);
void store_integer(DType dtype, std::byte* data, size_t index, int64_t value);
// Whether an integer value fits the type without change (u64: values up to INT64_MAX).
bool fits(DType dtype, int64_t value);

}  // namespace dlcb::cmd
