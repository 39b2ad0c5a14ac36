// Parser of --input texts; see declared_input.h.
#include "import/declared_input.h"

#include <charconv>
#include <map>
#include <tuple>
#include <utility>

#include "base/text.h"

namespace dlcb {
namespace {

Diagnostic bad(std::string_view whole, std::string_view what) {
  return diag(DiagKind::BadFlag, {"--input " + quote(whole) + ": " + std::string(what)});
}

// numpy's and ONNX's names beside our own: people type what their other tools call it.
std::optional<DType> parse_type(std::string_view text) {
  constexpr std::pair<std::string_view, DType> kLongNames[] = {
      {"float32", DType::F32}, {"float", DType::F32},  {"float16", DType::F16}, {"half", DType::F16},
      {"float64", DType::F64}, {"double", DType::F64}, {"int8", DType::I8},     {"bfloat16", DType::BF16},
      {"uint8", DType::U8},    {"int16", DType::I16},  {"int32", DType::I32},   {"uint16", DType::U16},
      {"int64", DType::I64},   {"uint32", DType::U32}, {"long", DType::I64},    {"uint64", DType::U64},
      {"boolean", DType::Bool}};
  for (const auto& [name, type] : kLongNames)
    if (name == text) return type;
  return parse_dtype(text);
}

std::optional<int64_t> parse_number(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

bool is_identifier(std::string_view text) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (text.empty() || !letter(text[0])) return false;
  for (char c : text)
    if (!letter(c) && !(c >= '0' && c <= '9') && c != '.') return false;
  return true;
}

// MIN..MAX with either side left out.
bool parse_range(std::string_view text, DeclaredDim& dim) {
  size_t dots = text.find("..");
  if (dots == std::string_view::npos) return false;
  std::string_view low = trim(text.substr(0, dots)), high = trim(text.substr(dots + 2));
  if (low.empty() && high.empty()) return false;
  auto lo = low.empty() ? 0 : parse_number(low), hi = high.empty() ? INT64_MAX : parse_number(high);
  if (!lo || !hi || *lo > *hi) return false;
  dim.lo = *lo;
  dim.hi = *hi;
  return true;
}

Result<DeclaredDim> parse_dim(std::string_view whole, std::string_view text) {
  DeclaredDim dim;
  if (auto value = parse_number(text)) {
    dim.value = *value;
    return dim;
  }
  size_t equals = text.find('=');
  std::string_view name = trim(text.substr(0, equals));
  if (!is_identifier(name)) return bad(whole, "dim " + quote(text) + " is neither a number, a name nor NAME=MIN..MAX");
  dim.name = name;
  if (equals != std::string_view::npos && !parse_range(trim(text.substr(equals + 1)), dim))
    return bad(whole, "range " + quote(text.substr(equals + 1)) + " of dim " + quote(name) +
                          " is not MIN..MAX with 0 <= MIN <= MAX");
  return dim;
}

}  // namespace

Result<DeclaredInput> parse_declared_input(std::string_view text) {
  size_t bracket = text.rfind('[');
  if (bracket == std::string_view::npos || !text.ends_with(']'))
    return bad(text, "is not of the form NAME:DTYPE[DIMS], for example x:f32[N,3,224,224]");
  std::string_view head = text.substr(0, bracket);
  std::string_view dims = trim(text.substr(bracket + 1, text.size() - bracket - 2));

  DeclaredInput input;
  size_t colon = head.rfind(':');
  input.name = head.substr(0, colon);
  if (input.name.empty()) return bad(text, "the input's name is missing");
  std::string_view type = colon == std::string_view::npos ? "" : head.substr(colon + 1);
  if (!type.empty()) {
    input.dtype = parse_type(type);
    if (!input.dtype)
      return bad(text, "unknown element type " + quote(type) +
                           " (known: f32, f16, bf16, f64, i8 ... u64, bool; write " + std::string(head) +
                           ":[...] if it is part of the name)");
  }
  if (dims.empty()) return input;
  for (const std::string& part : split(dims, ',')) {
    DLCB_ASSIGN(DeclaredDim dim, parse_dim(text, trim(part)));
    input.dims.push_back(std::move(dim));
  }
  return input;
}

Result<std::vector<DeclaredInput>> parse_declared_inputs(std::span<const std::string> texts) {
  std::vector<DeclaredInput> inputs;
  std::map<std::string, std::pair<int64_t, int64_t>> ranges;  // of symbols that were given one
  for (const std::string& text : texts) {
    DLCB_ASSIGN(DeclaredInput input, parse_declared_input(text));
    for (const DeclaredInput& earlier : inputs)
      if (earlier.name == input.name) return bad(text, "input " + quote(input.name) + " is declared twice");
    for (const DeclaredDim& dim : input.dims) {
      if (dim.name.empty() || (dim.lo == 0 && dim.hi == INT64_MAX)) continue;
      auto [entry, is_new] = ranges.try_emplace(dim.name, dim.lo, dim.hi);
      if (!is_new && entry->second != std::pair(dim.lo, dim.hi))
        return bad(text, "dim " + quote(dim.name) + " has another range elsewhere");
    }
    inputs.push_back(std::move(input));
  }
  for (DeclaredInput& input : inputs)
    for (DeclaredDim& dim : input.dims)
      if (auto entry = ranges.find(dim.name); entry != ranges.end()) std::tie(dim.lo, dim.hi) = entry->second;
  return inputs;
}

}  // namespace dlcb
