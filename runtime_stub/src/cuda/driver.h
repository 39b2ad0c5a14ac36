// The CUDA driver API, opened from libcuda.so.1 on first need. Values and layouts are those of the driver's stable ABI.
#pragma once
#include <cstddef>
#include <cstdint>

#include "library.h"

namespace dlcb::rt {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = uint64_t;
using CUcontext = struct CUctx_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphExec = struct CUgraphExec_st*;
using CUmemoryPool = struct CUmemPoolHandle_st*;

struct CUmemPoolProps {
  int allocation_type;  // 1: pinned
  int handle_types;
  int location_type, location_id;  // 1: device, its ordinal
  void* security_attributes;
  size_t max_size;
  unsigned char reserved[56];
};

enum : int {
  kCudaErrorInvalidValue = 1,
  kCudaErrorOutOfMemory = 2,
  kCudaErrorNoDevice = 100,
  kCudaErrorInvalidImage = 200,
  kCudaErrorNoBinaryForGpu = 209,
  kAttributeComputeMajor = 75,
  kAttributeComputeMinor = 76,
  kAttributeMemoryPools = 115,
  kFunctionMaxDynamicShared = 8,
  kPoolReleaseThreshold = 4,
  kStreamNonBlocking = 1,
  kEventDisableTiming = 2,
  kCaptureRelaxed = 2,
};

struct Driver {
#define DLCB_CUDA(NAME, SYMBOL, PARAMETERS) CUresult(*NAME) PARAMETERS = nullptr;
#define DLCB_CUDA_NEWER DLCB_CUDA
#include "driver.def"
#undef DLCB_CUDA_NEWER
#undef DLCB_CUDA

  // For open_api(). DLCB_MISSING_LIBRARY: no driver, or too old; DLCB_DEVICE_ERROR: no device.
  static constexpr const char* kFiles[] = {"libcuda.so.1", "libcuda.so"};
  template <class Find>
  void each(Find find) {
#define DLCB_CUDA(NAME, SYMBOL, PARAMETERS) find(SYMBOL, &NAME);
#define DLCB_CUDA_NEWER(NAME, SYMBOL, PARAMETERS) find(SYMBOL, &NAME, false);
#include "driver.def"
#undef DLCB_CUDA_NEWER
#undef DLCB_CUDA
  }
  Error start() const { return check(cuInit(0), "cuInit"); }

  // "cuLaunchKernel of softmax_1: invalid argument (CUDA_ERROR_INVALID_VALUE)"; no error for result 0.
  Error check(CUresult result, const char* call, const std::string& about = {}) const;
};

// Makes a context current for a scope, without work when it already is.
class CurrentContext {
 public:
  CurrentContext(const Driver& driver, CUcontext context) : driver_(driver) {
    CUcontext current = nullptr;
    driver_.cuCtxGetCurrent(&current);
    pushed_ = current != context && driver_.cuCtxPushCurrent(context) == 0;
  }
  ~CurrentContext() {
    CUcontext ignored;
    if (pushed_) driver_.cuCtxPopCurrent(&ignored);
  }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  const Driver& driver_;
  bool pushed_;
};

}  // namespace dlcb::rt

// Returns from the enclosing function when a driver call fails.
#define DLCB_CUDA_RETURN(DRIVER, NAME, ...)                                                                     \
  do {                                                                                                          \
    if (const ::dlcb::rt::CUresult result_ = (DRIVER).NAME(__VA_ARGS__)) return (DRIVER).check(result_, #NAME); \
  } while (0)
