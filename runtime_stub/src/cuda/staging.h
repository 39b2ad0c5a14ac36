// Uploads of large pageable memory (weights) through two pinned buffers, so that copying into one overlaps the transfer
// of the other. One queue's; not thread-safe. The caller makes the CUDA context current.
#pragma once
#include "driver.h"

namespace dlcb::rt {

class Staging {
 public:
  explicit Staging(const Driver& driver) : driver_(driver) {}
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  // `from` may be reused on return; the transfer may still be under way on `stream`.
  Error upload(CUdeviceptr to, const void* from, size_t bytes, CUstream stream);

  static constexpr size_t kWorthwhile = 1 << 20;  // below, the driver's own path is as good

 private:
  static constexpr size_t kBufferBytes = 8 << 20;
  struct Buffer {
    void* memory = nullptr;
    CUevent done = nullptr;
  };
  Error prepare();

  const Driver& driver_;
  Buffer buffers_[2];
};

}  // namespace dlcb::rt
