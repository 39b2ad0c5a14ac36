// The real number that FloorScale and CeilScale round. Models compute sizes in f32 for the most part (ONNX's scales are
// f32), and there 10 * 0.7f is 7: a product that is rounded to f64 gives 6.99999988, and a size that is one too small.
#pragma once
#include <cmath>
#include <cstdint>
#include <optional>

namespace dlcb::sym {

inline bool is_f32(double scale) { return static_cast<double>(static_cast<float>(scale)) == scale; }

// numerator / 2^shift with so few digits that its product with a size is exact in f32 (law 25).
struct SmallFraction {
  int64_t numerator;
  int shift;
};

inline std::optional<SmallFraction> small_fraction(double scale) {
  for (int shift = 0; shift <= 12; ++shift) {
    const double n = std::ldexp(scale, shift);
    if (n == std::floor(n) && std::fabs(n) < (shift == 0 ? 4096 : 64))
      return SmallFraction{static_cast<int64_t>(n), shift};
  }
  return std::nullopt;
}

// a * scale, in f32 arithmetic where scale is an f32 number, else in f64. bundle_format/eval.cpp and the kernels do the
// same.
inline double scaled(int64_t a, double scale) {
  if (!is_f32(scale)) return static_cast<double>(a) * scale;
  return static_cast<double>(static_cast<float>(a) * static_cast<float>(scale));
}

}  // namespace dlcb::sym
