// What the prelude's names compute on the host: the half conversions at every rounding boundary, division by magic
// numbers, and the math against libm.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "catch.h"
#include "device_prelude_names.h"
#include "runtime_stub/sim/half.h"

using namespace dlcb::testing;

namespace {

// A small float format's value by its definition.
double value_of(unsigned bits, int exponent_bits, int mantissa_bits) {
  const unsigned exponent = bits >> mantissa_bits & ((1u << exponent_bits) - 1),
                 mantissa = bits & ((1u << mantissa_bits) - 1);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  double v;
  if (exponent == (1u << exponent_bits) - 1)
    v = mantissa ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  else if (exponent == 0)
    v = std::ldexp(mantissa, 1 - bias - mantissa_bits);
  else
    v = std::ldexp(mantissa + (1u << mantissa_bits), int(exponent) - bias - mantissa_bits);
  return bits >> 15 ? -v : v;
}

bool same(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}
bool is_nan_of(uint16_t v, int mantissa_bits) { return std::isnan(value_of(v, 15 - mantissa_bits, mantissa_bits)); }

struct Format {
  const char* name;
  int exponent_bits, mantissa_bits;
  float (*widen)(uint16_t);
  uint16_t (*round)(float);
};

// Rounding changes only between neighbours, so checking each value, each midpoint and the floats beside the midpoint
// for every pair of neighbours covers all floats.
int wrong_roundings(const Format& f) {
  int wrong = 0;
  auto expect = [&](float v, uint16_t bits) { wrong += f.round(v) != bits || f.round(-v) != (bits | 0x8000); };
  const unsigned infinity = ((1u << f.exponent_bits) - 1) << f.mantissa_bits;
  for (unsigned low = 0; low < infinity; ++low) {
    const double a = value_of(low, f.exponent_bits, f.mantissa_bits);
    // The value that infinity's bits would have were they a number: what overflow is rounded against.
    const double b = low + 1 == infinity ? std::ldexp(1, 1 << (f.exponent_bits - 1))
                                         : value_of(low + 1, f.exponent_bits, f.mantissa_bits);
    const float middle = float((a + b) / 2);
    if (double(middle) != (a + b) / 2) continue;  // bfloat16's smallest step has no float between
    expect(float(a), uint16_t(low));
    expect(middle, uint16_t(low & 1 ? low + 1 : low));
    if (std::nextafter(middle, 0.f) > a) expect(std::nextafter(middle, 0.f), uint16_t(low));
    if (double(std::nextafter(middle, INFINITY)) < b) expect(std::nextafter(middle, INFINITY), uint16_t(low + 1));
  }
  expect(INFINITY, uint16_t(infinity));
  expect(std::numeric_limits<float>::denorm_min(), f.exponent_bits == 8 ? 0 : 0);
  return wrong;
}

}  // namespace

TEST_CASE("half conversions are exact, and round to nearest even at every boundary") {
  const Format formats[] = {{"f16", 5, 10, &dlcb_sim_h2f, &dlcb_sim_f2h},
                            {"f16 without F16C", 5, 10, &dlcb_sim_soft_h2f, &dlcb_sim_soft_f2h},
                            {"bf16", 8, 7, &dlcb_sim_b2f, &dlcb_sim_f2b}};
  for (const Format& f : formats) {
    INFO(f.name);
    int wrong = 0;
    for (unsigned bits = 0; bits < 65536; ++bits) {
      const float wide = f.widen(uint16_t(bits));
      wrong += !same(wide, float(value_of(bits, f.exponent_bits, f.mantissa_bits)));
      const uint16_t back = f.round(wide);
      wrong += std::isnan(wide) ? !is_nan_of(back, f.mantissa_bits) : back != bits;
    }
    CHECK(wrong == 0);
    CHECK(wrong_roundings(f) == 0);
    for (uint32_t nan : {0x7fc00000u, 0x7f800001u, 0xff800001u, 0xffffffffu})
      CHECK(is_nan_of(f.round(std::bit_cast<float>(nan)), f.mantissa_bits));
  }
}

TEST_CASE("division by a magic number") {
  std::mt19937 random(3);
  auto check = [](uint32_t d, uint32_t n) {
    uint32_t shift = 0;
    while ((uint64_t(1) << shift) < d) ++shift;
    const auto mul = uint32_t(((uint64_t(1) << 32) * ((uint64_t(1) << shift) - d)) / d + 1);
    return divide(n, mul, shift) == n / d;
  };
  bool good = true;
  for (uint32_t d = 1; d < 3000; ++d)
    for (uint32_t n : {0u, d - 1, d, d + 1, 0x7fffffffu, 0x7fffffffu / d * d, 0x7fffffffu / d * d - 1})
      good &= check(d, n);
  for (int i = 0; i < 1000000; ++i) good &= check(1 + random() % 0x7fffffff, random() & 0x7fffffff);
  CHECK(good);
}

TEST_CASE("math functions give libm's results") {
  float (*const floats[])(float) = {std::exp,   std::log,   std::sqrt,  [](float x) { return 1 / std::sqrt(x); },
                                    std::erf,   std::tanh,  std::sin,   std::cos,
                                    std::tan,   std::asin,  std::acos,  std::atan,
                                    std::sinh,  std::cosh,  std::asinh, std::acosh,
                                    std::atanh, std::floor, std::ceil,  std::rint,
                                    std::fabs};
  double (*const doubles[])(double) = {std::exp,   std::log,   std::sqrt,  [](double x) { return 1 / std::sqrt(x); },
                                       std::erf,   std::tanh,  std::sin,   std::cos,
                                       std::tan,   std::asin,  std::acos,  std::atan,
                                       std::sinh,  std::cosh,  std::asinh, std::acosh,
                                       std::atanh, std::floor, std::ceil,  std::rint,
                                       std::fabs};
  REQUIRE(kFunctions1Count == int(std::size(floats)));
  std::vector<float> points = {0.f, -0.f, 0.5f, 1.5f, 2.5f, -2.5f, 1.f, -1.f, 1e-40f, 3e38f, INFINITY, -INFINITY, NAN};
  std::mt19937 random(5);
  for (int i = 0; i < 5000; ++i) points.push_back(std::bit_cast<float>(uint32_t(random())));
  for (int f = 0; f < kFunctions1Count; ++f) {
    INFO(kFunctions1[f].name);
    int wrong = 0;
    for (float x : points) {
      wrong += !same(kFunctions1[f].f(x), floats[f](x));
      const double got = kFunctions1[f].d(x), want = doubles[f](x);
      wrong += !(got == want || (std::isnan(got) && std::isnan(want)));
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("binary functions, fused multiply-add and classification") {
  REQUIRE(kFunctions2Count == 6);
  for (double x : {0.0, -0.0, 1.5, -7.25, 3.0, double(INFINITY), -double(INFINITY), double(NAN)})
    for (double y : {0.0, 2.0, -3.0, 0.5, double(INFINITY), double(NAN)}) {
      INFO(x << " " << y);
      const bool nan = std::isnan(x) || std::isnan(y);
      const double want[] = {
          std::pow(x, y), std::fmod(x, y), x / y, x / y, nan ? NAN : std::fmax(x, y), nan ? NAN : std::fmin(x, y)};
      for (int f = 0; f < kFunctions2Count; ++f) {
        const double d = kFunctions2[f].d(x, y), s = kFunctions2[f].f(float(x), float(y));
        CHECK((d == want[f] || (std::isnan(d) && std::isnan(want[f]))));
        CHECK((float(s) == float(want[f]) || (std::isnan(s) && std::isnan(want[f]))));
      }
      CHECK(is_nan(x) == std::isnan(x));
      CHECK(is_nan(float(x)) == std::isnan(x));
      CHECK(is_inf(x) == std::isinf(x));
      CHECK(is_inf(float(x)) == std::isinf(x));
    }
  CHECK(multiply_add(1.f + 0x1p-20f, 1.f - 0x1p-20f, -1.f) == -0x1p-40f);  // one rounding
  CHECK(multiply_add(1.0 + 0x1p-40, 1.0 - 0x1p-40, -1.0) == -0x1p-80);
}
