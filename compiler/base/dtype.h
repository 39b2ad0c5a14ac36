// Element types. The numbering is our own and stable: it is written into bundles.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace dlcb {

enum class DType : uint8_t { F32 = 0, F16, BF16, F64, I8, U8, I16, U16, I32, U32, I64, U64, Bool };

constexpr size_t size_of(DType t) {
  constexpr uint8_t kSizes[] = {4, 2, 2, 8, 1, 1, 2, 2, 4, 4, 8, 8, 1};
  return kSizes[static_cast<int>(t)];
}
constexpr bool is_float(DType t) { return t <= DType::F64; }
constexpr bool is_half(DType t) { return t == DType::F16 || t == DType::BF16; }  // floats of 16 bits
constexpr bool is_integer(DType t) { return t >= DType::I8 && t <= DType::U64; }
constexpr std::string_view name_of(DType t) {  // the text form used in IR, flags and manifests
  constexpr std::string_view kNames[] = {"f32", "f16", "bf16", "f64", "i8",  "u8",  "i16",
                                         "u16", "i32", "u32",  "i64", "u64", "bool"};
  return kNames[static_cast<int>(t)];
}
std::optional<DType> parse_dtype(std::string_view name);

}  // namespace dlcb
