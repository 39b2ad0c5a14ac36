// See memory.h.
#include "runtime_stub/src/memory.h"

#include "bundle_format/packing.h"

namespace dlcb::rt {

Error Memory::allocate(uint64_t bytes, const std::string& what, Ptr* out, void* stream) {
  const Error full{DLCB_OUT_OF_MEMORY, "no device memory for " + what + " (" + std::to_string(bytes) + " bytes)"};
  if (!allocator_) {
    Error error = device_->allocate(bytes, out, stream);
    return error && error.status == DLCB_OUT_OF_MEMORY ? full : error;
  }
  void* pointer = allocator_->allocate(allocator_->user, bytes, stream);
  *out = reinterpret_cast<Ptr>(pointer);
  if (!pointer) return full;
  if (*out % 256 == 0) return {};
  free(*out, stream);
  *out = 0;
  return {DLCB_BAD_ARGUMENT, "the allocator returned memory that is not 256-byte aligned"};
}

void Memory::free(Ptr pointer, void* stream) {
  if (!pointer) return;
  if (allocator_)
    allocator_->free(allocator_->user, reinterpret_cast<void*>(pointer), stream);
  else
    device_->free(pointer, stream);
}

Error GrowBuffer::reserve(Memory& memory, uint64_t bytes, const std::string& what, void* stream, bool* grew) {
  if (bytes <= capacity_) return {};
  if (address_) {  // earlier work on the stream may still use it
    DLCB_RT_TRY(memory.device().synchronize(stream));
    release(memory, stream);
  }
  if (grew) *grew = true;
  uint64_t capacity = bundle::arena_capacity(bytes);
  Error error = memory.allocate(capacity, what, &address_, stream);
  if (error.status == DLCB_OUT_OF_MEMORY && capacity > bytes) {  // without the slack it may fit
    capacity = bytes;
    error = memory.allocate(capacity, what, &address_, stream);
  }
  if (error) return error;
  capacity_ = capacity;
  return {};
}

void GrowBuffer::release(Memory& memory, void* stream) {
  memory.free(address_, stream);
  address_ = 0;
  capacity_ = 0;
}

}  // namespace dlcb::rt
