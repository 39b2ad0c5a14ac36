// What every queue over one bundle on one GPU shares: the primary context, the loaded modules and a memory pool.
#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "driver.h"

namespace dlcb::rt {

class CudaContext {
 public:
  struct Entry {
    std::string name;
    CUfunction function = nullptr;
    std::atomic<uint32_t> dynamic_shared{48 << 10};  // what the function has been allowed so far
  };

  static Error open(const DeviceConfig& config, std::shared_ptr<CudaContext>* out);
  CudaContext(const Driver& driver, CUdevice device) : driver(driver), device(device) {}
  ~CudaContext();
  CudaContext(const CudaContext&) = delete;
  CudaContext& operator=(const CudaContext&) = delete;

  const Driver& driver;
  const CUdevice device;
  CUcontext context = nullptr;
  std::string name;
  std::vector<std::unique_ptr<Entry>> entries;
  CUmemoryPool pool = nullptr;  // null where the device has no stream-ordered memory

 private:
  Error load_modules(const DeviceConfig& config);
  void make_pool(int ordinal);

  std::vector<CUmodule> modules_;
};

}  // namespace dlcb::rt
