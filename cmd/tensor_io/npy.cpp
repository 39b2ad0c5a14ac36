// .npy: a magic number, a Python dict literal that describes the array, the data; see npy.h.
#include "cmd/tensor_io/npy.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "cmd/tensor_io/number.h"

namespace dlcb::cmd {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxRank = 64;

constexpr std::pair<std::string_view, DType> kTypes[] = {
    {"f4", DType::F32}, {"f2", DType::F16}, {"V2", DType::BF16}, {"f8", DType::F64}, {"i1", DType::I8},
    {"u1", DType::U8},  {"i2", DType::I16}, {"u2", DType::U16},  {"i4", DType::I32}, {"u4", DType::U32},
    {"i8", DType::I64}, {"u8", DType::U64}, {"b1", DType::Bool}};

struct Header {
  std::string descr;
  bool fortran = false;
  std::vector<int64_t> dims;
  bool has_descr = false, has_order = false, has_shape = false;
};

// Reads {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } and nothing else.
class DictParser {
 public:
  explicit DictParser(std::string_view text) : rest_(text) {}

  bool parse(Header& header) {
    if (!take('{')) return false;
    while (!take('}')) {
      std::string key;
      if (!string(key) || !take(':') || !value(key, header)) return false;
      if (!take(',') && !peek('}')) return false;
    }
    return trim(rest_).empty() && header.has_descr && header.has_order && header.has_shape;
  }

 private:
  void skip() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }
  bool peek(char c) {
    skip();
    return !rest_.empty() && rest_[0] == c;
  }
  bool take(char c) {
    if (!peek(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool word(std::string_view text) {
    skip();
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  bool string(std::string& text) {
    char mark = peek('"') ? '"' : '\'';
    if (!take(mark)) return false;
    size_t end = rest_.find(mark);
    if (end == std::string_view::npos) return false;
    text = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return true;
  }
  bool value(const std::string& key, Header& header) {
    if (key == "descr") {
      header.has_descr = true;
      if (!peek('[')) return string(header.descr);
      header.descr = "a structure";
      size_t end = rest_.rfind(']');
      if (end == std::string_view::npos) return false;
      rest_.remove_prefix(end + 1);
      return true;
    }
    if (key == "fortran_order") {
      header.has_order = true;
      header.fortran = word("True");
      return header.fortran || word("False");
    }
    header.has_shape = true;
    return key == "shape" && tuple(header.dims);
  }
  bool tuple(std::vector<int64_t>& dims) {
    if (!take('(')) return false;
    while (!take(')')) {
      skip();
      int64_t dim = 0;
      auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), dim);
      if (error != std::errc() || dim < 0 || dims.size() == kMaxRank) return false;
      rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
      word("L");  // written by Python 2
      dims.push_back(dim);
      if (!take(',') && !peek(')')) return false;
    }
    return true;
  }

  std::string_view rest_;
};

Result<DType> element_type(const std::string& source, const std::string& descr) {
  std::string_view text = descr;
  char order = text.empty() ? '|' : text[0];
  if (std::string_view("<>=|").find(order) != std::string_view::npos && !text.empty()) text.remove_prefix(1);
  for (const auto& [name, type] : kTypes) {
    if (name != text) continue;
    if (order == '>' && size_of(type) > 1) return bad_tensor(source, "is big-endian, which is not supported");
    return type;
  }
  return bad_tensor(source, "holds elements of type " + quote(descr) + ", which is not supported");
}

// Column-major data to row-major.
Tensor reordered(const Tensor& from) {
  Tensor to = make_tensor(from.dtype, from.dims);
  size_t size = size_of(from.dtype), count = from.bytes.size() / size, rank = from.dims.size();
  std::vector<size_t> index(rank, 0);
  for (size_t i = 0; i < count; ++i) {
    size_t place = 0;
    for (size_t axis = rank; axis-- > 0;) place = place * static_cast<size_t>(from.dims[axis]) + index[axis];
    std::memcpy(to.bytes.data() + i * size, from.bytes.data() + place * size, size);
    for (size_t axis = rank; axis-- > 0;) {
      if (++index[axis] < static_cast<size_t>(from.dims[axis])) break;
      index[axis] = 0;
    }
  }
  return to;
}

// The header's text and where the data begins.
Result<std::pair<std::string_view, size_t>> find_header(const std::string& source, std::string_view text) {
  if (!text.starts_with(kMagic)) return bad_tensor(source, "is not an .npy file");
  if (text.size() < 10) return bad_tensor(source, "ends within its header");
  auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(text[i])); };
  size_t major = byte(6);
  if (major < 1 || major > 3) return bad_tensor(source, fmt::format("is of .npy version {}, not 1 to 3", major));
  size_t start = major == 1 ? 10 : 12;
  if (text.size() < start) return bad_tensor(source, "ends within its header");
  size_t length = byte(8) | byte(9) << 8;
  if (major > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (text.size() - start < length) return bad_tensor(source, "ends within its header");
  return std::pair(text.substr(start, length), start + length);
}

}  // namespace

Result<Tensor> parse_npy(const std::string& source, std::span<const std::byte> file) {
  std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  DLCB_ASSIGN(auto found, find_header(source, text));
  Header header;
  if (!DictParser(found.first).parse(header)) return bad_tensor(source, "has a malformed header");
  DLCB_ASSIGN(DType dtype, element_type(source, header.descr));
  auto count = element_count(header.dims, size_of(dtype));
  size_t available = file.size() - found.second;
  if (!count || *count * size_of(dtype) != available)
    return bad_tensor(
        source, fmt::format("holds {} bytes of data, but {} was announced", available, type_text(dtype, header.dims)));
  Tensor tensor{dtype, header.dims, {}};
  auto data = file.subspan(found.second);
  tensor.bytes.assign(data.begin(), data.end());
  return header.fortran ? reordered(tensor) : std::move(tensor);
}

Result<Tensor> read_npy(const std::string& path) {
  DLCB_ASSIGN(MappedFile file, MappedFile::open(path));
  return parse_npy(path, file.bytes());
}

std::string npy_bytes(const Tensor& tensor) {
  if (tensor.dtype == DType::BF16) {
    Tensor wide = make_tensor(DType::F32, tensor.dims);
    for (size_t i = 0; i < tensor.bytes.size() / 2; ++i)
      store_number(DType::F32, wide.bytes.data(), i, load_number(DType::BF16, tensor.bytes.data(), i));
    return npy_bytes(wide);
  }
  std::string shape, descr;
  for (int64_t dim : tensor.dims) shape += fmt::format("{}, ", dim);
  if (shape.size() > 2 && tensor.dims.size() > 1) shape.resize(shape.size() - 2);
  for (const auto& [name, type] : kTypes)
    if (type == tensor.dtype) descr = (size_of(type) == 1 ? "|" : "<") + std::string(name);
  std::string dict = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, shape);
  dict.append(63 - (10 + dict.size()) % 64, ' ');  // the data begins at a multiple of 64
  dict += '\n';
  std::string file(kMagic);
  file += {1, 0, static_cast<char>(dict.size() & 255), static_cast<char>(dict.size() >> 8)};
  file += dict;
  return file.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
}

Status write_npy(const std::string& path, const Tensor& tensor) { return write_file(path, npy_bytes(tensor)); }

}  // namespace dlcb::cmd
