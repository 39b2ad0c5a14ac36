// The caller's DLPack tensors: what they say, whether it can be used, and where the bytes are.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "dlcb.h"
#include "runtime_stub/src/device.h"

namespace dlcb::rt {

// Numbers of compiler/base/dtype.h, as stored in bundles.
DLDataType to_dlpack(uint8_t dtype);
uint64_t element_size(uint8_t dtype);
std::string dtype_name(DLDataType type);  // "f32", or "code 3, 16 bits" for what we have no name for

// Bytes of a compact tensor; nothing when a dim is negative or the size exceeds 2^62.
std::optional<uint64_t> byte_size(std::span<const int64_t> dims, uint64_t element_bytes);
// Strides absent, or those of row-major order (dims of extent 1 and empty tensors are free).
bool is_compact(const DLTensor& tensor);
std::string text_of(std::span<const int64_t> dims);  // "[2, 3]"

inline std::span<const int64_t> dims_of(const DLTensor& t) { return {t.shape, static_cast<size_t>(t.ndim)}; }
inline uint64_t address_of(const DLTensor& t) {
  return t.data ? reinterpret_cast<uint64_t>(t.data) + t.byte_offset : 0;
}

// Bytes behind a tensor whose dims were checked; 0 without data.
inline uint64_t given_bytes(const DLTensor& t) {
  return t.data ? byte_size(dims_of(t), t.dtype.bits / 8).value_or(0) : 0;
}
inline bool overlap(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes) {
  return a_bytes > 0 && b_bytes > 0 && a < b + b_bytes && b < a + a_bytes;
}

// `value`-th integer or bool element of a tensor in host memory.
int64_t integer_at(const void* data, uint8_t dtype, uint64_t index);
// An element as the host program sees it: integers as they are, floats as 0 or 1 (not equal to zero).
int64_t element_as_int(const void* data, uint8_t dtype);

enum class Place { Direct, Staged };  // used where it is, or copied through device memory of ours
// Refuses memory that the device cannot see; the message wants the tensor's name in front ("input 'x'").
Error place_of(const DLTensor& tensor, const Device& device, int device_index, Place* out);

}  // namespace dlcb::rt
