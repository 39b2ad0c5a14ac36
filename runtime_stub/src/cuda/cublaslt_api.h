// The part of the cuBLASLt API in use (versions 12 and 13 agree on it): opaque handles, enum values, functions.
#pragma once
#include <cstddef>
#include <cstdint>

#include "driver.h"

namespace dlcb::rt::cublaslt {

using Status = int;  // 0: success
using Handle = struct HandleOpaque*;
using MatmulDesc = struct MatmulDescOpaque*;
using MatrixLayout = struct MatrixLayoutOpaque*;
using Preference = struct PreferenceOpaque*;

struct Algorithm {
  uint64_t data[8];
};
struct HeuristicResult {
  Algorithm algorithm;
  size_t workspace_bytes;
  Status state;
  float waves;
  int reserved[4];
};

enum : int {
  // cublasStatus_t
  kAllocFailed = 3,
  kInvalidValue = 7,
  kNotSupported = 15,
  // cudaDataType_t
  kReal32 = 0,
  kReal64 = 1,
  kReal16 = 2,
  kRealBf16 = 14,
  // cublasComputeType_t
  kCompute32 = 68,
  kCompute64 = 70,
  kComputeTf32 = 77,
  // cublasOperation_t
  kOpNone = 0,
  kOpTranspose = 1,
  // cublasLtMatrixLayoutAttribute_t
  kLayoutBatchCount = 5,
  kLayoutBatchStride = 6,
  // cublasLtMatmulDescAttributes_t
  kDescTransA = 3,
  kDescTransB = 4,
  kDescEpilogue = 7,
  kDescBiasPointer = 8,
  kDescBiasType = 26,
  // cublasLtMatmulPreferenceAttributes_t
  kPreferenceWorkspace = 1,
  kPreferenceAlignmentA = 5,
  kPreferenceAlignmentB = 6,
  kPreferenceAlignmentC = 7,
  kPreferenceAlignmentD = 8,
  // cublasLtEpilogue_t
  kEpilogueDefault = 1,
  kEpilogueRelu = 2,
  kEpilogueBias = 4,
  kEpilogueGelu = 32,
};

struct Api {
  Status (*create)(Handle*);
  Status (*destroy)(Handle);
  const char* (*status_string)(Status);
  Status (*desc_create)(MatmulDesc*, int compute_type, int scale_type);
  Status (*desc_destroy)(MatmulDesc);
  Status (*desc_set)(MatmulDesc, int attribute, const void* value, size_t bytes);
  Status (*layout_create)(MatrixLayout*, int type, uint64_t rows, uint64_t cols, int64_t ld);
  Status (*layout_destroy)(MatrixLayout);
  Status (*layout_set)(MatrixLayout, int attribute, const void* value, size_t bytes);
  Status (*preference_create)(Preference*);
  Status (*preference_destroy)(Preference);
  Status (*preference_set)(Preference, int attribute, const void* value, size_t bytes);
  Status (*heuristic)(Handle, MatmulDesc, MatrixLayout a, MatrixLayout b, MatrixLayout c, MatrixLayout d, Preference,
                      int requested, HeuristicResult* results, int* count);
  Status (*matmul)(Handle, MatmulDesc, const void* alpha, const void* a, MatrixLayout, const void* b, MatrixLayout,
                   const void* beta, const void* c, MatrixLayout, void* d, MatrixLayout, const Algorithm*,
                   void* workspace, size_t workspace_bytes, CUstream);

  static constexpr const char* kFiles[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"};
  template <class Find>
  void each(Find find) {
    find("cublasLtCreate", &create);
    find("cublasLtDestroy", &destroy);
    find("cublasLtGetStatusString", &status_string);
    find("cublasLtMatmulDescCreate", &desc_create);
    find("cublasLtMatmulDescDestroy", &desc_destroy);
    find("cublasLtMatmulDescSetAttribute", &desc_set);
    find("cublasLtMatrixLayoutCreate", &layout_create);
    find("cublasLtMatrixLayoutDestroy", &layout_destroy);
    find("cublasLtMatrixLayoutSetAttribute", &layout_set);
    find("cublasLtMatmulPreferenceCreate", &preference_create);
    find("cublasLtMatmulPreferenceDestroy", &preference_destroy);
    find("cublasLtMatmulPreferenceSetAttribute", &preference_set);
    find("cublasLtMatmulAlgoGetHeuristic", &heuristic);
    find("cublasLtMatmul", &matmul);
  }
};

}  // namespace dlcb::rt::cublaslt
