// The real number that FloorScale and CeilScale round. Models compute sizes in f32 for the most part (ONNX's scales are
// f32), and there 10 * 0.7f is 7: a product that is rounded to f64 gives 6.99999988, and a size that is one too small.
#pragma once
#include <cmath>
#include <cstdint>

namespace dlcb::sym {

inline bool is_f32(double scale) { return static_cast<double>(static_cast<float>(scale)) == scale; }

// An exact multiple: n / 2^s with few digits, so that n * a is an f32 for every a up to 2^18.
inline bool is_small_fraction(double scale) {
  for (int s = 0; s <= 12; ++s) {
    const double n = std::ldexp(scale, s);
    if (n == std::floor(n) && std::fabs(n) < (s == 0 ? 4096 : 64)) return true;
  }
  return false;
}

// a * scale, in f32 arithmetic where scale is an f32 number, else in f64. bundle_format/eval.cpp and the kernels do the
// same.
inline double scaled(int64_t a, double scale) {
  if (!is_f32(scale)) return static_cast<double>(a) * scale;
  return static_cast<double>(static_cast<float>(a) * static_cast<float>(scale));
}

}  // namespace dlcb::sym
