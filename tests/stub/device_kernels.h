// Kernel texts that the simulator's tests run and the NVRTC test compiles: the two preludes must accept the same words.
#pragma once

namespace dlcb::testing {

// Uses every name of the kernel prelude once (compiler/kernel/README.md).
inline const char kEveryName[] = R"(
DLCB_KERNEL(every_float, 32)(const float* x, float* y, i32 n) {
  i32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i], r = 0;
  r += expf_(v); r += logf_(v); r += sqrtf_(v); r += rsqrtf_(v); r += erff_(v); r += tanhf_(v);
  r += sinf_(v); r += cosf_(v); r += tanf_(v); r += asinf_(v); r += acosf_(v); r += atanf_(v);
  r += sinhf_(v); r += coshf_(v); r += asinhf_(v); r += acoshf_(v); r += atanhf_(v);
  r += powf_(v, v); r += fmodf_(v, 2.f); r += floorf_(v); r += ceilf_(v); r += rintf_(v); r += fabsf_(v);
  r += fmaf_(v, v, v); r += fmaxf_nan(v, 1.f); r += fminf_nan(v, 1.f);
  if (isnanf_(r) || isinff_(r)) r = 0;
  y[i] = r;
}
DLCB_EXPORT(every_float, 0)
DLCB_KERNEL(every_double, 32)(const double* x, double* y, i64 n) {
  i64 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double v = x[i], r = 0;
  r += d_expf_(v); r += d_logf_(v); r += d_sqrtf_(v); r += d_rsqrtf_(v); r += d_erff_(v); r += d_tanhf_(v);
  r += d_sinf_(v); r += d_cosf_(v); r += d_tanf_(v); r += d_asinf_(v); r += d_acosf_(v); r += d_atanf_(v);
  r += d_sinhf_(v); r += d_coshf_(v); r += d_asinhf_(v); r += d_acoshf_(v); r += d_atanhf_(v);
  r += d_powf_(v, v); r += d_fmodf_(v, 2.); r += d_floorf_(v); r += d_ceilf_(v); r += d_rintf_(v); r += d_fabsf_(v);
  r += d_fmaf_(v, v, v); r += d_fmaxf_nan(v, 1.); r += d_fminf_nan(v, 1.);
  if (d_isnanf_(r) || d_isinff_(r)) r = 0;
  y[i] = r;
}
DLCB_EXPORT(every_double, 0)
DLCB_KERNEL(every_vector, 32)(const u16* x, u16* y, u32 mul, u32 shift) {
  u32 i = mdiv(threadIdx.x, mul, shift) * 8;
  Pack<u16, 8> p = ldp<u16, 8>(x + i);
  for (int j = 0; j < 4; ++j) p.v[j] = f2h(h2f(p.v[j]) + 1.f);
  for (int j = 4; j < 8; ++j) p.v[j] = f2b(b2f(p.v[j]) + 1.f);
  stp<u16, 8>(y + i, p);
  stv(y + 8, ldv<V16>(x + 8));
  stv(y + 16, ldv<V8>(x + 16));
  stv(y + 20, ldv<V4>(x + 20));
  stv(y + 22, ldv<V2>(x + 22));
}
DLCB_EXPORT(every_vector, 0)
DLCB_KERNEL(every_warp, 32)(const i64* x, i64* y, i8 small) {
  DLCB_DYNAMIC_SHARED(i64, d);
  __shared__ i64 s[32];
  u32 t = threadIdx.x;
  s[t] = shfl_xor(x[t], 1);
  d[t] = shfl(i32(x[t]), 3) + shfl(small, 0) + shfl(u16(t), 2);
  __syncthreads();
  y[t] = s[31 - t] + d[31 - t] + i64(shfl_xor(float(t), 16)) + i64(shfl(double(t), 5));
}
DLCB_EXPORT(every_warp, 1)
)";

inline const char kReductions[] = R"(
// Sum of a row of n floats by one block, with every thread getting it; threads beyond `keep` leave before the last barrier.
DLCB_KERNEL(row_sum, 1024)(const float* x, float* y, i32 n, i32 keep) {
  __shared__ float warps[32];
  const float* row = x + blockIdx.x * n;
  for (int round = 0; round < 3; ++round) {
    float sum = 0;
    for (i32 i = threadIdx.x; i < n; i += blockDim.x) sum += row[i];
    for (int m = 16; m > 0; m >>= 1) sum += shfl_xor(sum, m);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
    __syncthreads();
    float total = 0;
    for (u32 w = 0; w < blockDim.x / 32; ++w) total += warps[w];
    __syncthreads();
    if (round == 2) {
      if (threadIdx.x >= keep) return;
      warps[0] = total;
      __syncthreads();
      y[blockIdx.x * keep + threadIdx.x] = total;
    }
  }
}
DLCB_EXPORT(row_sum, 1)
DLCB_KERNEL(reverse3, 512)(const i32* x, i32* y, u32 n) {
  DLCB_DYNAMIC_SHARED(i32, s);
  u32 t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  u32 b = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  s[t] = x[b * n + t];
  __syncthreads();
  y[b * n + t] = s[n - 1 - t];
}
DLCB_EXPORT(reverse3, 1)
DLCB_KERNEL(stack_alignment, 64)(u64* y) {
  V16 local;
  volatile u64 address = (u64)&local;  // volatile: not folded to what the compiler assumes
  __syncthreads();
  y[threadIdx.x] = address % 16;
}
DLCB_EXPORT(stack_alignment, 1)
)";

inline const char kConversions[] = R"(
DLCB_KERNEL(widen, 256)(const u16* x, float* h, float* b) {
  u32 i = blockIdx.x * 256 + threadIdx.x;
  h[i] = h2f(x[i]);
  b[i] = b2f(x[i]);
}
DLCB_EXPORT(widen, 0)
DLCB_KERNEL(narrow, 256)(const float* x, u16* h, u16* b) {
  u32 i = blockIdx.x * 256 + threadIdx.x;
  h[i] = f2h(x[i]);
  b[i] = f2b(x[i]);
}
DLCB_EXPORT(narrow, 0)
)";

// Each is wrong in a way that a GPU need not show.
inline const char kFaulty[] = R"(
DLCB_KERNEL(no_barrier, 64)(const i32* x, i32* y) {
  __shared__ i32 s[64];
  s[threadIdx.x] = x[threadIdx.x];
  i32 v = shfl(0, 0);
  y[threadIdx.x] = s[63 - threadIdx.x] + v;
}
DLCB_EXPORT(no_barrier, 1)
DLCB_KERNEL(one_place, 64)(i32* y) { y[0] = threadIdx.x; }
DLCB_EXPORT(one_place, 0)
DLCB_KERNEL(deadlock, 32)(i32* y) {
  if (threadIdx.x < 16) __syncthreads(); else y[0] = shfl(1, 0);
}
DLCB_EXPORT(deadlock, 1)
DLCB_KERNEL(two_barriers, 32)(i32* y) {
  if (threadIdx.x < 16) {
    __syncthreads();
  } else {
    __syncthreads();
  }
  y[0] = 1;
}
DLCB_EXPORT(two_barriers, 1)
DLCB_KERNEL(undeclared, 32)(i32* y) { __syncthreads(); y[0] = 1; }
DLCB_EXPORT(undeclared, 0)
)";

}  // namespace dlcb::testing
