// See conv.h.
#include "conv.h"

#include <algorithm>

#include "compiler/base/dtype.h"

namespace dlcb::rt {

Convolutions::~Convolutions() {
  if (handle_) api_->destroy(handle_);
  for (CUdeviceptr p : owned_) driver_.cuMemFree(p);
}

Error Convolutions::open() {
  if (handle_ || missing_) return missing_;
  if ((missing_ = open_api(&api_))) return missing_;
  if (api_->version() < 90000)
    return missing_ = {DLCB_MISSING_LIBRARY, "cuDNN 9 is needed, this one is " + std::to_string(api_->version())};
  const cudnn::Status s = api_->create(&handle_);
  return s ? conv_failure(*api_, s, "cudnnCreate") : Error{};
}

Convolutions::Cache::Key Convolutions::key_of(const ConvCall& c) {
  const int64_t flags = (c.transposed ? 1 : 0) | (c.tf32 ? 2 : 0) | (c.bias ? 4 : 0) | (c.residual ? 8 : 0);
  return {c.dtype,
          flags,
          c.activation,
          c.n,
          c.h,
          c.wd,
          c.c,
          c.k,
          c.p,
          c.q,
          c.r,
          c.s,
          c.groups,
          c.pad[0],
          c.pad[1],
          c.pad[2],
          c.pad[3],
          c.stride[0],
          c.stride[1],
          c.dilation[0],
          c.dilation[1],
          alignment_of(c.x, 16),
          alignment_of(c.w, 16),
          alignment_of(c.y, 16),
          alignment_of(c.bias, 16),
          alignment_of(c.residual, 16)};
}

Error Convolutions::grow(size_t bytes, bool zeros, CUstream stream, CUdeviceptr* pointer, size_t* have) {
  if (bytes <= *have) return {};
  const size_t rounded = std::max(bytes, *have * 2);
  CUdeviceptr fresh = 0;
  DLCB_CUDA_RETURN(driver_, cuMemAlloc, &fresh, rounded);
  owned_.push_back(fresh);
  if (zeros) DLCB_CUDA_RETURN(driver_, cuMemsetD2D8Async, fresh, rounded, 0, rounded, 1, stream);
  *pointer = fresh;
  *have = rounded;
  return {};
}

Error Convolutions::bind(Entry* entry, const ConvCall& call) {
  std::vector<void*> pointers = entry->plan.pointers(call);
  pointers.push_back(reinterpret_cast<void*>(workspace_));
  if (pointers == entry->bound) return {};
  const int64_t count = int64_t(pointers.size()) - 1;
  cudnn::Descriptor pack(*api_, cudnn::Kind::VariantPack);
  pack.set(cudnn::kPackPointers, cudnn::Type::VoidPtr, count, pointers.data());
  pack.set(cudnn::kPackIds, entry->plan.ids);
  pack.set(cudnn::kPackWorkspace, cudnn::Type::VoidPtr, 1, &pointers.back());
  if (const cudnn::Status s = pack.finalize()) return conv_failure(*api_, s, "binding a convolution's tensors");
  entry->pack = std::move(pack);
  entry->bound = std::move(pointers);
  return {};
}

Error Convolutions::run(const ConvCall& original, CUstream stream) {
  if (original.n == 0 || original.p == 0 || original.q == 0 || original.k == 0) return {};
  if (Error error = open()) return error;
  const Cache::Key key = key_of(original);
  Entry* entry = plans_.find(key);
  if (!entry) {
    auto made = std::make_unique<Entry>();
    made->error = build_conv_plan({api_, handle_, nullptr}, original, &made->plan);
    if (made->error && made->error.status != DLCB_MISSING_LIBRARY) return made->error;
    entry = plans_.insert(key, std::move(made));
  }
  if (entry->error) return entry->error;

  ConvCall call = original;
  if (Error error = grow(size_t(entry->plan.workspace_bytes), false, stream, &workspace_, &workspace_bytes_))
    return error;
  if (entry->plan.zero_bias) {
    const size_t bytes = size_t(call.k) * size_of(DType(call.dtype));
    if (Error error = grow(bytes, true, stream, &zeros_, &zero_bytes_)) return error;
    call.bias = zeros_;
  }
  if (Error error = bind(entry, call)) return error;
  if (!stream_set_ || stream != stream_) {
    if (const cudnn::Status s = api_->set_stream(handle_, stream)) return conv_failure(*api_, s, "cudnnSetStream");
    stream_ = stream;
    stream_set_ = true;
  }
  const cudnn::Status s = api_->execute(handle_, entry->plan.plan.raw(), entry->pack.raw());
  return s ? conv_failure(*api_, s, "cudnnBackendExecute") : Error{};
}

}  // namespace dlcb::rt
