// binary16 and bfloat16 to and from float, rounding to nearest even: for the library and, as text, for every module.
// Uses the host's F16C instructions where the compiler may; both ways agree but for the bits of a NaN.
#ifndef DLCB_SIM_HALF_H_
#define DLCB_SIM_HALF_H_

#define DLCB_SIM_INLINE static inline __attribute__((always_inline, unused))

template <class To, class From>
DLCB_SIM_INLINE To dlcb_sim_bits(From from) {
  To to;
  static_assert(sizeof(To) == sizeof(From), "same size");
  __builtin_memcpy(&to, &from, sizeof(To));
  return to;
}

DLCB_SIM_INLINE float dlcb_sim_soft_h2f(unsigned short v) {
  const unsigned sign = unsigned(v & 0x8000) << 16, exponent = v >> 10 & 31, mantissa = v & 1023;
  if (exponent == 0) return dlcb_sim_bits<float>(dlcb_sim_bits<unsigned>(float(mantissa) * 0x1p-24f) | sign);
  return dlcb_sim_bits<float>(sign | (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | mantissa << 13);
}
DLCB_SIM_INLINE unsigned short dlcb_sim_soft_f2h(float v) {
  unsigned u = dlcb_sim_bits<unsigned>(v);
  const unsigned sign = u >> 16 & 0x8000;
  u &= 0x7fffffff;
  if (u >= 0x7f800000) return (unsigned short)(sign | (u > 0x7f800000 ? 0x7fff : 0x7c00));
  if (u >= 0x477ff000) return (unsigned short)(sign | 0x7c00);  // rounds to 2^16 or more
  if (u < 0x38800000)  // a subnormal half: adding 0.5 rounds it to a multiple of 2^-24
    return (unsigned short)(sign | (dlcb_sim_bits<unsigned>(dlcb_sim_bits<float>(u) + 0.5f) - 0x3f000000u));
  u += 0xc8000fffu + (u >> 13 & 1);
  return (unsigned short)(sign | u >> 13);
}

#ifdef __F16C__
typedef short dlcb_sim_short8 __attribute__((vector_size(16)));
typedef float dlcb_sim_float4 __attribute__((vector_size(16)));
DLCB_SIM_INLINE float dlcb_sim_h2f(unsigned short v) {
  const dlcb_sim_short8 halves = {(short)v};
  return __builtin_ia32_vcvtph2ps(halves)[0];
}
DLCB_SIM_INLINE unsigned short dlcb_sim_f2h(float v) {
  const dlcb_sim_float4 floats = {v};
  return (unsigned short)__builtin_ia32_vcvtps2ph(floats, 0)[0];
}
#else
DLCB_SIM_INLINE float dlcb_sim_h2f(unsigned short v) { return dlcb_sim_soft_h2f(v); }
DLCB_SIM_INLINE unsigned short dlcb_sim_f2h(float v) { return dlcb_sim_soft_f2h(v); }
#endif
DLCB_SIM_INLINE float dlcb_sim_b2f(unsigned short v) { return dlcb_sim_bits<float>(unsigned(v) << 16); }
DLCB_SIM_INLINE unsigned short dlcb_sim_f2b(float v) {
  const unsigned u = dlcb_sim_bits<unsigned>(v);
  if ((u & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
  return (unsigned short)((u + 0x7fffu + (u >> 16 & 1)) >> 16);
}

#endif  // DLCB_SIM_HALF_H_
