// The boundary between the stub's core (dims, guards, arena, steps) and what executes steps. The core resolves
// everything for one shape into flat calls; a device only runs them. `cuda` is in the stub itself and opens libcuda,
// cuBLASLt and cuDNN on first need; `sim` is a separate shared library (libdlcb_sim.so) with one extern "C" entry
// point.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dlcb::rt {

// No exceptions cross this interface: failures are returned.
struct Error {
  int status = 0;  // dlcb_status
  std::string message;
  explicit operator bool() const { return status != 0; }
};

using Ptr = uint64_t;  // device address (host address in the simulator)

// Filled once for a shape; `args` holds one 8-byte slot per kernel parameter (32-bit values in the low half).
struct LaunchCall {
  uint32_t entry;
  uint32_t grid[3], block[3], shared_bytes;
  std::vector<uint64_t> args;
};

struct MatmulCall {             // see Matmul in program.fbs; everything resolved
  Ptr a, b, c, bias, residual;  // bias, residual: 0 when absent
  int dtype;
  int64_t m, n, k, batch, lda, ldb, ldc, stride_a, stride_b, stride_c;
  bool trans_a, trans_b, tf32;
  double alpha;
  int activation;
};

struct ConvCall {  // see Conv in program.fbs
  Ptr x, w, y, bias, residual;
  int dtype;
  int64_t n, h, wd, c, k, p, q, r, s;
  int pad[4], stride[2], dilation[2];
  int64_t groups;
  bool transposed, tf32;
  int activation;
};

// How parameters of kernels are written down: by what a mismatch would confuse.
enum ParamCode : char { kParamPointer = 'p', kParam4Bytes = '4', kParam8Bytes = '8' };

struct EntryInfo {
  std::string name;
  uint32_t module;
  uint32_t max_threads;
  bool syncs;
  std::optional<std::string> params;  // a ParamCode each; if given, a device that sees the code's own compares them
};

struct DeviceConfig {
  int device_index = 0;
  std::string sim_cache_dir;
  // Text of prelude-free CUDA C++ (sim) or cubin bytes (cuda) of a module; empty when the bundle has none for the
  // device.
  std::function<std::span<const uint8_t>(uint32_t module, std::string_view target)> module_image;
  std::vector<std::string> targets;
  std::vector<EntryInfo> entries;
  uint32_t modules = 0;
  bool uses_cublas = false, uses_cudnn = false;
};

// A stream-like queue of work. One per context and stream; not thread-safe.
class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;
  virtual bool is_host_memory() const = 0;  // sim: device memory is host memory
  // A queue of its own for another context, over the same loaded modules and the same device memory; may be called from
  // any thread. Where it returns an error, contexts take turns on this one device.
  virtual Error fork(std::shared_ptr<Device>* /*out*/) { return {9, "this device serves one queue only"}; }

  virtual Error allocate(size_t bytes, Ptr* out, void* stream) = 0;
  virtual void free(Ptr p, void* stream) = 0;
  virtual Error upload(Ptr to, const void* from, size_t bytes,
                       void* stream) = 0;  // from is pageable host memory; may return before done
  virtual Error download(void* to, Ptr from, size_t bytes, void* stream) = 0;  // waits
  virtual Error copy(Ptr to, Ptr from, size_t bytes, void* stream) = 0;        // device to device, asynchronous
  virtual Error synchronize(void* stream) = 0;

  virtual Error launch(const LaunchCall& call, void* stream) = 0;
  // Unsupported cases return status DLCB_MISSING_LIBRARY or DLCB_NO_TARGET; the core then launches the step's fallback.
  // Implementations cache descriptors, algorithms and plans by the call's sizes (not pointers).
  virtual Error matmul(const MatmulCall& call, void* stream) = 0;
  virtual Error conv(const ConvCall& call, void* stream) = 0;

  // Graphs: everything between begin and end on `stream` is recorded instead of run. 0 where not supported.
  virtual bool supports_graphs() const { return false; }
  virtual Error begin_capture(void*) { return {}; }
  virtual Error end_capture(void*, void** /*graph*/) { return {}; }
  virtual Error replay(void* /*graph*/, void* /*stream*/) { return {}; }
  virtual void free_graph(void* /*graph*/) {}
};

// Opens the device, loads every module. The config's images must outlive the device.
Error open_cuda(const DeviceConfig& config, std::shared_ptr<Device>* out);  // runtime_stub/src/cuda/
Error open_sim(
    const DeviceConfig& config,
    std::shared_ptr<Device>* out);  // dlopens libdlcb_sim.so beside the program, in ../lib, or by the loader's rules

}  // namespace dlcb::rt
