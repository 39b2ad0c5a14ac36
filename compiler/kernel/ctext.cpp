// Spelling of types, constants and functions; names come from the prelude (README.md).
#include "kernel/ctext.h"

#include <fmt/format.h>

#include <cmath>

#include "ops/arithmetic.h"

namespace dlcb::kernel {

using ops::Fn;
using ops::ReduceFn;

std::string_view register_type(DType t) {
  switch (t) {
    case DType::F32:
    case DType::F16:
    case DType::BF16:
      return "float";
    case DType::F64:
      return "double";
    case DType::Bool:
      return "bool";
    default:
      return name_of(t);
  }
}

std::string_view memory_type(DType t) {
  switch (t) {
    case DType::F16:
    case DType::BF16:
      return "u16";
    case DType::Bool:
      return "u8";
    default:
      return register_type(t);
  }
}

std::string from_memory(DType t, const std::string& text) {
  if (t == DType::F16) return fmt::format("h2f({})", text);
  if (t == DType::BF16) return fmt::format("b2f({})", text);
  if (t == DType::Bool) return fmt::format("({} != 0)", text);
  return text;
}

std::string to_memory(DType t, const std::string& text) {
  if (t == DType::F16) return fmt::format("f2h({})", text);
  if (t == DType::BF16) return fmt::format("f2b({})", text);
  if (t == DType::Bool) return fmt::format("u8({})", text);
  return text;
}

// Infinities and NaN are functions of the prelude: written as divisions by 0 they would be divisions on the device.
std::string float_text(DType t, double v) {
  const char *suffix = t == DType::F64 ? "" : "f", *prefix = t == DType::F64 ? "d_" : "";
  if (std::isnan(v)) return fmt::format("{}nanf_()", prefix);
  if (std::isinf(v)) return fmt::format("{}{}inff_()", v < 0 ? "-" : "", prefix);
  if (t != DType::F64 && std::isinf(static_cast<float>(v))) return float_text(t, v < 0 ? -INFINITY : INFINITY);
  std::string s = t == DType::F64 ? fmt::format("{}", v) : fmt::format("{}", static_cast<float>(v));
  if (s.find_first_of(".e") == std::string::npos) s += ".0";
  s += suffix;
  return std::signbit(v) ? "(" + s + ")" : s;
}

std::string integer_text(DType t, int64_t v) {
  if (t == DType::Bool) return v != 0 ? "true" : "false";
  if (t == DType::U64) return fmt::format("u64({}ull)", static_cast<uint64_t>(v));
  if (v == INT64_MIN) return "i64(-9223372036854775807ll - 1)";
  return fmt::format("{}({}{})", name_of(t), v, size_of(t) == 8 || t == DType::U32 || v == INT32_MIN ? "ll" : "");
}

std::string cast_text(DType from, DType to, const std::string& a) {
  if (from == to) return a;
  if (to == DType::Bool) return fmt::format("({} != {}(0))", a, register_type(from));
  if (to == DType::F16) return fmt::format("h2f(f2h(float({})))", a);
  if (to == DType::BF16) return fmt::format("b2f(f2b(float({})))", a);
  // Small integers go through i32, which the device's float conversion saturates to.
  if (is_float(from) && is_integer(to) && size_of(to) < 4) return fmt::format("{}(i32({}))", register_type(to), a);
  return fmt::format("{}({})", register_type(to), a);
}

namespace {

std::string math(DType t, std::string_view name) { return fmt::format("{}{}", t == DType::F64 ? "d_" : "", name); }

// The prelude's function for fn, or "" when it is spelled otherwise.
std::string_view math_name(Fn fn) {
  switch (fn) {
    case Fn::Exp:
      return "expf_";
    case Fn::Log:
      return "logf_";
    case Fn::Sqrt:
      return "sqrtf_";
    case Fn::Rsqrt:
      return "rsqrtf_";
    case Fn::Erf:
      return "erff_";
    case Fn::Tanh:
      return "tanhf_";
    case Fn::Sin:
      return "sinf_";
    case Fn::Cos:
      return "cosf_";
    case Fn::Tan:
      return "tanf_";
    case Fn::Asin:
      return "asinf_";
    case Fn::Acos:
      return "acosf_";
    case Fn::Atan:
      return "atanf_";
    case Fn::Sinh:
      return "sinhf_";
    case Fn::Cosh:
      return "coshf_";
    case Fn::Asinh:
      return "asinhf_";
    case Fn::Acosh:
      return "acoshf_";
    case Fn::Atanh:
      return "atanhf_";
    case Fn::Floor:
      return "floorf_";
    case Fn::Ceil:
      return "ceilf_";
    case Fn::Round:
      return "rintf_";
    case Fn::Abs:
      return "fabsf_";
    case Fn::IsNan:
      return "isnanf_";
    case Fn::IsInf:
      return "isinff_";
    default:
      return "";
  }
}

std::string float_unary(Fn fn, DType t, const std::string& a) {
  const bool half = is_half(t);
  std::string_view name = half && fn == Fn::Exp ? "exph_" : half && fn == Fn::Erf ? "erfh_" : math_name(fn);
  if (!name.empty()) return fmt::format("{}({})", math(t, name), a);
  std::string one = float_text(t, 1);
  switch (fn) {
    case Fn::Neg:
      return fmt::format("-{}", a);
    case Fn::Sign:
      return fmt::format("({0} > 0 ? {1} : {0} < 0 ? -{1} : {0})", a, one);
    case Fn::Reciprocal:
      return fmt::format("{}({}, {})", math(t, "divf_"), one, a);
    case Fn::Sigmoid:
      return fmt::format("{}({}, {} + {}(-{}))", math(t, "divf_"), one, one, half ? "exph_" : math(t, "expf_"), a);
    default:
      DLCB_CHECK(false, "no float spelling of " + std::string(ops::name_of(fn)));
  }
  return {};
}

std::string integer_unary(Fn fn, DType t, const std::string& a) {
  std::string_view type = register_type(t);
  switch (fn) {
    case Fn::Neg:
      return fmt::format("{}(-{})", type, a);
    case Fn::Abs:
      return fmt::format("({0} < 0 ? {1}(-{0}) : {0})", a, type);
    case Fn::Sign:
      return fmt::format("{}(({} > 0) - ({} < 0))", type, a, a);
    case Fn::Not:
      return fmt::format("!{}", a);
    case Fn::BitNot:
      return fmt::format("{}(~{})", type, a);
    case Fn::Floor:
    case Fn::Ceil:
    case Fn::Round:
      return a;
    case Fn::IsNan:
    case Fn::IsInf:
      return "false";
    default:
      return fmt::format("{}({})", type, float_unary(fn, DType::F64, fmt::format("double({})", a)));
  }
}

// Division that cannot trap on the host: by 0 it gives 0, by -1 it negates.
std::string integer_division(DType t, const std::string& a, const std::string& b, char op) {
  std::string_view type = register_type(t);
  bool is_signed = t == DType::I8 || t == DType::I16 || t == DType::I32 || t == DType::I64;
  std::string by_minus_one = op == '/' ? fmt::format("{}(-{})", type, a) : fmt::format("{}(0)", type);
  std::string rest = fmt::format("{0} == 0 ? {1}(0) : {1}({2} {3} {0})", b, type, a, op);
  if (!is_signed) return fmt::format("({})", rest);
  return fmt::format("({} == -1 ? {} : {})", b, by_minus_one, rest);
}

std::string comparison(Fn fn, const std::string& a, const std::string& b) {
  const char* op = fn == Fn::Eq ? "==" : fn == Fn::Ne ? "!=" : fn == Fn::Lt ? "<" : "<=";
  return fmt::format("{} {} {}", a, op, b);
}

std::string float_binary(Fn fn, DType t, const std::string& a, const std::string& b) {
  switch (fn) {
    case Fn::Add:
      return fmt::format("{} + {}", a, b);
    case Fn::Sub:
      return fmt::format("{} - {}", a, b);
    case Fn::Mul:
      return fmt::format("{} * {}", a, b);
    case Fn::Div:
      return fmt::format("{}({}, {})", math(t, "divf_"), a, b);
    case Fn::DivExact:
      return fmt::format("{}({}, {})", math(t, "div_exactf_"), a, b);
    case Fn::Pow:
      return fmt::format("{}({}, {})", math(t, "powf_"), a, b);
    case Fn::Rem:
      return fmt::format("{}({}, {})", math(t, "fmodf_"), a, b);
    case Fn::Mod: {
      std::string r = fmt::format("{}({}, {})", math(t, "fmodf_"), a, b);
      return fmt::format("({0} != 0 && ({0} < 0) != ({1} < 0) ? {0} + {1} : {0})", r, b);
    }
    case Fn::Min:
      return fmt::format("{}({}, {})", math(t, "fminf_nan"), a, b);
    case Fn::Max:
      return fmt::format("{}({}, {})", math(t, "fmaxf_nan"), a, b);
    default:
      DLCB_CHECK(false, "no float spelling of " + std::string(ops::name_of(fn)));
  }
  return {};
}

const char* integer_operator(Fn fn) {
  switch (fn) {
    case Fn::Add:
      return "+";
    case Fn::Sub:
      return "-";
    case Fn::Mul:
      return "*";
    case Fn::And:
    case Fn::BitAnd:
      return "&";
    case Fn::Or:
    case Fn::BitOr:
      return "|";
    case Fn::Xor:
    case Fn::BitXor:
      return "^";
    case Fn::Shl:
      return "<<";
    case Fn::Shr:
      return ">>";
    default:
      return nullptr;
  }
}

std::string integer_binary(Fn fn, DType t, const std::string& a, const std::string& b) {
  std::string_view type = register_type(t);
  if (const char* op = integer_operator(fn)) return fmt::format("{}({} {} {})", type, a, op, b);
  switch (fn) {
    case Fn::Div:
      return integer_division(t, a, b, '/');
    case Fn::Rem:
      return integer_division(t, a, b, '%');
    case Fn::Mod: {
      std::string r = integer_division(t, a, b, '%');
      return fmt::format("({0} != 0 && ({0} < 0) != ({1} < 0) ? {2}({0} + {1}) : {0})", r, b, type);
    }
    case Fn::Min:
      return fmt::format("({0} < {1} ? {0} : {1})", a, b);
    case Fn::Max:
      return fmt::format("({0} > {1} ? {0} : {1})", a, b);
    case Fn::Pow:
      return fmt::format("{}({})", type,
                         float_binary(fn, DType::F64, fmt::format("double({})", a), fmt::format("double({})", b)));
    default:
      DLCB_CHECK(false, "no integer spelling of " + std::string(ops::name_of(fn)));
  }
  return {};
}

}  // namespace

std::string unary_text(Fn fn, DType t, const std::string& a) {
  return is_float(t) ? float_unary(fn, t, a) : integer_unary(fn, t, a);
}

std::string binary_text(Fn fn, DType t, const std::string& a, const std::string& b) {
  if (fn == Fn::Eq || fn == Fn::Ne || fn == Fn::Lt || fn == Fn::Le) return comparison(fn, a, b);
  return is_float(t) ? float_binary(fn, t, a, b) : integer_binary(fn, t, a, b);
}

std::string guarded(const std::string& condition, const std::string& statement) {
  return condition == "true" ? statement : fmt::format("if ({}) {}", condition, statement);
}

std::string reduce_identity(ReduceFn fn, DType t) {
  if (is_float(t)) return float_text(t, ops::reduce_identity_f(fn));
  return integer_text(t, ops::reduce_identity_i(fn, t));
}

std::string reduce_text(ReduceFn fn, DType t, const std::string& a, const std::string& b) {
  return binary_text(ops::combine_fn(fn), t, a, b);
}

}  // namespace dlcb::kernel
