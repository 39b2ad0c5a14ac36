// The names generated kernels are written against, for NVRTC: no includes (toolkit headers dominate its compile time), so
// half conversions and shuffles are PTX. runtime_stub/sim/prelude.h defines the same names for the host; README.md lists
// them. This is the only place where kernel text may hold asm.
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;

#define DLCB_KERNEL(NAME, THREADS) extern "C" __global__ void __launch_bounds__(THREADS) NAME
#define DLCB_EXPORT(NAME, SYNCS)
#define DLCB_DYNAMIC_SHARED(T, NAME)              \
  extern __shared__ V16 dlcb_dynamic_shared_[];   \
  T* const NAME = reinterpret_cast<T*>(dlcb_dynamic_shared_)
#define DLCB_DEVICE __device__ __forceinline__

// ---- halves ----
DLCB_DEVICE float h2f(u16 v) {
  float r;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(v));
  return r;
}
DLCB_DEVICE u16 f2h(float v) {
  u16 r;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(v));
  return r;
}
DLCB_DEVICE float b2f(u16 v) { return __uint_as_float(u32(v) << 16); }
#if __CUDA_ARCH__ >= 800
DLCB_DEVICE u16 f2b(float v) {
  u16 r;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(v));
  return r;
}
#else
DLCB_DEVICE u16 f2b(float v) {
  u32 u = __float_as_uint(v);
  if ((u & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
  return u16((u + 0x7fffu + (u >> 16 & 1)) >> 16);
}
#endif

// Division by a divisor the host turned into (mul, shift).
DLCB_DEVICE u32 mdiv(u32 n, u32 mul, u32 shift) { return (__umulhi(n, mul) + n) >> shift; }
// at + by, behind the device compiler's back: of a sum it would keep a copy a loop for every address made of it.
DLCB_DEVICE i32 advance(i32 at, i32 by) {
  i32 r;
  asm("add.s32 %0, %1, %2;" : "=r"(r) : "r"(at), "r"(by));
  return r;
}

// ---- vectors ----
struct __align__(2) V2 { u16 w; };
struct __align__(4) V4 { u32 w; };
struct __align__(8) V8 { u32 w[2]; };
struct __align__(16) V16 { u32 w[4]; };

template <class V>
DLCB_DEVICE V ldv(const void* p) {
  return *static_cast<const V*>(p);
}
template <class V>
DLCB_DEVICE void stv(void* p, V v) {
  *static_cast<V*>(p) = v;
}

template <class T, int N>
struct __align__(sizeof(T) * N) Pack {
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
// A value's bits as one u32 (1, 2 and 4 bytes) or two (8 bytes).
template <int BYTES>
struct WarpWord;
template <>
struct WarpWord<1> { typedef u8 type; };
template <>
struct WarpWord<2> { typedef u16 type; };
template <>
struct WarpWord<4> { typedef u32 type; };
template <>
struct WarpWord<8> { typedef u64 type; };
DLCB_DEVICE u32 shuffle_word_xor(u32 v, int mask) { return __shfl_xor_sync(0xffffffffu, v, mask); }
DLCB_DEVICE u32 shuffle_word(u32 v, int lane) { return __shfl_sync(0xffffffffu, v, lane); }
#define DLCB_SHUFFLE(NAME, WORD)                                                        \
  template <class T>                                                                    \
  DLCB_DEVICE T NAME(T v, int operand) {                                                \
    typedef typename WarpWord<sizeof(T)>::type Bits;                                    \
    Bits bits = __builtin_bit_cast(Bits, v);                                            \
    if constexpr (sizeof(T) == 8) {                                                     \
      u32 low = WORD(u32(bits), operand), high = WORD(u32(bits >> 32), operand);        \
      bits = Bits(high) << 32 | low;                                                    \
    } else {                                                                            \
      bits = Bits(WORD(u32(bits), operand));                                            \
    }                                                                                   \
    return __builtin_bit_cast(T, bits);                                                 \
  }
DLCB_SHUFFLE(shfl_xor, shuffle_word_xor)
DLCB_SHUFFLE(shfl, shuffle_word)

// ---- math ----
#define DLCB_MATH1(NAME)                                           \
  DLCB_DEVICE float NAME##f_(float x) { return NAME##f(x); }       \
  DLCB_DEVICE double d_##NAME##f_(double x) { return NAME(x); }
#define DLCB_MATH2(NAME)                                                          \
  DLCB_DEVICE float NAME##f_(float x, float y) { return NAME##f(x, y); }          \
  DLCB_DEVICE double d_##NAME##f_(double x, double y) { return NAME(x, y); }
DLCB_MATH1(exp) DLCB_MATH1(log) DLCB_MATH1(rsqrt) DLCB_MATH1(erf) DLCB_MATH1(tanh)
DLCB_MATH1(sin) DLCB_MATH1(cos) DLCB_MATH1(tan) DLCB_MATH1(asin) DLCB_MATH1(acos) DLCB_MATH1(atan)
DLCB_MATH1(sinh) DLCB_MATH1(cosh) DLCB_MATH1(asinh) DLCB_MATH1(acosh) DLCB_MATH1(atanh)
DLCB_MATH1(floor) DLCB_MATH1(ceil) DLCB_MATH1(rint) DLCB_MATH1(fabs)
DLCB_MATH2(pow) DLCB_MATH2(fmod)
DLCB_DEVICE float divf_(float x, float y) {  // within 2 ulp over the full range, without the subroutine of an exact division
  float r;
  asm("div.full.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
  return r;
}
DLCB_DEVICE double d_divf_(double x, double y) { return x / y; }
// Correctly rounded, without a subroutine: a quotient of floats is never so near the middle of two floats that the
// double's error could tell on which side it is.
DLCB_DEVICE float div_exactf_(float x, float y) {
  const double n = x, d = y;
  double r;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(d));
  r = fma(fma(-d, r, 1.0), r, r);
  r = fma(fma(-d, r, 1.0), r, r);
  const double q = n * r;
  const float exact = float(fma(fma(-d, q, n), r, q)), inf = __uint_as_float(0x7f800000u);
  return fabsf(x) < inf && fabsf(y) < inf && y != 0 ? exact : divf_(x, y);
}
DLCB_DEVICE double d_div_exactf_(double x, double y) { return x / y; }
DLCB_DEVICE float sqrtf_(float x) {  // one correction of x * rsqrt(x), without the subroutine for small numbers
  const bool small = x < 1e-28f;
  const float s = small ? x * 7.92281625e28f : x;  // 2^96
  float r;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(s));
  const float root = s * r, better = fmaf(fmaf(-root, root, s), 0.5f * r, root);
  const float result = small ? better * 3.55271368e-15f : better;  // 2^-48
  return x == 0 || x == __uint_as_float(0x7f800000u) ? x : result;
}
DLCB_DEVICE double d_sqrtf_(double x) { return sqrt(x); }
DLCB_DEVICE float fmaf_(float x, float y, float z) { return fmaf(x, y, z); }
DLCB_DEVICE double d_fmaf_(double x, double y, double z) { return fma(x, y, z); }
// exp and erf for results that are rounded to 16 bits: relative error of exp below 2^-20, absolute error of erf below 2.4e-5.
DLCB_DEVICE float exph_(float x) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x * 1.44269504f));
  return r;
}
DLCB_DEVICE float erfh_(float x) {  // odd polynomial on [-3, 3]
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
DLCB_DEVICE float inff_() { return __uint_as_float(0x7f800000u); }
DLCB_DEVICE float nanf_() { return __uint_as_float(0x7fffffffu); }
DLCB_DEVICE double d_inff_() { return __longlong_as_double(0x7ff0000000000000ll); }
DLCB_DEVICE double d_nanf_() { return __longlong_as_double(0x7fffffffffffffffll); }
DLCB_DEVICE bool isnanf_(float x) { return x != x; }
DLCB_DEVICE bool d_isnanf_(double x) { return x != x; }
DLCB_DEVICE bool isinff_(float x) { return fabsf(x) == __uint_as_float(0x7f800000u); }
DLCB_DEVICE bool d_isinff_(double x) { return fabs(x) == __longlong_as_double(0x7ff0000000000000ll); }

#if __CUDA_ARCH__ >= 800
DLCB_DEVICE float fmaxf_nan(float x, float y) {
  float r;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
  return r;
}
DLCB_DEVICE float fminf_nan(float x, float y) {
  float r;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
  return r;
}
#else
DLCB_DEVICE float fmaxf_nan(float x, float y) { return x != x ? x : y != y ? y : fmaxf(x, y); }
DLCB_DEVICE float fminf_nan(float x, float y) { return x != x ? x : y != y ? y : fminf(x, y); }
#endif
DLCB_DEVICE double d_fmaxf_nan(double x, double y) { return x != x ? x : y != y ? y : fmax(x, y); }
DLCB_DEVICE double d_fminf_nan(double x, double y) { return x != x ? x : y != y ? y : fmin(x, y); }

#undef DLCB_MATH1
#undef DLCB_MATH2
#undef DLCB_SHUFFLE
