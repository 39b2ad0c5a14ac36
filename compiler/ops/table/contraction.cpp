// Sums of products over shared letters.
#include "ops/notation.h"
#include "ops/table/table.h"

namespace dlcb::ops {
namespace {

// numpy: a 1-D operand takes part without its missing dim.
Result<Definition> build_matmul(DefineContext& ctx) {
  const int a = ctx.rank(0), b = ctx.rank(1);
  if (a == 0 || b == 0)
    return ctx.fail(DiagKind::RankMismatch, {"matmul needs operands of rank 1 or more"}, a == 0 ? 0 : 1);
  const std::string_view text = a == 1 && b == 1 ? "out[] = sum[k] a[k] * b[k]"
                                : a == 1         ? "out[b.., n] = sum[k] a[k] * b[b.., k, n]"
                                : b == 1         ? "out[b.., m] = sum[k] a[b.., m, k] * b[k]"
                                                 : "out[b.., m, n] = sum[k] a[b?.., m, k] * b[b?.., k, n]";
  DLCB_TRY(instantiate(ctx, text, ctx.attrs));
  return std::move(ctx.definition);
}

const std::vector<AttrSpec> kWindow = {
    {"strides", "ints?", "per spatial axis", "1"}, {"dilations", "ints?", "per spatial axis", "1"},
    {"lo", "exprs?", "padding before", "0"},       {"hi", "exprs?", "padding after", "0"},
    {"group", "int?", "channel groups", "1"},
};

std::vector<AttrSpec> with(std::vector<AttrSpec> attrs, AttrSpec more) {
  attrs.push_back(more);
  return attrs;
}

}  // namespace

std::span<const OpDef> contraction_ops() {
  static const std::vector<OpDef> ops = {
      {.name = "matmul",
       .operands = "a, b",
       .build = build_matmul,
       .doc = "numpy matmul: batch dims broadcast, 1-D operands are vectors."},
      {.name = "conv",
       .operands = "x, w, bias?",
       .attrs = kWindow,
       .text =
           "out[n, m, p..] = (sum[c, r..] x[n, (m // (#m // group)) * #c + c, p * strides + r * dilations - lo | 0] * "
           "w[m, c, r..])"
           " + given(bias[m], 0)"
           " where x is [n, e, h..]; w is [m, c, r..];"
           " require #h + lo + hi >= (#r - 1) * dilations + 1 \"the padded input must not be smaller than the window\";"
           " p = (#h + lo + hi - (#r - 1) * dilations - 1) // strides + 1;"
           " require #e == #c * group \"input channels must be the weight's channels times the groups\";"
           " require #m % group == 0 \"output channels must be a multiple of the groups\"",
       .doc = "Cross-correlation x[n, channel, spatial..] with w[out, in / group, window..] (ONNX Conv)."},
      {.name = "conv_transpose",
       .operands = "x, w, bias?",
       .attrs = with(kWindow, {"output_padding", "ints?", "extra size after, per spatial axis", "0"}),
       .text = "out[n, m, p..] = (sum[c, r..] select(all((p + lo - r * dilations) % strides == 0),"
               " x[n, (m // #o) * #c + c, (p + lo - r * dilations) // strides | 0], 0) * w[(m // #o) * #c + c, m % #o, "
               "r..])"
               " + given(bias[m], 0)"
               " where x is [n, e, h..]; w is [e, o, r..]; m = #o * group; c = #e // group;"
               " p = (#h - 1) * strides - lo - hi + (#r - 1) * dilations + 1 + output_padding;"
               " require #e % group == 0 \"input channels must be a multiple of the groups\"",
       .doc = "The gradient of conv with respect to its input; w[in, out / group, window..] (ONNX ConvTranspose)."},
  };
  return ops;
}

}  // namespace dlcb::ops
