// See staging.h.
#include "staging.h"

#include <algorithm>
#include <cstring>

namespace dlcb::rt {

Staging::~Staging() {
  for (Buffer& b : buffers_) {
    if (b.done) {
      driver_.cuEventSynchronize(b.done);
      driver_.cuEventDestroy(b.done);
    }
    if (b.memory) driver_.cuMemFreeHost(b.memory);
  }
}

Error Staging::prepare() {
  for (Buffer& b : buffers_) {
    if (!b.memory) DLCB_CUDA_RETURN(driver_, cuMemHostAlloc, &b.memory, kBufferBytes, 0);
    if (!b.done) DLCB_CUDA_RETURN(driver_, cuEventCreate, &b.done, kEventDisableTiming);
  }
  return {};
}

Error Staging::upload(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  if (Error error = prepare()) return error;
  const char* source = static_cast<const char*>(from);
  for (size_t at = 0, turn = 0; at < bytes; at += kBufferBytes, turn ^= 1) {
    Buffer& b = buffers_[turn];
    const size_t part = std::min(kBufferBytes, bytes - at);
    DLCB_CUDA_RETURN(driver_, cuEventSynchronize, b.done);  // its last transfer; at once when there was none
    std::memcpy(b.memory, source + at, part);
    DLCB_CUDA_RETURN(driver_, cuMemcpyHtoDAsync, to + at, b.memory, part, stream);
    DLCB_CUDA_RETURN(driver_, cuEventRecord, b.done, stream);
  }
  return {};
}

}  // namespace dlcb::rt
