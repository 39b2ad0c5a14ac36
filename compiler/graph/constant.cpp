// Decoding of constants' elements; halves are widened by hand because C++20 has no type for them.
#include "graph/constant.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace dlcb::graph {
namespace {

template <class T>
T load(std::span<const std::byte> bytes, int64_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

double half_to_double(uint16_t bits) {
  int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  double sign = bits >> 15 ? -1.0 : 1.0;
  if (exponent == 31) return fraction ? std::numeric_limits<double>::quiet_NaN() : sign * HUGE_VAL;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

}  // namespace

double real_element(DType dtype, std::span<const std::byte> bytes, int64_t i) {
  switch (dtype) {
    case DType::F64:
      return load<double>(bytes, i);
    case DType::F16:
      return half_to_double(load<uint16_t>(bytes, i));
    case DType::BF16:
      return std::bit_cast<float>(static_cast<uint32_t>(load<uint16_t>(bytes, i)) << 16);
    default:
      return load<float>(bytes, i);
  }
}

std::optional<int64_t> integer_element(DType dtype, std::span<const std::byte> bytes, int64_t i) {
  switch (dtype) {
    case DType::I8:
      return load<int8_t>(bytes, i);
    case DType::U8:
      return load<uint8_t>(bytes, i);
    case DType::I16:
      return load<int16_t>(bytes, i);
    case DType::U16:
      return load<uint16_t>(bytes, i);
    case DType::I32:
      return load<int32_t>(bytes, i);
    case DType::U32:
      return load<uint32_t>(bytes, i);
    case DType::Bool:
      return load<uint8_t>(bytes, i) != 0;
    case DType::U64: {
      uint64_t value = load<uint64_t>(bytes, i);
      if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
      return static_cast<int64_t>(value);
    }
    default:
      return load<int64_t>(bytes, i);
  }
}

std::optional<std::vector<int64_t>> literal_dims(const sym::Store& store, std::span<const sym::Expr> dims) {
  std::vector<int64_t> out;
  for (sym::Expr d : dims) {
    const auto value = store.as_const(d);
    if (!value) return std::nullopt;
    out.push_back(*value);
  }
  return out;
}

}  // namespace dlcb::graph
