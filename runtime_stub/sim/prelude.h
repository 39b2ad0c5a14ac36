// The names generated kernels are written against (compiler/kernel/README.md), for the host compiler. Modules are
// compiled as abi.h + half.h + this text + kernels. No system header: glibc and CUDA disagree on names, and headers
// dominate compile time.
#ifndef DLCB_SIM_ABI_H_
#include "abi.h"
#include "half.h"
#endif
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;

#define DLCB_DEVICE static inline __attribute__((always_inline, unused))

// ---- the CUDA subset ----
static thread_local dlcb_sim_block* dlcb_sim_current;
#define threadIdx (dlcb_sim_current->thread)
#define blockIdx (dlcb_sim_current->block)
#define blockDim (dlcb_sim_current->block_dim)
#define gridDim (dlcb_sim_current->grid_dim)
#define __syncthreads() dlcb_sim_current->sync_threads(dlcb_sim_current, __LINE__)
// Shared by the fibers of a block since they run on one OS thread; thread_local in a function implies static.
#define __shared__ thread_local
#define __restrict__ __restrict
#define __device__
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(N) __attribute__((aligned(N)))

#define DLCB_DYNAMIC_SHARED(T, NAME) T* const NAME = static_cast<T*>(dlcb_sim_current->shared)
#define DLCB_KERNEL(NAME, THREADS) static void NAME
#define DLCB_EXPORT(NAME, SYNCS)                                                                     \
  extern "C" __attribute__((visibility("default"))) const dlcb_sim_kernel dlcb_sim_kernel_##NAME = { \
      dlcb_sim_entry<decltype(&NAME), &NAME, bool(SYNCS)>::run, bool(SYNCS),                         \
      dlcb_sim_entry<decltype(&NAME), &NAME, bool(SYNCS)>::params};

// One 8-byte slot per parameter, smaller values in its low bytes (little-endian hosts only, like the device).
template <class T>
DLCB_DEVICE T dlcb_sim_argument(const u64& slot) {
  T value;
  __builtin_memcpy(&value, &slot, sizeof(T));
  return value;
}
// 0 .. N - 1 as a pack, made by the compiler: a template that recurs N times would limit how many parameters there are.
template <class T, T... I>
struct dlcb_sim_indices {};
#ifdef __clang__
template <u64 N>
using dlcb_sim_make_indices = __make_integer_seq<dlcb_sim_indices, u64, N>;
#else
template <u64 N>
using dlcb_sim_make_indices = dlcb_sim_indices<u64, __integer_pack(N)...>;
#endif
template <class... P>
struct dlcb_sim_call {
  template <void (*F)(P...), u64... I>
  DLCB_DEVICE void apply(const u64* args, dlcb_sim_indices<u64, I...>) {
    F(dlcb_sim_argument<P>(args[I])...);
  }
};
template <class T>
struct dlcb_sim_param {
  static constexpr char code = '0' + sizeof(T);
};
template <class T>
struct dlcb_sim_param<T*> {
  static constexpr char code = 'p';
};
template <class Pointer, Pointer F, bool SYNCS>
struct dlcb_sim_entry;
template <class... P, void (*F)(P...), bool SYNCS>
struct dlcb_sim_entry<void (*)(P...), F, SYNCS> {
  static constexpr char params[] = {dlcb_sim_param<P>::code..., '\0'};
  static void call(const u64* args) {
    dlcb_sim_call<P...>::template apply<F>(args, dlcb_sim_make_indices<sizeof...(P)>());
  }
  static void run(dlcb_sim_block* b, const u64* args) {
    dlcb_sim_current = b;
    if (SYNCS) return call(args);
    const u32 nx = b->block_dim.x, ny = b->block_dim.y, n = nx * ny * b->block_dim.z;
    for (u32 i = 0; i < n; ++i) {
      const u32 t = b->reversed ? n - 1 - i : i;
      b->thread.x = t % nx;
      b->thread.y = t / nx % ny;
      b->thread.z = t / nx / ny;
      call(args);
    }
  }
};

// ---- halves ----
DLCB_DEVICE float h2f(u16 v) { return dlcb_sim_h2f(v); }
DLCB_DEVICE u16 f2h(float v) { return dlcb_sim_f2h(v); }
DLCB_DEVICE float b2f(u16 v) { return dlcb_sim_b2f(v); }
DLCB_DEVICE u16 f2b(float v) { return dlcb_sim_f2b(v); }

DLCB_DEVICE u32 mdiv(u32 n, u32 mul, u32 shift) { return (u32(u64(n) * mul >> 32) + n) >> shift; }
DLCB_DEVICE i32 advance(i32 at, i32 by) { return at + by; }

// ---- vectors ----
// may_alias: the same memory is read as elements and as vectors.
struct __attribute__((aligned(2), may_alias)) V2 {
  u16 w;
};
struct __attribute__((aligned(4), may_alias)) V4 {
  u32 w;
};
struct __attribute__((aligned(8), may_alias)) V8 {
  u32 w[2];
};
struct __attribute__((aligned(16), may_alias)) V16 {
  u32 w[4];
};
template <class V>
DLCB_DEVICE V ldv(const void* p) {
  return *static_cast<const V*>(p);
}
template <class V>
DLCB_DEVICE void stv(void* p, V v) {
  *static_cast<V*>(p) = v;
}
template <class T, int N>
struct __attribute__((aligned(sizeof(T) * N), may_alias)) Pack {
  T v[N];
};
template <class T, int N>
DLCB_DEVICE Pack<T, N> ldp(const T* p) {
  return *reinterpret_cast<const Pack<T, N>*>(p);
}
template <class T, int N>
DLCB_DEVICE void stp(T* p, Pack<T, N> v) {
  *reinterpret_cast<Pack<T, N>*>(p) = v;
}

// ---- warp ----
template <class T>
DLCB_DEVICE T dlcb_sim_shuffle(T v, u32 operand, bool is_xor) {
  static_assert(sizeof(T) <= 8, "shuffles move at most 8 bytes");
  u64 bits = 0;
  __builtin_memcpy(&bits, &v, sizeof(T));
  bits = dlcb_sim_current->shuffle(dlcb_sim_current, bits, operand, is_xor);
  __builtin_memcpy(&v, &bits, sizeof(T));
  return v;
}
template <class T>
DLCB_DEVICE T shfl_xor(T v, int mask) {
  return dlcb_sim_shuffle(v, u32(mask), true);
}
template <class T>
DLCB_DEVICE T shfl(T v, int lane) {
  return dlcb_sim_shuffle(v, u32(lane), false);
}

// ---- math ----
#define DLCB_MATH1(NAME)                                     \
  extern "C" float NAME##f(float) noexcept;                  \
  extern "C" double NAME(double) noexcept;                   \
  DLCB_DEVICE float NAME##f_(float x) { return NAME##f(x); } \
  DLCB_DEVICE double d_##NAME##f_(double x) { return NAME(x); }
#define DLCB_MATH2(NAME)                                                 \
  extern "C" float NAME##f(float, float) noexcept;                       \
  extern "C" double NAME(double, double) noexcept;                       \
  DLCB_DEVICE float NAME##f_(float x, float y) { return NAME##f(x, y); } \
  DLCB_DEVICE double d_##NAME##f_(double x, double y) { return NAME(x, y); }
DLCB_MATH1(exp)
DLCB_MATH1(log)
DLCB_MATH1(sqrt) DLCB_MATH1(erf) DLCB_MATH1(tanh) DLCB_MATH1(sin) DLCB_MATH1(cos) DLCB_MATH1(tan) DLCB_MATH1(asin)
    DLCB_MATH1(acos) DLCB_MATH1(atan) DLCB_MATH1(sinh) DLCB_MATH1(cosh) DLCB_MATH1(asinh) DLCB_MATH1(acosh)
        DLCB_MATH1(atanh) DLCB_MATH1(floor) DLCB_MATH1(ceil) DLCB_MATH1(rint) DLCB_MATH1(fabs) DLCB_MATH2(pow)
            DLCB_MATH2(fmod) DLCB_DEVICE float rsqrtf_(float x) {
  return 1.f / sqrtf(x);
}
DLCB_DEVICE double d_rsqrtf_(double x) { return 1. / sqrt(x); }
DLCB_DEVICE float divf_(float x, float y) { return x / y; }
DLCB_DEVICE double d_divf_(double x, double y) { return x / y; }
DLCB_DEVICE float div_exactf_(float x, float y) { return x / y; }
DLCB_DEVICE double d_div_exactf_(double x, double y) { return x / y; }
DLCB_DEVICE float fmaf_(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
DLCB_DEVICE double d_fmaf_(double x, double y, double z) { return __builtin_fma(x, y, z); }
// exp and erf for results that are rounded to 16 bits.
DLCB_DEVICE float exph_(float x) { return expf(x); }
DLCB_DEVICE float erfh_(float x) {
  const float c = x > 3.0f ? 3.0f : x < -3.0f ? -3.0f : x, s = c * c;
  float p = fmaf_(4.07421616e-08f, s, -1.94482482e-06f);
  p = fmaf_(p, s, 4.10605535e-05f);
  p = fmaf_(p, s, -0.000511037069f);
  p = fmaf_(p, s, 0.00423542829f);
  p = fmaf_(p, s, -0.0251028631f);
  p = fmaf_(p, s, 0.111079335f);
  p = fmaf_(p, s, -0.375314891f);
  p = fmaf_(p, s, 1.12826848f);
  return p * c;
}
DLCB_DEVICE float inff_() { return __builtin_inff(); }
DLCB_DEVICE float nanf_() { return __builtin_nanf(""); }
DLCB_DEVICE double d_inff_() { return __builtin_inf(); }
DLCB_DEVICE double d_nanf_() { return __builtin_nan(""); }
DLCB_DEVICE bool isnanf_(float x) { return x != x; }
DLCB_DEVICE bool d_isnanf_(double x) { return x != x; }
DLCB_DEVICE bool isinff_(float x) { return __builtin_fabsf(x) == __builtin_inff(); }
DLCB_DEVICE bool d_isinff_(double x) { return __builtin_fabs(x) == __builtin_inf(); }
DLCB_DEVICE float fmaxf_nan(float x, float y) { return x != x || x > y ? x : y; }
DLCB_DEVICE float fminf_nan(float x, float y) { return x != x || x < y ? x : y; }
DLCB_DEVICE double d_fmaxf_nan(double x, double y) { return x != x || x > y ? x : y; }
DLCB_DEVICE double d_fminf_nan(double x, double y) { return x != x || x < y ? x : y; }
#undef DLCB_MATH1
#undef DLCB_MATH2
