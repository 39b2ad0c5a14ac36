// TensorProto: values are either raw little-endian bytes or lie in one of five typed fields; see tensor_proto.h.
#include "cmd/tensor_io/tensor_proto.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "base/file.h"
#include "cmd/tensor_io/number.h"
#include "cmd/tensor_io/wire.h"

namespace dlcb::cmd {
namespace {

constexpr std::pair<int, DType> kTypes[] = {{1, DType::F32},  {2, DType::U8},   {3, DType::I8},   {4, DType::U16},
                                            {5, DType::I16},  {6, DType::I32},  {7, DType::I64},  {9, DType::Bool},
                                            {10, DType::F16}, {11, DType::F64}, {12, DType::U32}, {13, DType::U64},
                                            {16, DType::BF16}};

enum Field : uint32_t {
  kDims = 1,
  kDataType = 2,
  kSegment = 3,
  kFloatData = 4,
  kInt32Data = 5,
  kInt64Data = 7,
  kName = 8,
  kRawData = 9,
  kDoubleData = 10,
  kUint64Data = 11,
  kExternalData = 13,
  kDataLocation = 14
};

struct Parts {
  std::vector<int64_t> dims;
  int data_type = 0;
  std::string name;
  std::string_view raw;
  bool has_raw = false, external = false;
  std::vector<uint64_t> values;  // of a typed field, as bit patterns
  uint32_t values_field = 0;
};

// One value or a packed run of them. False if malformed.
bool append_values(const WireField& field, size_t fixed_bytes, std::vector<uint64_t>& out) {
  if (field.type != WireType::Bytes) {
    out.push_back(field.value);
    return true;
  }
  WireReader reader(field.bytes);
  while (!reader.at_end()) {
    auto value = fixed_bytes == 0 ? reader.varint() : reader.fixed(fixed_bytes);
    if (!value) return false;
    out.push_back(*value);
  }
  return true;
}

bool read_field(const WireField& field, Parts& parts) {
  std::vector<uint64_t> dims;
  switch (field.number) {
    case kDims:
      if (!append_values(field, 0, dims)) return false;
      parts.dims.insert(parts.dims.end(), dims.begin(), dims.end());
      return parts.dims.size() <= 64;
    case kDataType:
      parts.data_type = static_cast<int>(field.value);
      return true;
    case kName:
      parts.name = field.bytes;
      return true;
    case kRawData:
      parts.raw = field.bytes;
      parts.has_raw = true;
      return field.type == WireType::Bytes;
    case kSegment:
    case kExternalData:
      parts.external = true;
      return true;
    case kDataLocation:
      parts.external |= field.value == 1;
      return true;
    case kFloatData:
    case kInt32Data:
    case kInt64Data:
    case kDoubleData:
    case kUint64Data:
      parts.values_field = field.number;
      return append_values(field, field.number == kFloatData ? 4 : field.number == kDoubleData ? 8 : 0, parts.values);
    default:
      return true;
  }
}

uint32_t typed_field_of(DType dtype) {
  switch (dtype) {
    case DType::F32:
      return kFloatData;
    case DType::F64:
      return kDoubleData;
    case DType::I64:
      return kInt64Data;
    case DType::U32:
    case DType::U64:
      return kUint64Data;
    default:
      return kInt32Data;  // small integers, bool and the bits of f16 and bf16
  }
}

Result<Tensor> assemble(const std::string& source, const Parts& parts) {
  if (parts.external)
    return bad_tensor(source, "keeps its data in another file or in segments, which is not supported");
  const DType* dtype = nullptr;
  for (const auto& [number, type] : kTypes)
    if (number == parts.data_type) dtype = &type;
  if (dtype == nullptr)
    return bad_tensor(source, fmt::format("has element type {}, which is not supported", parts.data_type));
  auto count = element_count(parts.dims, size_of(*dtype));
  if (!count) return bad_tensor(source, "has impossible dims");
  size_t wanted = *count * size_of(*dtype);
  if (parts.has_raw && parts.values.empty()) {
    if (parts.raw.size() != wanted)
      return bad_tensor(source, fmt::format("holds {} bytes of data, but {} was announced", parts.raw.size(),
                                            type_text(*dtype, parts.dims)));
    Tensor tensor = make_tensor(*dtype, parts.dims);
    if (wanted > 0) std::memcpy(tensor.bytes.data(), parts.raw.data(), wanted);
    return tensor;
  }
  bool right_field = parts.values.empty() || parts.values_field == typed_field_of(*dtype);
  if (parts.has_raw || !right_field || parts.values.size() != *count)
    return bad_tensor(source, fmt::format("holds {} values, but {} was announced", parts.values.size(),
                                          type_text(*dtype, parts.dims)));
  Tensor tensor = make_tensor(*dtype, parts.dims);
  size_t size = size_of(*dtype);  // little-endian: the low bytes of the pattern are the element
  for (size_t i = 0; i < *count; ++i) std::memcpy(tensor.bytes.data() + i * size, &parts.values[i], size);
  return tensor;
}

}  // namespace

Result<NamedTensor> parse_tensor_proto(const std::string& source, std::span<const std::byte> file) {
  WireReader reader({reinterpret_cast<const char*>(file.data()), file.size()});
  Parts parts;
  while (auto field = reader.next())
    if (!read_field(*field, parts)) return bad_tensor(source, "is not an ONNX tensor");
  if (reader.malformed() || parts.data_type == 0) return bad_tensor(source, "is not an ONNX tensor, or is cut off");
  DLCB_ASSIGN(Tensor tensor, assemble(source, parts));
  return NamedTensor{parts.name, std::move(tensor)};
}

Result<NamedTensor> read_tensor_proto(const std::string& path) {
  DLCB_ASSIGN(MappedFile file, MappedFile::open(path));
  return parse_tensor_proto(path, file.bytes());
}

std::string tensor_proto_bytes(const std::string& name, const Tensor& tensor) {
  std::string message, dims;
  for (int64_t dim : tensor.dims) append_varint(dims, static_cast<uint64_t>(dim));
  if (!dims.empty()) append_bytes(message, kDims, dims);
  for (const auto& [number, type] : kTypes) {
    if (type != tensor.dtype) continue;
    append_tag(message, kDataType, WireType::Varint);
    append_varint(message, static_cast<uint64_t>(number));
  }
  if (!name.empty()) append_bytes(message, kName, name);
  append_bytes(message, kRawData, {reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()});
  return message;
}

Status write_tensor_proto(const std::string& path, const std::string& name, const Tensor& tensor) {
  return write_file(path, tensor_proto_bytes(name, tensor));
}

}  // namespace dlcb::cmd
