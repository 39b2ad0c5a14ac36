// Matmul steps through cuBLASLt. Descriptors and the heuristic's choice are kept by the call's sizes. One queue's; not
// thread-safe. The caller makes the CUDA context current.
#pragma once
#include "cublaslt_api.h"
#include "lru_cache.h"

namespace dlcb::rt {

class Matmuls {
 public:
  explicit Matmuls(const Driver& driver) : driver_(driver) {}
  ~Matmuls();
  Matmuls(const Matmuls&) = delete;
  Matmuls& operator=(const Matmuls&) = delete;

  // DLCB_MISSING_LIBRARY: no cuBLASLt, or it does not take the case.
  Error run(const MatmulCall& call, CUstream stream);

 private:
  static constexpr size_t kWorkspaceBytes = 32 << 20;
  static constexpr size_t kKeySize = 20;
  // Row-major C = A B is column-major C^T = B^T A^T: cuBLASLt's first operand is our B.
  struct Plan {
    const cublaslt::Api& api;
    cublaslt::MatmulDesc desc = nullptr;
    cublaslt::MatrixLayout first = nullptr, second = nullptr, result = nullptr;
    cublaslt::Algorithm algorithm{};
    Ptr bias = 0;  // set in desc
    Error error;   // the case is unsupported: not asked for again

    explicit Plan(const cublaslt::Api& a) : api(a) {}
    ~Plan();
    Plan(const Plan&) = delete;
    Plan& operator=(const Plan&) = delete;
  };
  using Cache = LruCache<kKeySize, Plan>;

  Error open();
  static Cache::Key key_of(const MatmulCall& call);
  Error make_plan(const MatmulCall& call, Plan* plan);
  Error describe(const MatmulCall& call, Plan* plan);
  Error choose(const MatmulCall& call, Plan* plan);
  Error clear(const MatmulCall& call, CUstream stream);
  Error failed(cublaslt::Status status, const char* what) const;

  const Driver& driver_;
  const cublaslt::Api* api_ = nullptr;
  cublaslt::Handle handle_ = nullptr;
  CUdeviceptr workspace_ = 0;
  Error missing_;  // no library: not asked for again
  Cache plans_{1024};
};

}  // namespace dlcb::rt
