// What a cubin says of its kernels: registers, memory, size. Read from the ELF file itself, so no tool and no device is
// needed; tests hold generated kernels to it (no stack frame, no more instructions than with literal sizes).
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace dlcb::cuda {

struct KernelInfo {
  std::string name;
  uint32_t registers = 0;
  uint32_t shared_bytes = 0;  // static, without what the system reserves
  uint32_t stack_bytes = 0;   // local memory a thread
  uint32_t instructions = 0;  // padding included
  uint32_t max_threads = 0;   // of the launch bounds; 0 if unbounded
  bool has_calls = false;     // calls a subroutine (division, square root, ...)
};

// Kernels sorted by name. KernelCompilation if the bytes are no cubin that we understand.
Result<std::vector<KernelInfo>> read_cubin(std::span<const std::byte> cubin);

}  // namespace dlcb::cuda
