// See tensor.h.
#include "runtime_stub/src/tensor.h"

#include <cstring>

#include "base/dtype.h"

namespace dlcb::rt {
namespace {

constexpr uint64_t kTooMuch = uint64_t{1} << 62;

template <class T>
T load(const void* data, uint64_t index) {
  T value;
  std::memcpy(&value, static_cast<const uint8_t*>(data) + index * sizeof(T), sizeof value);
  return value;
}

}  // namespace

DLDataType to_dlpack(uint8_t dtype) {
  const DType t = static_cast<DType>(dtype);
  const uint8_t bits = static_cast<uint8_t>(8 * size_of(t));
  if (t == DType::BF16) return {kDLBfloat, bits, 1};
  if (t == DType::Bool) return {kDLBool, bits, 1};
  if (is_float(t)) return {kDLFloat, bits, 1};
  const bool is_signed = t == DType::I8 || t == DType::I16 || t == DType::I32 || t == DType::I64;
  return {static_cast<uint8_t>(is_signed ? kDLInt : kDLUInt), bits, 1};
}

uint64_t element_size(uint8_t dtype) { return size_of(static_cast<DType>(dtype)); }

std::string dtype_name(DLDataType type) {
  for (uint8_t t = 0; t <= static_cast<uint8_t>(DType::Bool); ++t) {
    const DLDataType known = to_dlpack(t);
    if (known.code == type.code && known.bits == type.bits && type.lanes == 1)
      return std::string(name_of(static_cast<DType>(t)));
  }
  return "DLPack type code " + std::to_string(type.code) + " with " + std::to_string(type.bits) + " bits and " +
         std::to_string(type.lanes) + " lanes";
}

std::optional<uint64_t> byte_size(std::span<const int64_t> dims, uint64_t element_bytes) {
  uint64_t size = element_bytes;
  bool empty = false;
  for (int64_t d : dims) {
    if (d < 0) return std::nullopt;
    empty = empty || d == 0;
  }
  if (empty) return 0;
  for (int64_t d : dims) {
    if (static_cast<uint64_t>(d) > kTooMuch / size) return std::nullopt;
    size *= static_cast<uint64_t>(d);
  }
  return size;
}

bool is_compact(const DLTensor& t) {
  if (!t.strides) return true;
  if (byte_size(dims_of(t), 1) == uint64_t{0}) return true;
  int64_t expected = 1;
  for (int32_t d = t.ndim - 1; d >= 0; --d) {
    if (t.shape[d] != 1 && t.strides[d] != expected) return false;
    expected *= t.shape[d];  // cannot overflow: byte_size was checked before
  }
  return true;
}

std::string text_of(std::span<const int64_t> dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i ? ", " : "") + std::to_string(dims[i]);
  return text + "]";
}

int64_t integer_at(const void* data, uint8_t dtype, uint64_t index) {
  switch (static_cast<DType>(dtype)) {
    case DType::I8:
      return load<int8_t>(data, index);
    case DType::U8:
      return load<uint8_t>(data, index);
    case DType::I16:
      return load<int16_t>(data, index);
    case DType::U16:
      return load<uint16_t>(data, index);
    case DType::I32:
      return load<int32_t>(data, index);
    case DType::U32:
      return load<uint32_t>(data, index);
    case DType::I64:
    case DType::U64:
      return load<int64_t>(data, index);
    case DType::Bool:
      return load<uint8_t>(data, index) != 0;
    default:
      return 0;
  }
}

int64_t element_as_int(const void* data, uint8_t dtype) {
  switch (static_cast<DType>(dtype)) {
    case DType::F32:
      return load<float>(data, 0) != 0;
    case DType::F64:
      return load<double>(data, 0) != 0;
    case DType::F16:
    case DType::BF16:
      return (load<uint16_t>(data, 0) & 0x7fff) != 0;  // all bits but the sign
    default:
      return integer_at(data, dtype, 0);
  }
}

Error place_of(const DLTensor& t, const Device& device, int device_index, Place* out) {
  const bool host = t.device.device_type == kDLCPU || t.device.device_type == kDLCUDAHost;
  const bool cuda = t.device.device_type == kDLCUDA || t.device.device_type == kDLCUDAManaged;
  *out = host && !device.is_host_memory() ? Place::Staged : Place::Direct;
  if (host) return {};
  if (!cuda || device.is_host_memory())
    return {DLCB_BAD_ARGUMENT, " is in memory of DLPack device type " + std::to_string(t.device.device_type) +
                                   ", which " + device.name() + " cannot use"};
  if (t.device.device_type == kDLCUDA && t.device.device_id != device_index)
    return {DLCB_BAD_ARGUMENT, " is on CUDA device " + std::to_string(t.device.device_id) +
                                   ", but the model was loaded on " + std::to_string(device_index)};
  return {};
}

}  // namespace dlcb::rt
