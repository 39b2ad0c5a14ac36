// Two or more operands, broadcast against each other as numpy does.
#include "ops/notation.h"
#include "ops/table/table.h"

namespace dlcb::ops {
namespace {

OpDef binary(std::string_view name, std::string_view text, std::string_view doc) {
  return {.name = name, .operands = "a, b", .text = text, .doc = doc};
}

// Joins two branches of which the host takes one: extents may differ, and only the taken side's tensor is read.
Result<Definition> build_merge(DefineContext& ctx) {
  const auto cond = ctx.attrs.exprs("cond");
  if (cond.size() != 1) return ctx.fail(DiagKind::BadAttribute, {"cond", "must be one condition"});
  if (ctx.rank(0) != ctx.rank(1) || ctx.operands[0].dtype != ctx.operands[1].dtype)
    return ctx.fail(DiagKind::RankMismatch, {"the branches of merge have different ranks or types"}, 1);
  std::vector<sym::Expr> dims;
  for (int a = 0; a < ctx.rank(0); ++a) {
    const sym::Expr x = ctx.dims(0)[a], y = ctx.dims(1)[a];
    dims.push_back(ctx.facts().equal(x, y) ? x : ctx.sym.select(cond[0], x, y));
  }
  auto index = ctx.indices(dims);
  const Scalar body =
      ctx.scalars.select(ctx.scalars.index(DType::Bool, cond[0]), ctx.load(0, index), ctx.load(1, index));
  ctx.output(ctx.operands[0].dtype, dims, index, body);
  return std::move(ctx.definition);
}

}  // namespace

std::span<const OpDef> elementwise_ops() {
  static const std::vector<OpDef> ops = {
      binary("add", "out[i..] = a[i?..] + b[i?..]", "Sum."),
      binary("sub", "out[i..] = a[i?..] - b[i?..]", "Difference."),
      binary("mul", "out[i..] = a[i?..] * b[i?..]", "Product."),
      binary("div", "out[i..] = a[i?..] / b[i?..]", "Quotient; of integers, toward zero."),
      binary("mod", "out[i..] = mod(a[i?..], b[i?..])",
             "Remainder with the sign of the divisor (Python, ONNX fmod=0)."),
      binary("rem", "out[i..] = rem(a[i?..], b[i?..])", "Remainder with the sign of the dividend (C, ONNX fmod=1)."),
      binary("pow", "out[i..] = pow(a[i?..], b[i?..])", "Power."),
      binary("min", "out[i..] = min(a[i?..], b[i?..])", "The smaller; NaN if either is."),
      binary("max", "out[i..] = max(a[i?..], b[i?..])", "The larger; NaN if either is."),
      binary("eq", "out[i..] = a[i?..] == b[i?..]", "Equal."),
      binary("ne", "out[i..] = a[i?..] != b[i?..]", "Not equal."),
      binary("lt", "out[i..] = a[i?..] < b[i?..]", "Less."),
      binary("le", "out[i..] = a[i?..] <= b[i?..]", "Less or equal."),
      binary("gt", "out[i..] = a[i?..] > b[i?..]", "Greater."),
      binary("ge", "out[i..] = a[i?..] >= b[i?..]", "Greater or equal."),
      binary("logical_and", "out[i..] = and(a[i?..], b[i?..])", "Both, of bools."),
      binary("logical_or", "out[i..] = or(a[i?..], b[i?..])", "Either, of bools."),
      binary("logical_xor", "out[i..] = xor(a[i?..], b[i?..])", "Exactly one, of bools."),
      binary("bit_and", "out[i..] = bit_and(a[i?..], b[i?..])", "Bitwise and."),
      binary("bit_or", "out[i..] = bit_or(a[i?..], b[i?..])", "Bitwise or."),
      binary("bit_xor", "out[i..] = bit_xor(a[i?..], b[i?..])", "Bitwise exclusive or."),
      binary("shift_left", "out[i..] = shl(a[i?..], b[i?..])", "Shift; 0 when the count is not below the width."),
      binary("shift_right", "out[i..] = shr(a[i?..], b[i?..])", "Shift; arithmetic for signed types."),
      {.name = "prelu",
       .operands = "x, slope",
       .text = "out[i..] = select(x[i..] < 0, slope[i?..] * x[i..], x[i..])",
       .doc = "Leaky relu with a slope tensor that is broadcast to x (ONNX PRelu)."},
      {.name = "select",
       .operands = "cond, a, b",
       .text = "out[i..] = select(cond[i?..], a[i?..], b[i?..])",
       .doc = "a where cond holds, else b (ONNX Where)."},
      {.name = "merge",
       .operands = "a, b",
       .attrs = {{"cond", "exprs", "one condition known to the host"}},
       .build = build_merge,
       .doc = "a if cond else b: joins two branches; extents may differ, the side that is not taken is not read."},
  };
  return ops;
}

}  // namespace dlcb::ops
