// One operand, each element by itself. Activations follow ONNX's formulas unless the doc says otherwise.
#include "ops/notation.h"
#include "ops/table/table.h"

namespace dlcb::ops {
namespace {

constexpr std::string_view kNoDoc = "The function of that name.";

OpDef unary(std::string_view name, std::string_view text, std::string_view doc = kNoDoc) {
  return {.name = name, .operands = "x", .text = text, .doc = doc};
}
OpDef activation(std::string_view name, std::vector<AttrSpec> attrs, std::string_view text, std::string_view doc) {
  return {.name = name, .operands = "x", .attrs = std::move(attrs), .text = text, .doc = doc};
}

Result<Definition> build_gelu(DefineContext& ctx) {
  const std::string approximate = ctx.attrs.text("approximate", "none");
  if (approximate == "none") {
    DLCB_TRY(instantiate(ctx, "out[i..] = 0.5 * x[i..] * (1 + erf(x[i..] * 0.7071067811865476))", ctx.attrs));
  } else if (approximate == "tanh") {
    DLCB_TRY(instantiate(
        ctx,
        "out[i..] = 0.5 * x[i..] * (1 + tanh(0.7978845608028654 * (x[i..] + 0.044715 * x[i..] * x[i..] * x[i..])))",
        ctx.attrs));
  } else {
    return ctx.fail(DiagKind::BadAttribute, {"approximate", "is '" + approximate + "', not none or tanh"});
  }
  return std::move(ctx.definition);
}

Result<Definition> build_clip(DefineContext& ctx) {
  const bool low = ctx.attrs.has("min"), high = ctx.attrs.has("max");
  const std::string_view text = low && high ? "out[i..] = min(max(x[i..], min), max)"
                                : low       ? "out[i..] = max(x[i..], min)"
                                : high      ? "out[i..] = min(x[i..], max)"
                                            : "out[i..] = x[i..]";
  DLCB_TRY(instantiate(ctx, text, ctx.attrs));
  return std::move(ctx.definition);
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
      activation("cast", {{"to", "dtype", "the element type of the result"}}, "out[i..] = cast(x[i..], to)",
                 "Floats to integers toward zero, saturating; to bool: != 0."),
      unary("relu", "out[i..] = max(x[i..], 0)", "max(x, 0)."),
      activation("leaky_relu", {{"alpha", "float?", "slope below 0", "0.01"}},
                 "out[i..] = select(x[i..] < 0, alpha * x[i..], x[i..])", "ONNX LeakyRelu."),
      activation("elu", {{"alpha", "float?", "limit is -alpha", "1"}},
                 "out[i..] = select(x[i..] < 0, alpha * (exp(x[i..]) - 1), x[i..])", "ONNX Elu (Clevert et al. 2015)."),
      activation("selu", {{"alpha", "float?", "", "1.6732632423543772"}, {"gamma", "float?", "", "1.0507009873554805"}},
                 "out[i..] = gamma * select(x[i..] <= 0, alpha * (exp(x[i..]) - 1), x[i..])",
                 "ONNX Selu (Klambauer et al. 2017)."),
      activation("celu", {{"alpha", "float?", "", "1"}},
                 "out[i..] = max(x[i..], 0) + min(alpha * (exp(x[i..] / alpha) - 1), 0)", "ONNX Celu."),
      unary("softplus", "out[i..] = max(x[i..], 0) + log(1 + exp(-abs(x[i..])))",
            "log(1 + exp(x)) in a form that does not overflow."),
      unary("softsign", "out[i..] = x[i..] / (1 + abs(x[i..]))", "ONNX Softsign."),
      activation("hard_sigmoid", {{"alpha", "float?", "slope", "0.2"}, {"beta", "float?", "value at 0", "0.5"}},
                 "out[i..] = max(min(alpha * x[i..] + beta, 1), 0)", "ONNX HardSigmoid."),
      unary("hard_swish", "out[i..] = x[i..] * max(min(x[i..] * 0.16666666666666666 + 0.5, 1), 0)", "ONNX HardSwish."),
      unary("silu", "out[i..] = x[i..] * sigmoid(x[i..])", "x * sigmoid(x), also known as swish."),
      unary("mish", "out[i..] = x[i..] * tanh(max(x[i..], 0) + log(1 + exp(-abs(x[i..]))))", "x * tanh(softplus(x))."),
      activation("thresholded_relu", {{"alpha", "float?", "threshold", "1"}},
                 "out[i..] = select(x[i..] > alpha, x[i..], 0)", "ONNX ThresholdedRelu."),
      {.name = "gelu",
       .operands = "x",
       .attrs = {{"approximate", "string?", "none (erf) or tanh", "none"}},
       .build = build_gelu,
       .doc = "x * Phi(x) (Hendrycks and Gimpel 2016)."},
      {.name = "clip",
       .operands = "x",
       .attrs = {{"min", "float?", "lower bound"}, {"max", "float?", "upper bound"}},
       .build = build_clip,
       .doc = "min(max(x, min), max) with the bounds that are given."},
  };
  return ops;
}

}  // namespace dlcb::ops
