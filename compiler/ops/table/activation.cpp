// Activations: pointwise formulas of one operand, after ONNX's unless the doc says otherwise.
#include "ops/notation.h"
#include "ops/table/table.h"

namespace dlcb::ops {
namespace {

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

std::span<const OpDef> activation_ops() {
  static const std::vector<OpDef> ops = {
      activation("relu", {}, "out[i..] = max(x[i..], 0)", "max(x, 0)."),
      activation("leaky_relu", {{"alpha", "float?", "slope below 0", "0.01"}},
                 "out[i..] = select(x[i..] < 0, alpha * x[i..], x[i..])", "ONNX LeakyRelu."),
      activation("elu", {{"alpha", "float?", "limit is -alpha", "1"}},
                 "out[i..] = select(x[i..] < 0, alpha * (exp(x[i..]) - 1), x[i..])", "ONNX Elu (Clevert et al. 2015)."),
      activation("selu", {{"alpha", "float?", "", "1.6732632423543772"}, {"gamma", "float?", "", "1.0507009873554805"}},
                 "out[i..] = gamma * select(x[i..] <= 0, alpha * (exp(x[i..]) - 1), x[i..])",
                 "ONNX Selu (Klambauer et al. 2017)."),
      activation("celu", {{"alpha", "float?", "", "1"}},
                 "out[i..] = max(x[i..], 0) + min(alpha * (exp(x[i..] / alpha) - 1), 0)", "ONNX Celu."),
      activation("softplus", {}, "out[i..] = max(x[i..], 0) + log(1 + exp(-abs(x[i..])))",
                 "log(1 + exp(x)) in a form that does not overflow."),
      activation("softsign", {}, "out[i..] = x[i..] / (1 + abs(x[i..]))", "ONNX Softsign."),
      activation("hard_sigmoid", {{"alpha", "float?", "slope", "0.2"}, {"beta", "float?", "value at 0", "0.5"}},
                 "out[i..] = max(min(alpha * x[i..] + beta, 1), 0)", "ONNX HardSigmoid."),
      activation("hard_swish", {}, "out[i..] = x[i..] * max(min(x[i..] * 0.16666666666666666 + 0.5, 1), 0)",
                 "ONNX HardSwish."),
      activation("silu", {}, "out[i..] = x[i..] * sigmoid(x[i..])", "x * sigmoid(x), also known as swish."),
      activation("mish", {}, "out[i..] = x[i..] * tanh(max(x[i..], 0) + log(1 + exp(-abs(x[i..]))))",
                 "x * tanh(softplus(x))."),
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
