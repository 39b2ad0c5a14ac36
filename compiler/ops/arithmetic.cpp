// See arithmetic.h. Rounding a double result to a narrower float is innocuous for + - * / sqrt of f32 operands (double
// has more than twice the digits), so the reference agrees with IEEE f32 arithmetic there.
#include "ops/arithmetic.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/diagnostic.h"

namespace dlcb::ops {
namespace {

constexpr std::string_view kFnNames[] = {
    "neg",       "abs",  "sign",    "exp",    "log",     "sqrt", "rsqrt",   "reciprocal", "erf",   "tanh",  "sigmoid",
    "sin",       "cos",  "tan",     "asin",   "acos",    "atan", "sinh",    "cosh",       "asinh", "acosh", "atanh",
    "floor",     "ceil", "round",   "is_nan", "is_inf",  "not",  "bit_not", "add",        "sub",   "mul",   "div",
    "div_exact", "mod",  "rem",     "pow",    "min",     "max",  "eq",      "ne",         "lt",    "le",    "and",
    "or",        "xor",  "bit_and", "bit_or", "bit_xor", "shl",  "shr"};
static_assert(std::size(kFnNames) == static_cast<size_t>(Fn::Shr) + 1);

bool is_comparison(Fn fn) { return fn >= Fn::Eq && fn <= Fn::Le; }
bool is_logical(Fn fn) { return fn == Fn::Not || (fn >= Fn::And && fn <= Fn::Xor); }
bool is_bitwise(Fn fn) { return fn == Fn::BitNot || (fn >= Fn::BitAnd && fn <= Fn::Shr); }
bool is_signed(DType t) { return t == DType::I8 || t == DType::I16 || t == DType::I32 || t == DType::I64; }

// Rounds to `digits` significant bits, with the subnormal step of a format whose smallest exponent is min_exp.
double round_digits(double v, int digits, int min_exp, double overflow) {
  if (v == 0 || !std::isfinite(v)) return v;
  int exponent;
  std::frexp(v, &exponent);
  const int step = std::max(exponent - digits, min_exp);
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(v, -step)), step);
  return std::fabs(rounded) >= overflow ? std::copysign(std::numeric_limits<double>::infinity(), v) : rounded;
}

int64_t integer_power(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  uint64_t result = 1, square = static_cast<uint64_t>(base);
  for (auto e = static_cast<uint64_t>(exponent); e; e >>= 1, square *= square)
    if (e & 1) result *= square;
  return static_cast<int64_t>(result);
}

int64_t divide(Fn fn, DType t, int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (t == DType::U64) {
    const auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
    return static_cast<int64_t>(fn == Fn::Div ? ua / ub : ua % ub);
  }
  if (b == -1) return fn == Fn::Div ? static_cast<int64_t>(0 - static_cast<uint64_t>(a)) : 0;
  if (fn == Fn::Div) return a / b;
  const int64_t rem = a % b;
  return fn == Fn::Mod && rem != 0 && (rem < 0) != (b < 0) ? rem + b : rem;
}

int64_t shift(Fn fn, DType t, int64_t a, int64_t b) {
  const auto bits = static_cast<int64_t>(size_of(t) * 8);
  if (fn == Fn::Shl) return b < 0 || b >= bits ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) << b);
  if (!is_signed(t)) return b < 0 || b >= bits ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) >> b);
  return a >> (b < 0 || b >= bits ? bits - 1 : b);
}

}  // namespace

std::string_view name_of(Fn fn) { return kFnNames[static_cast<int>(fn)]; }
std::string_view name_of(ReduceFn fn) {
  constexpr std::string_view kNames[] = {"sum", "prod", "min", "max"};
  return kNames[static_cast<int>(fn)];
}

bool accepts(Fn fn, DType t) {
  if (is_logical(fn)) return t == DType::Bool;
  if (is_bitwise(fn)) return is_integer(t) || (t == DType::Bool && fn != Fn::Shl && fn != Fn::Shr);
  if (fn == Fn::Eq || fn == Fn::Ne) return true;
  if (t == DType::Bool) return fn == Fn::Lt || fn == Fn::Le || fn == Fn::Min || fn == Fn::Max;
  const bool rational = (fn >= Fn::Exp && fn <= Fn::Atanh) || fn == Fn::IsNan || fn == Fn::IsInf;
  return is_float(t) || !rational;
}

DType result_type(Fn fn, DType t) {
  return is_comparison(fn) || is_logical(fn) || fn == Fn::IsNan || fn == Fn::IsInf ? DType::Bool : t;
}

double round_to(DType t, double v) {
  switch (t) {
    case DType::F32:
      return static_cast<float>(v);
    case DType::F16:
      return round_digits(v, 11, -24, 65520.0);
    case DType::BF16:
      return round_digits(v, 8, -133, std::ldexp(1.0, 128));
    default:
      return v;
  }
}

int64_t wrap_to(DType t, int64_t v) {
  switch (t) {
    case DType::I8:
      return static_cast<int8_t>(v);
    case DType::U8:
      return static_cast<uint8_t>(v);
    case DType::I16:
      return static_cast<int16_t>(v);
    case DType::U16:
      return static_cast<uint16_t>(v);
    case DType::I32:
      return static_cast<int32_t>(v);
    case DType::U32:
      return static_cast<uint32_t>(v);
    case DType::Bool:
      return v != 0;
    default:
      return v;
  }
}

int64_t lowest_integer(DType t) {
  if (!is_signed(t)) return 0;
  return std::numeric_limits<int64_t>::min() >> (64 - 8 * size_of(t));
}

int64_t highest_integer(DType t) {
  if (t == DType::Bool) return 1;
  if (t == DType::U64) return -1;
  const auto bits = static_cast<int>(size_of(t) * 8);
  if (is_signed(t)) return std::numeric_limits<int64_t>::max() >> (64 - bits);
  return (int64_t{1} << bits) - 1;
}

int64_t float_to_integer(DType t, double v) {
  if (t == DType::Bool) return v != 0;
  if (std::isnan(v)) return 0;
  v = std::trunc(v);
  if (t == DType::U64) {
    if (v >= std::ldexp(1.0, 64)) return -1;
    return v <= 0 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(v));
  }
  if (v <= static_cast<double>(lowest_integer(t))) return lowest_integer(t);
  if (v >= static_cast<double>(highest_integer(t))) return highest_integer(t);
  return static_cast<int64_t>(v);
}

double integer_to_float(DType from, int64_t v, DType to) {
  // Straight to the target type: going through double would round twice.
  if (from == DType::U64) {
    const auto u = static_cast<uint64_t>(v);
    return to == DType::F32 ? static_cast<float>(u) : round_to(to, static_cast<double>(u));
  }
  return to == DType::F32 ? static_cast<float>(v) : round_to(to, static_cast<double>(v));
}

bool apply_test(Fn fn, double a, double b) {
  switch (fn) {
    case Fn::IsNan:
      return std::isnan(a);
    case Fn::IsInf:
      return std::isinf(a);
    case Fn::Eq:
      return a == b;
    case Fn::Ne:
      return a != b;
    case Fn::Lt:
      return a < b;
    case Fn::Le:
      return a <= b;
    default:
      DLCB_CHECK(false, std::string(name_of(fn)) + " is not a float predicate");
  }
}

static double unary_f(Fn fn, double a) {
  switch (fn) {
    case Fn::Neg:
      return -a;
    case Fn::Abs:
      return std::fabs(a);
    case Fn::Sign:
      return std::isnan(a) ? a : static_cast<double>((a > 0) - (a < 0));
    case Fn::Exp:
      return std::exp(a);
    case Fn::Log:
      return std::log(a);
    case Fn::Sqrt:
      return std::sqrt(a);
    case Fn::Rsqrt:
      return 1 / std::sqrt(a);
    case Fn::Reciprocal:
      return 1 / a;
    case Fn::Erf:
      return std::erf(a);
    case Fn::Tanh:
      return std::tanh(a);
    case Fn::Sigmoid:
      return 1 / (1 + std::exp(-a));
    case Fn::Sin:
      return std::sin(a);
    case Fn::Cos:
      return std::cos(a);
    case Fn::Tan:
      return std::tan(a);
    case Fn::Asin:
      return std::asin(a);
    case Fn::Acos:
      return std::acos(a);
    case Fn::Atan:
      return std::atan(a);
    case Fn::Sinh:
      return std::sinh(a);
    case Fn::Cosh:
      return std::cosh(a);
    case Fn::Asinh:
      return std::asinh(a);
    case Fn::Acosh:
      return std::acosh(a);
    case Fn::Atanh:
      return std::atanh(a);
    case Fn::Floor:
      return std::floor(a);
    case Fn::Ceil:
      return std::ceil(a);
    case Fn::Round:
      return std::nearbyint(a);
    default:
      DLCB_CHECK(false, std::string(name_of(fn)) + " is not a unary float function");
  }
}

static double binary_f(Fn fn, double a, double b) {
  switch (fn) {
    case Fn::Add:
      return a + b;
    case Fn::Sub:
      return a - b;
    case Fn::Mul:
      return a * b;
    case Fn::Div:
    case Fn::DivExact:
      return a / b;
    case Fn::Rem:
      return std::fmod(a, b);
    case Fn::Mod: {
      const double rem = std::fmod(a, b);
      return rem != 0 && (rem < 0) != (b < 0) ? rem + b : rem;
    }
    case Fn::Pow:
      return std::pow(a, b);
    case Fn::Min:
      return std::isnan(a) ? a : std::isnan(b) ? b : std::min(a, b);
    case Fn::Max:
      return std::isnan(a) ? a : std::isnan(b) ? b : std::max(a, b);
    default:
      DLCB_CHECK(false, std::string(name_of(fn)) + " is not a binary float function");
  }
}

double apply_f(Fn fn, DType t, double a, double b) {
  return round_to(t, is_unary(fn) ? unary_f(fn, a) : binary_f(fn, a, b));
}

static bool less(DType t, int64_t a, int64_t b) {
  return t == DType::U64 ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b;
}

static int64_t apply_wide(Fn fn, DType t, int64_t a, int64_t b) {
  const auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  switch (fn) {
    case Fn::Neg:
      return static_cast<int64_t>(0 - ua);
    case Fn::Abs:
      return less(t, a, 0) ? static_cast<int64_t>(0 - ua) : a;
    case Fn::Sign:
      return less(t, a, 0) ? -1 : a != 0;
    case Fn::Floor:
    case Fn::Ceil:
    case Fn::Round:
      return a;
    case Fn::Not:
      return a == 0;
    case Fn::BitNot:
      return t == DType::Bool ? a == 0 : ~a;
    case Fn::Add:
      return static_cast<int64_t>(ua + ub);
    case Fn::Sub:
      return static_cast<int64_t>(ua - ub);
    case Fn::Mul:
      return static_cast<int64_t>(ua * ub);
    case Fn::Div:
    case Fn::Mod:
    case Fn::Rem:
      return divide(fn, t, a, b);
    case Fn::Pow:
      return integer_power(a, b);
    case Fn::Min:
      return less(t, b, a) ? b : a;
    case Fn::Max:
      return less(t, a, b) ? b : a;
    case Fn::Eq:
      return a == b;
    case Fn::Ne:
      return a != b;
    case Fn::Lt:
      return less(t, a, b);
    case Fn::Le:
      return !less(t, b, a);
    case Fn::And:
    case Fn::BitAnd:
      return a & b;
    case Fn::Or:
    case Fn::BitOr:
      return a | b;
    case Fn::Xor:
    case Fn::BitXor:
      return a ^ b;
    case Fn::Shl:
    case Fn::Shr:
      return shift(fn, t, a, b);
    default:
      DLCB_CHECK(false, std::string(name_of(fn)) + " is not defined for integers");
  }
}

int64_t apply_i(Fn fn, DType t, int64_t a, int64_t b) { return wrap_to(result_type(fn, t), apply_wide(fn, t, a, b)); }

Fn combine_fn(ReduceFn fn) {
  constexpr Fn kFns[] = {Fn::Add, Fn::Mul, Fn::Min, Fn::Max};
  return kFns[static_cast<int>(fn)];
}

double reduce_identity_f(ReduceFn fn) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kIdentity[] = {0, 1, kInf, -kInf};
  return kIdentity[static_cast<int>(fn)];
}

int64_t reduce_identity_i(ReduceFn fn, DType t) {
  switch (fn) {
    case ReduceFn::Sum:
      return 0;
    case ReduceFn::Prod:
      return 1;
    case ReduceFn::Min:
      return highest_integer(t);
    default:
      return lowest_integer(t);
  }
}

double half_to_double(uint16_t bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  double v = exponent == 31
                 ? (mantissa ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity())
             : exponent ? std::ldexp(1024 + mantissa, exponent - 25)
                        : std::ldexp(mantissa, -24);
  return bits & 0x8000 ? -v : v;
}

uint16_t double_to_half(double v) {
  const uint16_t sign = std::signbit(v) ? 0x8000 : 0;
  v = std::fabs(round_to(DType::F16, v));
  if (std::isnan(v)) return sign | 0x7e00;
  if (std::isinf(v)) return sign | 0x7c00;
  if (v < std::ldexp(1.0, -14)) return sign | static_cast<uint16_t>(std::ldexp(v, 24));
  int exponent;
  const double fraction = std::frexp(v, &exponent);  // [0.5, 1)
  return static_cast<uint16_t>(sign | ((exponent + 14) << 10) | (static_cast<int>(std::ldexp(fraction, 11)) & 1023));
}

double bfloat_to_double(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t double_to_bfloat(double v) {
  if (std::isnan(v)) return 0x7fc0;
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(round_to(DType::BF16, v))) >> 16);
}

}  // namespace dlcb::ops
