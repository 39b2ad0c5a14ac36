// Element conversions; see number.h.
#include "cmd/tensor_io/number.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace dlcb::cmd {
namespace {

template <class T>
T load(const std::byte* data, size_t index) {
  T value;
  std::memcpy(&value, data + index * sizeof(T), sizeof(T));
  return value;
}

template <class T>
void store(std::byte* data, size_t index, T value) {
  std::memcpy(data + index * sizeof(T), &value, sizeof(T));
}

// Calls f with a value of the integer type that holds dtype's elements (bool: uint8_t). False for float types.
template <class F>
bool with_integer_type(DType dtype, F f) {
  switch (dtype) {
    case DType::I8:
      f(int8_t{});
      return true;
    case DType::Bool:
    case DType::U8:
      f(uint8_t{});
      return true;
    case DType::I16:
      f(int16_t{});
      return true;
    case DType::U16:
      f(uint16_t{});
      return true;
    case DType::I32:
      f(int32_t{});
      return true;
    case DType::U32:
      f(uint32_t{});
      return true;
    case DType::I64:
      f(int64_t{});
      return true;
    case DType::U64:
      f(uint64_t{});
      return true;
    default:
      return false;
  }
}

}  // namespace

float half_to_float(uint16_t bits) {
  uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16, exponent = bits >> 10 & 31, fraction = bits & 1023;
  if (exponent == 0) {
    float value = static_cast<float>(fraction) * 0x1p-24f;
    return sign != 0 ? -value : value;
  }
  uint32_t biased = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | biased << 23 | fraction << 13);
}

uint16_t float_to_half(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value), sign = bits >> 16 & 0x8000;
  bits &= 0x7fffffff;
  if (bits > 0x7f800000) return static_cast<uint16_t>(sign | 0x7e00);   // NaN
  if (bits >= 0x477ff000) return static_cast<uint16_t>(sign | 0x7c00);  // rounds to infinity
  if (bits < 0x38800000) {
    // Subnormal: adding 0.5 moves the rounding position to the last bit of the float's fraction.
    float shifted = std::bit_cast<float>(bits) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
  }
  bits += 0xc8000fffu + (bits >> 13 & 1);
  return static_cast<uint16_t>(sign | bits >> 13);
}

uint16_t float_to_bfloat(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

double load_number(DType dtype, const std::byte* data, size_t index) {
  switch (dtype) {
    case DType::F32:
      return load<float>(data, index);
    case DType::F64:
      return load<double>(data, index);
    case DType::F16:
      return half_to_float(load<uint16_t>(data, index));
    case DType::BF16:
      return std::bit_cast<float>(static_cast<uint32_t>(load<uint16_t>(data, index)) << 16);
    case DType::U64:
      return static_cast<double>(load<uint64_t>(data, index));
    default:
      return static_cast<double>(load_integer(dtype, data, index));
  }
}

int64_t load_integer(DType dtype, const std::byte* data, size_t index) {
  int64_t value = 0;
  with_integer_type(dtype, [&](auto zero) { value = static_cast<int64_t>(load<decltype(zero)>(data, index)); });
  return dtype == DType::Bool ? value != 0 : value;
}

void store_number(DType dtype, std::byte* data, size_t index, double value) {
  switch (dtype) {
    case DType::F32:
      return store(data, index, static_cast<float>(value));
    case DType::F64:
      return store(data, index, value);
    case DType::F16:
      return store(data, index, float_to_half(static_cast<float>(value)));
    case DType::BF16:
      return store(data, index, float_to_bfloat(static_cast<float>(value)));
    case DType::Bool:
      return store(data, index, static_cast<uint8_t>(value != 0));
    default:
      break;
  }
  bool inside = std::abs(value) < 0x1p63;  // also false for NaN: a conversion outside the range is undefined
  store_integer(dtype, data, index, inside ? static_cast<int64_t>(value) : 0);
}

void store_integer(DType dtype, std::byte* data, size_t index, int64_t value) {
  if (dtype == DType::Bool) return store(data, index, static_cast<uint8_t>(value != 0));
  bool stored = with_integer_type(dtype, [&](auto zero) { store(data, index, static_cast<decltype(zero)>(value)); });
  if (!stored) store_number(dtype, data, index, static_cast<double>(value));
}

bool fits(DType dtype, int64_t value) {
  if (dtype == DType::Bool) return value == 0 || value == 1;
  bool inside = true;
  with_integer_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, uint64_t>) {
      inside = value >= 0;
    } else if constexpr (!std::is_same_v<T, int64_t>) {
      inside = value >= int64_t{std::numeric_limits<T>::min()} && value <= int64_t{std::numeric_limits<T>::max()};
    }
  });
  return inside;
}

}  // namespace dlcb::cmd
