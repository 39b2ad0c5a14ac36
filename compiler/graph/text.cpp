#include "graph/text.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstring>

#include "base/text.h"
#include "graph/constant.h"

namespace dlcb::graph {

bool is_plain_name(std::string_view name) {
  if (name.empty()) return false;
  for (char c : name)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
          c == '/' || c == '-'))
      return false;
  return true;
}

std::string quoted(std::string_view text) { return escaped(text, '"'); }

std::string value_name(std::string_view name) {
  return is_plain_name(name) ? "%" + std::string(name) : "%" + quoted(name);
}

std::string real_text(double value) {
  std::string text = fmt::format("{}", value);
  return text.find_first_of(".enai") == std::string::npos ? text + ".0" : text;
}

std::string element_text(DType dtype, std::span<const std::byte> bytes, int64_t i) {
  size_t size = size_of(dtype);
  uint64_t bits = 0;
  std::memcpy(&bits, bytes.data() + i * size, size);
  if (dtype == DType::U64) return std::to_string(bits);
  if (!is_float(dtype)) return std::to_string(*integer_element(dtype, bytes, i));
  double value = real_element(dtype, bytes, i);
  if (size == 2 || !std::isfinite(value)) return fmt::format("0x{:0{}x}", bits, 2 * size);
  return dtype == DType::F32 ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
}

namespace {

template <class T>
bool append_number(std::string_view text, std::vector<std::byte>& bytes) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  auto* raw = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), raw, raw + sizeof(T));
  return true;
}

}  // namespace

bool append_element(DType dtype, std::string_view text, std::vector<std::byte>& bytes) {
  if (text.starts_with("0x")) {
    uint64_t bits = 0;
    auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), bits, 16);
    if (error != std::errc() || end != text.data() + text.size()) return false;
    auto* raw = reinterpret_cast<const std::byte*>(&bits);
    bytes.insert(bytes.end(), raw, raw + size_of(dtype));
    return true;
  }
  switch (dtype) {
    case DType::F32:
      return append_number<float>(text, bytes);
    case DType::F64:
      return append_number<double>(text, bytes);
    case DType::I8:
      return append_number<int8_t>(text, bytes);
    case DType::Bool:
    case DType::U8:
      return append_number<uint8_t>(text, bytes);
    case DType::I16:
      return append_number<int16_t>(text, bytes);
    case DType::U16:
      return append_number<uint16_t>(text, bytes);
    case DType::I32:
      return append_number<int32_t>(text, bytes);
    case DType::U32:
      return append_number<uint32_t>(text, bytes);
    case DType::I64:
      return append_number<int64_t>(text, bytes);
    case DType::U64:
      return append_number<uint64_t>(text, bytes);
    default:
      return false;  // halves are always hexadecimal
  }
}

std::string bounds_text(sym::Bounds b) {
  return (b.lo == sym::kMin ? "" : std::to_string(b.lo)) + ".." + (b.hi == sym::kMax ? "" : std::to_string(b.hi));
}

std::string origins_text(std::span<const Origin> origins) {
  std::string text;
  for (const Origin& o : origins)
    text += fmt::format("{}{} {} {}", text.empty() ? " from " : ", ", quoted(o.op), quoted(o.node), quoted(o.output));
  return text;
}

}  // namespace dlcb::graph
