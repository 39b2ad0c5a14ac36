// Device memory for dlcb-run itself: outputs that lie on the device are fetched, and inputs of --bench are put there
// once, so that copies are not timed. Opens libcuda, which the stub has already loaded by then.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"

namespace dlcb::cmd {

// Uses the device's primary context, as the stub does. One thread. Frees what it allocated.
class CudaMemory {
 public:
  static Result<std::unique_ptr<CudaMemory>> open(int device_index);
  CudaMemory(const CudaMemory&) = delete;
  ~CudaMemory();

  int device_index() const;
  Result<void*> allocate(size_t bytes);
  Status upload(void* to, const void* from, size_t bytes);
  Status download(void* to, const void* from, size_t bytes);
  Status synchronize();

 private:
  CudaMemory() = default;
  struct Driver;
  std::unique_ptr<Driver> driver_;
  std::vector<uint64_t> owned_;
};

}  // namespace dlcb::cmd
