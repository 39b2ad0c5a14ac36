// See matmul.h.
#include "matmul.h"

#include "compiler/base/dtype.h"

namespace dlcb::rt {
using namespace cublaslt;

namespace {

enum Activation { kNone, kRelu, kGeluTanh };  // of program.fbs; the others have no epilogue

Error unsupported(std::string why) {
  return {DLCB_MISSING_LIBRARY, "cuBLASLt does not take this matmul: " + std::move(why)};
}

int data_type(int dtype) {
  switch (DType(dtype)) {
    case DType::F32:
      return kReal32;
    case DType::F16:
      return kReal16;
    case DType::BF16:
      return kRealBf16;
    default:
      return kReal64;
  }
}

// One problem where batch entries share B and follow each other in A and C: the same product with more rows.
MatmulCall merged(MatmulCall c) {
  const bool rows_follow = !c.trans_a && c.stride_a == c.m * c.lda && c.stride_c == c.m * c.ldc;
  if (c.batch > 1 && c.stride_b == 0 && rows_follow) {
    c.m *= c.batch;
    c.batch = 1;
  }
  if (c.batch == 1) c.stride_a = c.stride_b = c.stride_c = 0;
  return c;
}

}  // namespace

Matmuls::Plan::~Plan() {
  if (desc) api.desc_destroy(desc);
  for (MatrixLayout l : {first, second, result})
    if (l) api.layout_destroy(l);
}

Matmuls::~Matmuls() {
  if (workspace_) driver_.cuMemFree(workspace_);
  if (handle_) api_->destroy(handle_);
}

Error Matmuls::failed(Status status, const char* what) const {
  const char* text = api_->status_string(status);
  if (status == kNotSupported || status == kInvalidValue)
    return unsupported(std::string(what) + ": " + (text ? text : "?"));
  return {status == kAllocFailed ? DLCB_OUT_OF_MEMORY : DLCB_DEVICE_ERROR,
          std::string("cuBLASLt: ") + what + ": " + (text ? text : std::to_string(status))};
}

Error Matmuls::open() {
  if (workspace_ || missing_) return missing_;
  if ((missing_ = open_api(&api_))) return missing_;
  if (!handle_) {
    if (const Status s = api_->create(&handle_)) return failed(s, "cublasLtCreate");
  }
  return driver_.check(driver_.cuMemAlloc(&workspace_, kWorkspaceBytes), "cuMemAlloc", "cuBLASLt's workspace");
}

Matmuls::Cache::Key Matmuls::key_of(const MatmulCall& c) {
  const int64_t flags =
      (c.trans_a ? 1 : 0) | (c.trans_b ? 2 : 0) | (c.tf32 ? 4 : 0) | (c.bias ? 8 : 0) | (c.residual ? 16 : 0);
  return {c.dtype,
          flags,
          c.activation,
          c.m,
          c.n,
          c.k,
          c.batch,
          c.lda,
          c.ldb,
          c.ldc,
          c.stride_a,
          c.stride_b,
          c.stride_c,
          alignment_of(c.a, 256),
          alignment_of(c.b, 256),
          alignment_of(c.c, 256),
          alignment_of(c.residual, 256)};
}

Error Matmuls::describe(const MatmulCall& c, Plan* plan) {
  const int type = data_type(c.dtype), scale = DType(c.dtype) == DType::F64 ? kReal64 : kReal32;
  const int compute = scale == kReal64                         ? kCompute64
                      : c.tf32 && DType(c.dtype) == DType::F32 ? kComputeTf32
                                                               : kCompute32;
  Status s = api_->desc_create(&plan->desc, compute, scale);
  auto set = [&](int attribute, auto value) {
    if (!s) s = api_->desc_set(plan->desc, attribute, &value, sizeof value);
  };
  set(kDescTransA, c.trans_b ? int32_t(kOpTranspose) : int32_t(kOpNone));
  set(kDescTransB, c.trans_a ? int32_t(kOpTranspose) : int32_t(kOpNone));
  const int activation = c.activation == kRelu ? kEpilogueRelu : c.activation == kGeluTanh ? kEpilogueGelu : 0;
  const int32_t epilogue = activation | (c.bias ? kEpilogueBias : 0);
  set(kDescEpilogue, epilogue ? epilogue : int32_t(kEpilogueDefault));
  if (c.bias) {
    set(kDescBiasPointer, c.bias);
    set(kDescBiasType, int32_t(type));
    plan->bias = c.bias;
  }
  auto layout = [&](MatrixLayout* out, int64_t rows, int64_t cols, int64_t pitch, int64_t stride) {
    if (!s) s = api_->layout_create(out, type, uint64_t(rows), uint64_t(cols), pitch);
    const auto batch = int32_t(c.batch);
    if (!s && batch > 1) s = api_->layout_set(*out, kLayoutBatchCount, &batch, sizeof batch);
    if (!s && batch > 1) s = api_->layout_set(*out, kLayoutBatchStride, &stride, sizeof stride);
  };
  layout(&plan->first, c.trans_b ? c.k : c.n, c.trans_b ? c.n : c.k, c.ldb, c.stride_b);
  layout(&plan->second, c.trans_a ? c.m : c.k, c.trans_a ? c.k : c.m, c.lda, c.stride_a);
  layout(&plan->result, c.n, c.m, c.ldc, c.stride_c);
  return s ? failed(s, "describing it") : Error{};
}

Error Matmuls::choose(const MatmulCall& c, Plan* plan) {
  Preference preference = nullptr;
  Status s = api_->preference_create(&preference);
  if (s) return failed(s, "cublasLtMatmulPreferenceCreate");
  auto set = [&](int attribute, auto value) {
    if (!s) s = api_->preference_set(preference, attribute, &value, sizeof value);
  };
  set(kPreferenceWorkspace, kWorkspaceBytes);
  set(kPreferenceAlignmentA, uint32_t(alignment_of(c.b, 256)));
  set(kPreferenceAlignmentB, uint32_t(alignment_of(c.a, 256)));
  set(kPreferenceAlignmentC, uint32_t(alignment_of(c.residual ? c.residual : c.c, 256)));
  set(kPreferenceAlignmentD, uint32_t(alignment_of(c.c, 256)));
  HeuristicResult results[4];
  int count = 0;
  if (!s)
    s = api_->heuristic(handle_, plan->desc, plan->first, plan->second, plan->result, plan->result, preference, 4,
                        results, &count);
  api_->preference_destroy(preference);
  if (s) return failed(s, "cublasLtMatmulAlgoGetHeuristic");
  for (int i = 0; i < count; ++i) {
    if (results[i].state || results[i].workspace_bytes > kWorkspaceBytes) continue;
    plan->algorithm = results[i].algorithm;
    return {};
  }
  return unsupported("no algorithm");
}

Error Matmuls::make_plan(const MatmulCall& call, Plan* plan) {
  if (Error error = describe(call, plan)) return error;
  return choose(call, plan);
}

// A sum of no terms.
Error Matmuls::clear(const MatmulCall& c, CUstream stream) {
  if (c.bias || c.residual) return unsupported("k is 0");
  const size_t size = size_of(DType(c.dtype));
  for (int64_t b = 0; b < c.batch; ++b)
    DLCB_CUDA_RETURN(driver_, cuMemsetD2D8Async, c.c + uint64_t(b * c.stride_c) * size, size_t(c.ldc) * size, 0,
                     size_t(c.n) * size, size_t(c.m), stream);
  return {};
}

Error Matmuls::run(const MatmulCall& original, CUstream stream) {
  if (original.dtype < 0 || original.dtype > int(DType::F64)) return unsupported("element type");
  if (original.activation > kGeluTanh) return unsupported("activation");
  if (original.m == 0 || original.n == 0 || original.batch == 0) return {};
  if (original.k == 0) return clear(original, stream);
  if (Error error = open()) return error;
  const MatmulCall c = merged(original);
  const Cache::Key key = key_of(c);
  Plan* plan = plans_.find(key);
  if (!plan) {
    auto made = std::make_unique<Plan>(*api_);
    made->error = make_plan(c, made.get());
    if (made->error && made->error.status != DLCB_MISSING_LIBRARY) return made->error;
    plan = plans_.insert(key, std::move(made));
  }
  if (plan->error) return plan->error;
  if (c.bias != plan->bias) {
    if (const Status s = api_->desc_set(plan->desc, kDescBiasPointer, &c.bias, sizeof c.bias))
      return failed(s, "bias pointer");
    plan->bias = c.bias;
  }
  const float alpha32 = float(c.alpha), beta32 = c.residual ? 1 : 0;
  const double alpha64 = c.alpha, beta64 = beta32;
  const bool wide = DType(c.dtype) == DType::F64;
  const void* alpha = wide ? static_cast<const void*>(&alpha64) : &alpha32;
  const void* beta = wide ? static_cast<const void*>(&beta64) : &beta32;
  auto pointer = [](Ptr p) { return reinterpret_cast<void*>(p); };
  const Status s = api_->matmul(handle_, plan->desc, alpha, pointer(c.b), plan->first, pointer(c.a), plan->second, beta,
                                pointer(c.residual ? c.residual : c.c), plan->result, pointer(c.c), plan->result,
                                &plan->algorithm, pointer(workspace_), kWorkspaceBytes, stream);
  return s ? failed(s, "cublasLtMatmul") : Error{};
}

}  // namespace dlcb::rt
