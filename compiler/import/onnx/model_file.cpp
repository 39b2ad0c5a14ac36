#include "import/onnx/model_file.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <filesystem>

#include "import/onnx/onnx.pb.h"
#include "import/onnx/wire.h"

namespace dlcb::importer::onnx {
namespace {

using dlcb::onnx::SparseTensorProto;
using dlcb::onnx::TensorProto;

graph::Constant owned(std::vector<std::byte> bytes) {
  auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  return {{owner->data(), owner->size()}, owner};
}

// A sparse tensor is stored densely. A few bytes of file must not claim gigabytes of memory, so a dense form beyond the
// first limit must have a share of the file that befits it.
constexpr uint64_t kMaxSparseBytes = uint64_t{1} << 26, kMaxSparseGrowth = 256;

// Typed data fields hold narrower types in wider ones (bool, fp16 bits and int8 in int32_data, uint32 in uint64_data).
template <class Element, class Field>
std::vector<std::byte> narrowed(const Field& field) {
  std::vector<std::byte> bytes(field.size() * sizeof(Element));
  size_t at = 0;
  for (const auto v : field) {
    const auto e = static_cast<Element>(v);
    std::memcpy(bytes.data() + at, &e, sizeof e);
    at += sizeof e;
  }
  return bytes;
}

std::vector<std::byte> typed_payload(const TensorProto& t, DType dtype) {
  switch (dtype) {
    case DType::F32:
      return narrowed<float>(t.float_data());
    case DType::F64:
      return narrowed<double>(t.double_data());
    case DType::I64:
      return narrowed<int64_t>(t.int64_data());
    case DType::U64:
      return narrowed<uint64_t>(t.uint64_data());
    case DType::U32:
      return narrowed<uint32_t>(t.uint64_data());
    case DType::I32:
      return narrowed<int32_t>(t.int32_data());
    case DType::F16:
    case DType::BF16:
    case DType::U16:
      return narrowed<uint16_t>(t.int32_data());
    case DType::I16:
      return narrowed<int16_t>(t.int32_data());
    case DType::I8:
      return narrowed<int8_t>(t.int32_data());
    case DType::U8:
      return narrowed<uint8_t>(t.int32_data());
    case DType::Bool:
      return narrowed<bool>(t.int32_data());
  }
  return {};
}

// The byte size of a tensor; nothing when a dim is negative or the product overflows.
std::optional<uint64_t> byte_size(std::span<const int64_t> dims, DType dtype) {
  uint64_t size = size_of(dtype);
  bool empty = false;
  for (const int64_t d : dims) {
    if (d < 0) return std::nullopt;
    if (d == 0)
      empty = true;
    else if (__builtin_mul_overflow(size, static_cast<uint64_t>(d), &size))
      return std::nullopt;
  }
  if (size > uint64_t{1} << 48) return std::nullopt;
  return empty ? 0 : size;
}

std::optional<uint64_t> parse_number(const std::string& text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

Result<DType> dtype_of(int32_t data_type) {
  switch (data_type) {
    case TensorProto::FLOAT:
      return DType::F32;
    case TensorProto::FLOAT16:
      return DType::F16;
    case TensorProto::BFLOAT16:
      return DType::BF16;
    case TensorProto::DOUBLE:
      return DType::F64;
    case TensorProto::INT8:
      return DType::I8;
    case TensorProto::UINT8:
      return DType::U8;
    case TensorProto::INT16:
      return DType::I16;
    case TensorProto::UINT16:
      return DType::U16;
    case TensorProto::INT32:
      return DType::I32;
    case TensorProto::UINT32:
      return DType::U32;
    case TensorProto::INT64:
      return DType::I64;
    case TensorProto::UINT64:
      return DType::U64;
    case TensorProto::BOOL:
      return DType::Bool;
    default:
      break;
  }
  static constexpr const char* kOthers[] = {"complex64",  "complex128",     nullptr, "float8e4m3fn", "float8e4m3fnuz",
                                            "float8e5m2", "float8e5m2fnuz", "uint4", "int4",         "float4e2m1",
                                            "float8e8m0", "uint2",          "int2"};
  if (data_type == TensorProto::STRING) return diag(DiagKind::UnsupportedType, {"string"});
  if (data_type >= TensorProto::COMPLEX64 && data_type <= TensorProto::INT2)
    return diag(DiagKind::UnsupportedType, {kOthers[data_type - TensorProto::COMPLEX64]});
  return diag(DiagKind::UnsupportedType, {fmt::format("number {}", data_type)});
}

ModelFile::~ModelFile() = default;

Result<std::unique_ptr<ModelFile>> ModelFile::open(const std::string& path) {
  DLCB_ASSIGN(MappedFile mapped, MappedFile::open(path));
  std::unique_ptr<ModelFile> model(new ModelFile);
  model->path_ = path;
  model->file_ = std::make_shared<const MappedFile>(std::move(mapped));
  DLCB_ASSIGN(const std::string skeleton, skeleton_of(model->file_->bytes(), path));
  model->proto_ = std::make_unique<dlcb::onnx::ModelProto>();
  const Location where{path, "", "", ""};
  if (!model->proto_->ParseFromString(skeleton))
    return diag(DiagKind::NotAModel, {path, "its protobuf messages are damaged"}, where);
  if (!model->proto_->has_graph()) return diag(DiagKind::NotAModel, {path, "it holds no graph"}, where);
  if (model->proto_->opset_import_size() == 0 && model->proto_->ir_version() == 0)
    return diag(DiagKind::NotAModel, {path, "it has neither an IR version nor an opset"}, where);
  return model;
}

Result<graph::Constant> ModelFile::raw_payload(const TensorProto& t, const std::string& name) const {
  if (!t.has_mapped_size()) {
    const auto* begin = reinterpret_cast<const std::byte*>(t.raw_data().data());
    return owned({begin, begin + t.raw_data().size()});
  }
  if (t.mapped_offset() > file_->size() || t.mapped_size() > file_->size() - t.mapped_offset())
    return diag(DiagKind::BadTensor, {name, "lies outside the file"});
  return graph::Constant{file_->bytes().subspan(t.mapped_offset(), t.mapped_size()), file_};
}

Result<graph::Constant> ModelFile::external_payload(const TensorProto& t, const std::string& name, uint64_t bytes) {
  const auto failed = [&](std::string why) {
    return diag(DiagKind::ExternalData, {name, std::move(why)}, {path_, "", "", ""});
  };
  std::string location;
  std::optional<uint64_t> offset = 0, length;
  for (const auto& entry : t.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset" && !(offset = parse_number(entry.value()))) return failed("its offset is not a number");
    if (entry.key() == "length" && !(length = parse_number(entry.value()))) return failed("its length is not a number");
  }
  const std::filesystem::path relative(location);
  if (location.empty()) return failed("it names no file");
  if (relative.is_absolute() || location.find('\0') != std::string::npos)
    return failed("its location is not relative to the model");
  for (const auto& part : relative)
    if (part == "..") return failed(fmt::format("'{}' leaves the model's folder", location));
  auto& file = external_[location];
  if (!file) {
    const std::string full = (std::filesystem::path(path_).parent_path() / relative).string();
    auto mapped = MappedFile::open(full);
    if (!mapped) return failed(message(mapped.error()));
    file = std::make_shared<const MappedFile>(*std::move(mapped));
  }
  if (length && *length != bytes)
    return failed(fmt::format("its length is {} bytes, but its dims need {}", *length, bytes));
  if (*offset > file->size() || bytes > file->size() - *offset)
    return failed(
        fmt::format("bytes {} to {} lie outside '{}', which has {}", *offset, *offset + bytes, location, file->size()));
  return graph::Constant{file->bytes().subspan(*offset, bytes), file};
}

Result<TensorData> ModelFile::read(const TensorProto& t, const std::string& name) {
  auto dtype = dtype_of(t.data_type());
  if (!dtype) {
    dtype.error().notes.push_back({fmt::format("of tensor '{}'", name), {path_, "", "", ""}});
    return std::move(dtype.error());
  }
  TensorData out{*dtype, {t.dims().begin(), t.dims().end()}, {}};
  if (out.dims.size() > graph::kMaxRank)
    return diag(DiagKind::RankMismatch, {graph::rank_text(out.dims.size())},
                {path_, "", "", fmt::format("tensor '{}'", name)});
  const auto bytes = byte_size(out.dims, *dtype);
  if (!bytes) return diag(DiagKind::BadTensor, {name, "has dims that are negative or too large"}, {path_, "", "", ""});
  if (t.data_location() == TensorProto::EXTERNAL) {
    DLCB_ASSIGN(out.data, external_payload(t, name, *bytes));
  } else if (t.has_raw_data() || t.has_mapped_size()) {
    DLCB_ASSIGN(out.data, raw_payload(t, name));
  } else {
    out.data = owned(typed_payload(t, *dtype));
  }
  if (out.data.bytes.size() != *bytes)
    return diag(DiagKind::BadTensor,
                {name, fmt::format("has {} bytes of data, but its dims need {}", out.data.bytes.size(), *bytes)},
                {path_, "", "", ""});
  return out;
}

Result<TensorData> ModelFile::read(const SparseTensorProto& t, const std::string& name) {
  DLCB_ASSIGN(const TensorData values, read(t.values(), name));
  DLCB_ASSIGN(const TensorData indices, read(t.indices(), name));
  TensorData out{values.dtype, {t.dims().begin(), t.dims().end()}, {}};
  const auto bad = [&](const char* why) { return diag(DiagKind::BadTensor, {name, why}, {path_, "", "", ""}); };
  const auto bytes = byte_size(out.dims, out.dtype);
  if (!bytes) return bad("has dims that are negative or too large");
  if (*bytes > std::max(kMaxSparseBytes, values.data.bytes.size() * kMaxSparseGrowth))
    return bad("is sparse and would be too large when dense");
  const size_t rank = out.dims.size(), size = size_of(out.dtype), count = values.data.bytes.size() / size;
  const bool linear = indices.dims.size() == 1;
  if (indices.dtype != DType::I64 || indices.data.bytes.size() != count * 8 * (linear ? 1 : rank))
    return bad("has sparse indices of another size than its values");
  std::vector<std::byte> dense(*bytes);
  for (size_t i = 0; i < count; ++i) {
    uint64_t at = 0;
    for (size_t axis = 0; axis < (linear ? 1 : rank); ++axis) {
      int64_t index;
      std::memcpy(&index, indices.data.bytes.data() + (linear ? i : i * rank + axis) * 8, 8);
      const int64_t extent = linear ? static_cast<int64_t>(*bytes / size) : out.dims[axis];
      if (index < 0 || index >= extent) return bad("has a sparse index outside its dims");
      at = linear ? static_cast<uint64_t>(index) : at * static_cast<uint64_t>(extent) + static_cast<uint64_t>(index);
    }
    std::memcpy(dense.data() + at * size, values.data.bytes.data() + i * size, size);
  }
  out.data = owned(std::move(dense));
  return out;
}

}  // namespace dlcb::importer::onnx
