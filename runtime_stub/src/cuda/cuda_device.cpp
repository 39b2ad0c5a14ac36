// Steps on an NVIDIA GPU: launches and memory through the driver, matmul and convolution through cuBLASLt and cuDNN,
// whole shapes as CUDA graphs. Every call works on the caller's stream; NULL is the legacy default stream.
#include <cstdint>
#include <exception>
#include <memory>

#include "context.h"
#include "conv.h"
#include "matmul.h"
#include "staging.h"

namespace dlcb::rt {
namespace {

// What a queue owns on the device; destroyed with the context current.
struct Resources {
  explicit Resources(const Driver& driver) : matmuls(driver), convolutions(driver), staging(driver) {}
  Matmuls matmuls;
  Convolutions convolutions;
  Staging staging;
};

template <class F>
Error guarded(F&& f) {
  try {
    return f();
  } catch (const std::exception& e) {
    return {DLCB_INTERNAL, e.what()};
  }
}

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(std::shared_ptr<CudaContext> context)
      : context_(std::move(context)), driver_(context_->driver), resources_(std::make_unique<Resources>(driver_)) {}
  ~CudaDevice() override;

  std::string name() const override { return context_->name; }
  bool is_host_memory() const override { return false; }
  Error fork(std::shared_ptr<Device>* out) override {
    *out = std::make_shared<CudaDevice>(context_);
    return {};
  }

  Error allocate(size_t bytes, Ptr* out, void* stream) override;
  void free(Ptr p, void* stream) override;
  Error upload(Ptr to, const void* from, size_t bytes, void* stream) override;
  Error download(void* to, Ptr from, size_t bytes, void* stream) override;
  Error copy(Ptr to, Ptr from, size_t bytes, void* stream) override;
  Error synchronize(void* stream) override;
  Error launch(const LaunchCall& call, void* stream) override;
  Error matmul(const MatmulCall& call, void* stream) override;
  Error conv(const ConvCall& call, void* stream) override;

  bool supports_graphs() const override { return true; }
  Error begin_capture(void* stream) override;
  Error end_capture(void* stream, void** graph) override;
  Error replay(void* graph, void* stream) override;
  void free_graph(void* graph) override;

 private:
  // While a graph is recorded everything goes to a stream of our own: the legacy stream cannot be captured, and a
  // non-blocking one is not disturbed by what other threads do on theirs.
  CUstream target(void* stream) const { return capturing_ ? capture_stream_ : static_cast<CUstream>(stream); }
  Error allow_shared(CudaContext::Entry& entry, uint32_t bytes);

  std::shared_ptr<CudaContext> context_;
  const Driver& driver_;
  std::unique_ptr<Resources> resources_;
  CUstream capture_stream_ = nullptr;
  bool capturing_ = false;
};

CudaDevice::~CudaDevice() {
  CurrentContext current(driver_, context_->context);
  resources_.reset();
  if (capture_stream_) driver_.cuStreamDestroy(capture_stream_);
}

Error CudaDevice::allocate(size_t bytes, Ptr* out, void* stream) {
  CurrentContext current(driver_, context_->context);
  *out = 0;
  if (bytes == 0) bytes = 1;
  const CUresult r = context_->pool
                         ? driver_.cuMemAllocFromPoolAsync(out, bytes, context_->pool, static_cast<CUstream>(stream))
                         : driver_.cuMemAlloc(out, bytes);
  return r ? driver_.check(r, "allocating device memory", std::to_string(bytes) + " bytes") : Error{};
}

void CudaDevice::free(Ptr p, void* stream) {
  if (!p) return;
  CurrentContext current(driver_, context_->context);
  if (context_->pool)
    driver_.cuMemFreeAsync(p, static_cast<CUstream>(stream));
  else
    driver_.cuMemFree(p);
}

Error CudaDevice::upload(Ptr to, const void* from, size_t bytes, void* stream) {
  if (bytes == 0) return {};
  CurrentContext current(driver_, context_->context);
  if (bytes >= Staging::kWorthwhile && !capturing_)
    return resources_->staging.upload(to, from, bytes, static_cast<CUstream>(stream));
  DLCB_CUDA_RETURN(driver_, cuMemcpyHtoDAsync, to, from, bytes, target(stream));
  return {};
}

Error CudaDevice::download(void* to, Ptr from, size_t bytes, void* stream) {
  CurrentContext current(driver_, context_->context);
  if (capturing_) return {DLCB_DEVICE_ERROR, "a download cannot be part of a graph"};
  if (bytes) DLCB_CUDA_RETURN(driver_, cuMemcpyDtoHAsync, to, from, bytes, static_cast<CUstream>(stream));
  DLCB_CUDA_RETURN(driver_, cuStreamSynchronize, static_cast<CUstream>(stream));
  return {};
}

Error CudaDevice::copy(Ptr to, Ptr from, size_t bytes, void* stream) {
  if (bytes == 0) return {};
  CurrentContext current(driver_, context_->context);
  DLCB_CUDA_RETURN(driver_, cuMemcpyDtoDAsync, to, from, bytes, target(stream));
  return {};
}

Error CudaDevice::synchronize(void* stream) {
  CurrentContext current(driver_, context_->context);
  if (capturing_) return {DLCB_DEVICE_ERROR, "a wait cannot be part of a graph"};
  DLCB_CUDA_RETURN(driver_, cuStreamSynchronize, static_cast<CUstream>(stream));
  return {};
}

// Dynamic shared memory above 48 KiB must be asked for, once a function.
Error CudaDevice::allow_shared(CudaContext::Entry& entry, uint32_t bytes) {
  if (bytes <= entry.dynamic_shared.load(std::memory_order_relaxed)) return {};
  if (const CUresult r = driver_.cuFuncSetAttribute(entry.function, kFunctionMaxDynamicShared, int(bytes)))
    return driver_.check(r, "cuFuncSetAttribute",
                         entry.name + " for " + std::to_string(bytes) + " bytes of shared memory");
  entry.dynamic_shared.store(bytes, std::memory_order_relaxed);
  return {};
}

Error CudaDevice::launch(const LaunchCall& call, void* stream) {
  if (call.entry >= context_->entries.size()) return {DLCB_INTERNAL, "launch of an unknown entry"};
  if (!call.grid[0] || !call.grid[1] || !call.grid[2]) return {};
  CurrentContext current(driver_, context_->context);
  CudaContext::Entry& entry = *context_->entries[call.entry];
  if (Error error = allow_shared(entry, call.shared_bytes)) return error;
  // The driver reads each parameter's own size from its slot: values sit in the low bytes.
  constexpr size_t kMostParams = 512;
  void* params[kMostParams];
  if (call.args.size() > kMostParams) return {DLCB_INTERNAL, entry.name + " has too many parameters"};
  for (size_t i = 0; i < call.args.size(); ++i) params[i] = const_cast<uint64_t*>(&call.args[i]);
  const CUresult r =
      driver_.cuLaunchKernel(entry.function, call.grid[0], call.grid[1], call.grid[2], call.block[0], call.block[1],
                             call.block[2], call.shared_bytes, target(stream), params, nullptr);
  return r ? driver_.check(r, "cuLaunchKernel", entry.name) : Error{};
}

Error CudaDevice::matmul(const MatmulCall& call, void* stream) {
  CurrentContext current(driver_, context_->context);
  return guarded([&] { return resources_->matmuls.run(call, target(stream)); });
}

Error CudaDevice::conv(const ConvCall& call, void* stream) {
  CurrentContext current(driver_, context_->context);
  return guarded([&] { return resources_->convolutions.run(call, target(stream)); });
}

Error CudaDevice::begin_capture(void*) {
  CurrentContext current(driver_, context_->context);
  if (capturing_) return {DLCB_INTERNAL, "a graph is being recorded already"};
  if (!capture_stream_) DLCB_CUDA_RETURN(driver_, cuStreamCreate, &capture_stream_, kStreamNonBlocking);
  DLCB_CUDA_RETURN(driver_, cuStreamBeginCapture, capture_stream_, kCaptureRelaxed);
  capturing_ = true;
  return {};
}

Error CudaDevice::end_capture(void*, void** graph) {
  *graph = nullptr;
  if (!capturing_) return {DLCB_INTERNAL, "no graph is being recorded"};
  capturing_ = false;
  CurrentContext current(driver_, context_->context);
  CUgraph recorded = nullptr;
  DLCB_CUDA_RETURN(driver_, cuStreamEndCapture, capture_stream_, &recorded);
  CUgraphExec executable = nullptr;
  const CUresult r = driver_.cuGraphInstantiate(&executable, recorded, 0);
  driver_.cuGraphDestroy(recorded);
  if (r) return driver_.check(r, "cuGraphInstantiateWithFlags");
  *graph = executable;
  return {};
}

Error CudaDevice::replay(void* graph, void* stream) {
  CurrentContext current(driver_, context_->context);
  DLCB_CUDA_RETURN(driver_, cuGraphLaunch, static_cast<CUgraphExec>(graph), static_cast<CUstream>(stream));
  return {};
}

void CudaDevice::free_graph(void* graph) {
  if (!graph) return;
  CurrentContext current(driver_, context_->context);
  driver_.cuGraphExecDestroy(static_cast<CUgraphExec>(graph));
}

}  // namespace

Error open_cuda(const DeviceConfig& config, std::shared_ptr<Device>* out) {
  try {
    std::shared_ptr<CudaContext> context;
    if (Error error = CudaContext::open(config, &context)) return error;
    *out = std::make_shared<CudaDevice>(std::move(context));
    return {};
  } catch (const std::exception& e) {
    return {DLCB_INTERNAL, e.what()};
  }
}

}  // namespace dlcb::rt
