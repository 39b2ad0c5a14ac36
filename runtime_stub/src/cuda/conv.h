// Convolution steps through cuDNN: plans by size, the workspace, and execution. One queue's; not thread-safe. The
// caller makes the CUDA context current.
#pragma once
#include "conv_plan.h"
#include "lru_cache.h"

namespace dlcb::rt {

class Convolutions {
 public:
  explicit Convolutions(const Driver& driver) : driver_(driver) {}
  ~Convolutions();
  Convolutions(const Convolutions&) = delete;
  Convolutions& operator=(const Convolutions&) = delete;

  // DLCB_MISSING_LIBRARY: no cuDNN 9, or it does not take the case.
  Error run(const ConvCall& call, CUstream stream);

 private:
  static constexpr size_t kKeySize = 31;
  struct Entry {
    ConvPlan plan;
    Error error;  // the case is unsupported: not asked for again
    cudnn::Descriptor pack;
    std::vector<void*> bound;  // the pointers in `pack`, the workspace last
  };
  using Cache = LruCache<kKeySize, Entry>;

  Error open();
  static Cache::Key key_of(const ConvCall& call);
  // Zeroed where `zeros`. Grows by allocating anew: captured graphs may refer to what there was, so nothing is freed
  // before the end.
  Error grow(size_t bytes, bool zeros, CUstream stream, CUdeviceptr* pointer, size_t* have);
  Error bind(Entry* entry, const ConvCall& call);

  const Driver& driver_;
  const cudnn::Api* api_ = nullptr;
  cudnn::Handle handle_ = nullptr;
  CUstream stream_ = nullptr;
  Error missing_;  // no library: not asked for again
  bool stream_set_ = false;
  CUdeviceptr workspace_ = 0, zeros_ = 0;
  size_t workspace_bytes_ = 0, zero_bytes_ = 0;
  std::vector<CUdeviceptr> owned_;
  Cache plans_{512};
};

}  // namespace dlcb::rt
