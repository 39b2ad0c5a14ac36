// The simulator's device memory: host memory whose extents are known, so that a launch's reachable memory can be named.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "runtime_stub/src/device.h"

namespace dlcb::sim {

struct Extent {
  rt::Ptr begin = 0;
  size_t bytes = 0;
};

class Memory {  // thread-safe
 public:
  ~Memory();
  // 256-byte aligned, filled with 0xff (NaN in every float type): new device memory holds no zeros to rely on.
  rt::Error allocate(size_t bytes, rt::Ptr* out);
  void free(rt::Ptr p);
  // The allocations that any of these values points into, each once.
  std::vector<Extent> reachable(std::span<const uint64_t> values) const;

 private:
  mutable std::mutex mutex_;
  std::map<rt::Ptr, size_t> extents_;  // begin -> bytes
};

}  // namespace dlcb::sim
