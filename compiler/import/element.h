// Writing single elements of constants, the counterpart of graph/constant.h.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/dtype.h"

namespace dlcb::importer {

// `at` has size_of(t) bytes. Floats are rounded to nearest even, integers keep their low bits.
void store_real(DType t, std::span<std::byte> at, double v);      // t a float type
void store_integer(DType t, std::span<std::byte> at, int64_t v);  // t an integer type or bool

}  // namespace dlcb::importer
