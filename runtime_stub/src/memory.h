// Device memory from the caller's allocator, or from the device where there is none.
#pragma once
#include <cstdint>
#include <string>

#include "dlcb.h"
#include "runtime_stub/src/device.h"

#define DLCB_RT_TRY(expr)                         \
  do {                                            \
    if (::dlcb::rt::Error e_ = (expr)) return e_; \
  } while (0)

namespace dlcb::rt {

// Not owning: device and allocator outlive it. As thread-safe as the allocator and the device.
class Memory {
 public:
  Memory(Device& device, const dlcb_allocator* allocator) : device_(&device), allocator_(allocator) {}
  // 256-byte aligned. `what` names the use in messages ("the arena").
  Error allocate(uint64_t bytes, const std::string& what, Ptr* out, void* stream);
  void free(Ptr pointer, void* stream);
  Device& device() const { return *device_; }

 private:
  Device* device_;
  const dlcb_allocator* allocator_;
};

// Memory that grows and never shrinks; its content is lost when it grows. Must be released before its Memory dies.
class GrowBuffer {
 public:
  // *grew, if given, is set (not cleared) when the address changed.
  Error reserve(Memory& memory, uint64_t bytes, const std::string& what, void* stream, bool* grew = nullptr);
  void release(Memory& memory, void* stream);
  Ptr address() const { return address_; }
  uint64_t capacity() const { return capacity_; }

 private:
  Ptr address_ = 0;
  uint64_t capacity_ = 0;
};

}  // namespace dlcb::rt
