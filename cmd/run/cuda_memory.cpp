// A handful of driver calls, found at run time; see cuda_memory.h.
#include "cmd/run/cuda_memory.h"

#include <dlfcn.h>

#include <algorithm>
#include <string>

namespace dlcb::cmd {

struct CudaMemory::Driver {
  void* library = nullptr;
  int device = 0;
  int (*init)(unsigned) = nullptr;
  int (*device_get)(int*, int) = nullptr;
  int (*retain)(void**, int) = nullptr;
  int (*release)(int) = nullptr;
  int (*set_current)(void*) = nullptr;
  int (*allocate)(uint64_t*, size_t) = nullptr;
  int (*free)(uint64_t) = nullptr;
  int (*upload)(uint64_t, const void*, size_t) = nullptr;
  int (*download)(void*, uint64_t, size_t) = nullptr;
  int (*synchronize)() = nullptr;
  int (*error_name)(int, const char**) = nullptr;

  template <class F>
  bool find(F*& function, const char* name) {
    function = reinterpret_cast<F*>(::dlsym(library, name));
    return function != nullptr;
  }
  bool find_all() {
    return find(init, "cuInit") && find(device_get, "cuDeviceGet") && find(retain, "cuDevicePrimaryCtxRetain") &&
           find(release, "cuDevicePrimaryCtxRelease_v2") && find(set_current, "cuCtxSetCurrent") &&
           find(allocate, "cuMemAlloc_v2") && find(free, "cuMemFree_v2") && find(upload, "cuMemcpyHtoD_v2") &&
           find(download, "cuMemcpyDtoH_v2") && find(synchronize, "cuCtxSynchronize") &&
           find(error_name, "cuGetErrorName");
  }
  Status check(int result, const char* what) const {
    if (result == 0) return ok();
    const char* name = "an unknown error";
    error_name(result, &name);
    return diag(DiagKind::DeviceError, {std::string(what) + " failed: " + name});
  }
};

Result<std::unique_ptr<CudaMemory>> CudaMemory::open(int device_index) {
  std::unique_ptr<CudaMemory> memory(new CudaMemory);
  auto driver = std::make_unique<Driver>();
  driver->library = ::dlopen("libcuda.so.1", RTLD_NOW);
  if (driver->library == nullptr) return diag(DiagKind::MissingLibrary, {"libcuda.so.1", ::dlerror()});
  if (!driver->find_all()) return diag(DiagKind::MissingLibrary, {"libcuda.so.1", "it is too old"});
  void* context = nullptr;
  DLCB_TRY(driver->check(driver->init(0), "cuInit"));
  DLCB_TRY(driver->check(driver->device_get(&driver->device, device_index), "cuDeviceGet"));
  DLCB_TRY(driver->check(driver->retain(&context, driver->device), "cuDevicePrimaryCtxRetain"));
  memory->driver_ = std::move(driver);
  DLCB_TRY(memory->driver_->check(memory->driver_->set_current(context), "cuCtxSetCurrent"));
  return memory;
}

CudaMemory::~CudaMemory() {
  if (driver_ == nullptr) return;
  for (uint64_t pointer : owned_) driver_->free(pointer);
  driver_->release(driver_->device);
}

int CudaMemory::device_index() const { return driver_->device; }

Result<void*> CudaMemory::allocate(size_t bytes) {
  uint64_t pointer = 0;
  DLCB_TRY(driver_->check(driver_->allocate(&pointer, std::max<size_t>(bytes, 1)), "cuMemAlloc"));
  owned_.push_back(pointer);
  return reinterpret_cast<void*>(pointer);
}

Status CudaMemory::upload(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return ok();
  return driver_->check(driver_->upload(reinterpret_cast<uint64_t>(to), from, bytes), "cuMemcpyHtoD");
}

Status CudaMemory::download(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return ok();
  return driver_->check(driver_->download(to, reinterpret_cast<uint64_t>(from), bytes), "cuMemcpyDtoH");
}

Status CudaMemory::synchronize() { return driver_->check(driver_->synchronize(), "cuCtxSynchronize"); }

}  // namespace dlcb::cmd
