// Literals; see literal.h.
#include "cmd/tensor_io/literal.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.h"
#include "cmd/tensor_io/number.h"

namespace dlcb::cmd {
namespace {

using Json = nlohmann::json;

// A splitmix64 generator: tiny, well mixed, and the same everywhere, which std:: distributions are not.
struct Random {
  uint64_t state;
  uint64_t bits() {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
};

template <class T>
bool parse_whole(std::string_view text, T& value) {
  text = trim(text);
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

// "[2,3]" at the start of `rest`, which is advanced past it.
Result<std::vector<int64_t>> take_dims(const std::string& source, std::string_view& rest, DType dtype) {
  size_t end = rest.find(']');
  if (!rest.starts_with('[') || end == std::string_view::npos)
    return bad_tensor(source, "the shape must be in brackets, for example random[2,3]");
  std::vector<int64_t> dims;
  std::string_view inner = trim(rest.substr(1, end - 1));
  if (!inner.empty()) {
    for (const std::string& part : split(inner, ',')) {
      int64_t dim = -1;
      if (!parse_whole(part, dim) || dim < 0) return bad_tensor(source, quote(part) + " is not a dim");
      dims.push_back(dim);
    }
  }
  rest.remove_prefix(end + 1);
  if (dims.size() > 64 || !element_count(dims, size_of(dtype)))
    return bad_tensor(source, "a tensor of this shape is too large");
  return dims;
}

// ":SEED:LO..HI", both optional.
struct RandomOptions {
  uint64_t seed = 0;
  double lo, hi;
};

bool parse_random_options(std::string_view rest, RandomOptions& options) {
  if (rest.empty()) return true;
  if (rest[0] != ':') return false;
  std::string_view seed = rest.substr(1, rest.find(':', 1) - 1);
  if (!parse_whole(seed, options.seed)) return false;
  rest.remove_prefix(1 + seed.size());
  if (rest.empty()) return true;
  size_t dots = rest.find("..");
  return dots != std::string_view::npos && parse_whole(rest.substr(1, dots - 1), options.lo) &&
         parse_whole(rest.substr(dots + 2), options.hi) && options.lo <= options.hi && std::abs(options.lo) < 0x1p62 &&
         std::abs(options.hi) < 0x1p62;
}

Result<Tensor> parse_random(const std::string& source, std::string_view rest, DType dtype) {
  DLCB_ASSIGN(auto dims, take_dims(source, rest, dtype));
  bool real = is_float(dtype);
  RandomOptions options{0, real ? -1.0 : 0.0, real || dtype == DType::Bool ? 1.0 : 9.0};
  if (!parse_random_options(rest, options))
    return bad_tensor(source, "what follows the shape must be :SEED or :SEED:LO..HI, not " + quote(rest));
  auto first = static_cast<int64_t>(options.lo), last = static_cast<int64_t>(options.hi);
  if (!real && (!fits(dtype, first) || !fits(dtype, last)))
    return bad_tensor(source, fmt::format("the range is outside of {}", name_of(dtype)));
  Tensor tensor = make_tensor(dtype, dims);
  Random random{options.seed};
  auto span = static_cast<uint64_t>(last - first) + 1;
  for (size_t i = 0; i < tensor.bytes.size() / size_of(dtype); ++i) {
    if (real) {
      store_number(dtype, tensor.bytes.data(), i, options.lo + random.unit() * (options.hi - options.lo));
    } else {
      store_integer(dtype, tensor.bytes.data(), i, first + static_cast<int64_t>(random.bits() % span));
    }
  }
  return tensor;
}

Result<Tensor> filled(const std::string& source, std::string_view rest, DType dtype, int64_t value) {
  DLCB_ASSIGN(auto dims, take_dims(source, rest, dtype));
  if (!rest.empty()) return bad_tensor(source, "nothing may follow the shape, but " + quote(rest) + " does");
  Tensor tensor = make_tensor(dtype, dims);
  if (value == 0) return tensor;
  for (size_t i = 0; i < tensor.bytes.size() / size_of(dtype); ++i) store_integer(dtype, tensor.bytes.data(), i, value);
  return tensor;
}

// JSON has no nan and no infinities: as words of their own they become strings, which literals cannot otherwise hold.
std::string quote_special_numbers(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const size_t begin = i, sign = text[i] == '-' ? 1 : 0;
    for (i += sign; i < text.size() && letter(text[i]);) ++i;
    if (i == begin) ++i;
    const std::string_view word = text.substr(begin, i - begin), name = word.substr(sign);
    const bool special = name == "nan" || name == "NaN" || name == "inf" || name == "Infinity";
    out += special ? "\"" + std::string(word) + "\"" : std::string(word);
  }
  return out;
}

// The value of what quote_special_numbers() made; other strings have none.
std::optional<double> special_number(const Json& json) {
  const auto* text = json.get_ptr<const std::string*>();
  double value = 0;
  if (text == nullptr || !parse_whole(*text, value) || std::isfinite(value)) return std::nullopt;
  return value;
}

// Lists must be rectangular; the first of each level sets the dims.
Status append(const std::string& source, const Json& json, size_t axis, Tensor& tensor, size_t& next) {
  if (axis < tensor.dims.size()) {
    if (!json.is_array() || json.size() != static_cast<size_t>(tensor.dims[axis]))
      return bad_tensor(source, fmt::format("the lists of level {} differ in length", axis + 1));
    for (const Json& item : json) DLCB_TRY(append(source, item, axis + 1, tensor, next));
    return ok();
  }
  std::byte* data = tensor.bytes.data();
  if (json.is_boolean()) {
    store_integer(tensor.dtype, data, next++, json.get<bool>());
  } else if (is_float(tensor.dtype) && json.is_number()) {
    store_number(tensor.dtype, data, next++, json.get<double>());
  } else if (const auto special = special_number(json); is_float(tensor.dtype) && special) {
    store_number(tensor.dtype, data, next++, *special);
  } else if (json.is_number_unsigned() && tensor.dtype == DType::U64) {
    store_integer(tensor.dtype, data, next++, static_cast<int64_t>(json.get<uint64_t>()));
  } else if (json.is_number_integer() && !(json.is_number_unsigned() && json.get<uint64_t>() > INT64_MAX) &&
             fits(tensor.dtype, json.get<int64_t>())) {
    store_integer(tensor.dtype, data, next++, json.get<int64_t>());
  } else {
    return bad_tensor(source, fmt::format("{} is not a value of type {}", json.dump(), name_of(tensor.dtype)));
  }
  return ok();
}

}  // namespace

Result<Tensor> parse_literal(const std::string& source, std::string_view text, DType dtype) {
  text = trim(text);
  if (text.starts_with("random")) return parse_random(source, text.substr(6), dtype);
  if (text.starts_with("zeros")) return filled(source, text.substr(5), dtype, 0);
  if (text.starts_with("ones")) return filled(source, text.substr(4), dtype, 1);
  Json json = Json::parse(quote_special_numbers(text), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded())
    return bad_tensor(source, quote(text) + " is neither @FILE, a number, a list nor random[SHAPE]");
  std::vector<int64_t> dims;
  for (const Json* level = &json; level->is_array(); level = &level->front()) {
    dims.push_back(static_cast<int64_t>(level->size()));
    if (dims.size() > 64) return bad_tensor(source, "the lists are nested too deeply");
    if (level->empty()) break;
  }
  Tensor tensor = make_tensor(dtype, dims);
  size_t next = 0;
  DLCB_TRY(append(source, json, 0, tensor, next));
  return tensor;
}

}  // namespace dlcb::cmd
