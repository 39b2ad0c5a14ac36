// One operand, each element by itself: the functions. Those made of them are in activation.cpp.
#include "ops/table/table.h"

namespace dlcb::ops {
namespace {

constexpr std::string_view kNoDoc = "The function of that name.";

OpDef unary(std::string_view name, std::string_view text, std::string_view doc = kNoDoc) {
  return {.name = name, .operands = "x", .text = text, .doc = doc};
}

}  // namespace

std::span<const OpDef> pointwise_ops() {
  static const std::vector<OpDef> ops = {
      unary("neg", "out[i..] = -x[i..]"),
      unary("abs", "out[i..] = abs(x[i..])"),
      unary("sign", "out[i..] = sign(x[i..])", "-1, 0 or 1; NaN stays NaN."),
      unary("exp", "out[i..] = exp(x[i..])"),
      unary("log", "out[i..] = log(x[i..])", "The natural logarithm."),
      unary("sqrt", "out[i..] = sqrt(x[i..])"),
      unary("rsqrt", "out[i..] = rsqrt(x[i..])", "1 / sqrt(x)."),
      unary("reciprocal", "out[i..] = reciprocal(x[i..])", "1 / x."),
      unary("erf", "out[i..] = erf(x[i..])"),
      unary("tanh", "out[i..] = tanh(x[i..])"),
      unary("sigmoid", "out[i..] = sigmoid(x[i..])", "1 / (1 + exp(-x))."),
      unary("sin", "out[i..] = sin(x[i..])"),
      unary("cos", "out[i..] = cos(x[i..])"),
      unary("tan", "out[i..] = tan(x[i..])"),
      unary("asin", "out[i..] = asin(x[i..])"),
      unary("acos", "out[i..] = acos(x[i..])"),
      unary("atan", "out[i..] = atan(x[i..])"),
      unary("sinh", "out[i..] = sinh(x[i..])"),
      unary("cosh", "out[i..] = cosh(x[i..])"),
      unary("asinh", "out[i..] = asinh(x[i..])"),
      unary("acosh", "out[i..] = acosh(x[i..])"),
      unary("atanh", "out[i..] = atanh(x[i..])"),
      unary("floor", "out[i..] = floor(x[i..])"),
      unary("ceil", "out[i..] = ceil(x[i..])"),
      unary("round", "out[i..] = round(x[i..])", "To the nearest integer, halves to even."),
      unary("is_nan", "out[i..] = is_nan(x[i..])"),
      unary("is_inf", "out[i..] = is_inf(x[i..])", "True for both infinities."),
      unary("logical_not", "out[i..] = not(x[i..])"),
      unary("bit_not", "out[i..] = bit_not(x[i..])"),
      unary("identity", "out[i..] = x[i..]", "A copy."),
      {.name = "cast",
       .operands = "x",
       .attrs = {{"to", "dtype", "the element type of the result"}},
       .text = "out[i..] = cast(x[i..], to)",
       .doc = "Floats to integers toward zero, saturating; to bool: != 0."},
  };
  return ops;
}

}  // namespace dlcb::ops
