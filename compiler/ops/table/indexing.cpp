// Coordinates that come from data, and elements that come from coordinates.
#include <algorithm>

#include "ops/notation.h"
#include "ops/table/table.h"

namespace dlcb::ops {
namespace {

using sym::Expr;

// Texts below say `rank a = axis`, which wants the axis counted from the front.
Result<Definition> along_axis(DefineContext& ctx, int rank, std::string_view text, int64_t fallback = 0) {
  DLCB_ASSIGN(const int axis, ctx.axis(ctx.attrs.integer("axis", fallback), rank));
  Attrs attrs = ctx.attrs;
  attrs.set("axis", int64_t{axis});
  DLCB_TRY(instantiate(ctx, text, attrs));
  return std::move(ctx.definition);
}

Result<Definition> build_gather(DefineContext& ctx) {
  return along_axis(ctx, ctx.rank(0), "out[a.., i.., c..] = x[a.., ids[i..], c..] where rank a = axis");
}

Result<Definition> build_gather_elements(DefineContext& ctx) {
  return along_axis(ctx, ctx.rank(0), "out[a.., j, c..] = x[(a), ids[a.., j, c..], (c)] where rank a = axis");
}

Result<Definition> build_one_hot(DefineContext& ctx) {
  return along_axis(
      ctx, ctx.rank(0) + 1,
      "out[a.., d, c..] = cast(select(select(ids[a.., c..] < 0, ids[a.., c..] + depth, ids[a.., c..]) == d,"
      " cast(on, dtype), cast(off, dtype)), dtype) where rank a = axis; d = depth",
      -1);
}

Result<Definition> build_cumsum(DefineContext& ctx) {
  return along_axis(ctx, ctx.rank(0),
                    "out[a.., i, c..] = sum[k] select(select(reverse, select(exclusive, i < k, i <= k), "
                    "select(exclusive, k < i, k <= i)),"
                    " x[a.., k, c..], 0) where rank a = axis; i = #k");
}

// ids[b.., i.., L] holds the first L coordinates after the batch dims; the rest of x is taken whole. L is the extent of
// the last dim, so the number of coordinates depends on a literal extent, which the notation cannot say.
Result<Definition> build_gather_nd(DefineContext& ctx) {
  const int batch = static_cast<int>(ctx.attrs.integer("batch_dims"));
  const int x_rank = ctx.rank(0), ids_rank = ctx.rank(1);
  const auto depth = ids_rank > 0 ? ctx.sym.as_const(ctx.dims(1)[ids_rank - 1]) : std::nullopt;
  if (!depth) return ctx.fail(DiagKind::UnknownShape, {"gather_nd", "the last dim of the indices is not a literal"}, 1);
  if (batch < 0 || batch >= ids_rank || *depth < 1 || batch + *depth > x_rank)
    return ctx.fail(
        DiagKind::RankMismatch,
        {"gather_nd indices of depth " + std::to_string(*depth) + " do not fit rank " + std::to_string(x_rank)}, 1);
  if (is_float(ctx.operands[1].dtype)) return ctx.fail(DiagKind::UnsupportedType, {"float (as an index)"}, 1);
  for (int a = 0; a < batch; ++a) ctx.require_equal(ctx.dims(0)[a], ctx.dims(1)[a], "batch dims must be equal", 1, a);
  std::vector<Expr> dims(ctx.dims(1).begin(), ctx.dims(1).end() - 1);
  const int rest = batch + static_cast<int>(*depth);
  dims.insert(dims.end(), ctx.dims(0).begin() + rest, ctx.dims(0).end());
  auto index = ctx.indices(dims);
  std::vector<Expr> coords(index.begin(), index.begin() + batch);
  for (int64_t d = 0; d < *depth; ++d) {
    std::vector<Expr> at(index.begin(), index.begin() + ids_rank - 1);
    at.push_back(ctx.constant(d));
    const int axis = batch + static_cast<int>(d);
    ctx.require_gatherable(ctx.dims(0)[axis], ctx.dims(1), 0, axis);
    coords.push_back(ctx.gathered(ctx.load(1, std::move(at)), ctx.dims(0)[axis]));
  }
  coords.insert(coords.end(), index.begin() + ids_rank - 1, index.end());
  ctx.output(ctx.operands[0].dtype, dims, index, ctx.load(0, std::move(coords)));
  return std::move(ctx.definition);
}

// A small tensor of integer expressions: a chain of choices by position.
Result<Definition> build_ints(DefineContext& ctx) {
  const std::vector<Expr> elements = ctx.attrs.exprs("elements");
  const DType t = ctx.attrs.dtype("dtype", DType::I64);
  if (is_float(t)) return ctx.fail(DiagKind::BadAttribute, {"dtype", "is not an integer type"});
  const bool scalar = ctx.attrs.integer("scalar") != 0;
  if (scalar && elements.size() != 1)
    return ctx.fail(DiagKind::BadAttribute, {"elements", "must be one element for a scalar"});
  std::vector<Expr> dims;
  if (!scalar) dims.push_back(ctx.constant(static_cast<int64_t>(elements.size())));
  auto index = ctx.indices(dims);
  Expr value = elements.empty() ? ctx.constant(0) : elements.back();
  for (size_t n = elements.size(); n > 1; --n)
    value = ctx.sym.select(ctx.sym.eq(index[0], ctx.constant(static_cast<int64_t>(n) - 2)), elements[n - 2], value);
  ctx.output(t, dims, index, ctx.scalars.index(t, value));
  return std::move(ctx.definition);
}

}  // namespace

std::span<const OpDef> indexing_ops() {
  static const std::vector<OpDef> ops = {
      {.name = "gather",
       .operands = "x, ids",
       .attrs = {{"axis", "int?", "of x", "0"}},
       .build = build_gather,
       .doc =
           "x[.., ids[..], ..] along an axis; negative indices count from the end, others are clamped (ONNX Gather)."},
      {.name = "gather_elements",
       .operands = "x, ids",
       .attrs = {{"axis", "int?", "of x", "0"}},
       .build = build_gather_elements,
       .doc = "Takes x at ids along an axis and at the output's own coordinates elsewhere (ONNX GatherElements)."},
      {.name = "gather_nd",
       .operands = "x, ids",
       .attrs = {{"batch_dims", "int?", "leading dims in common", "0"}},
       .build = build_gather_nd,
       .doc = "The last dim of ids holds coordinates (ONNX GatherND)."},
      {.name = "iota",
       .attrs = {{"start", "exprs", "one integer"},
                 {"step", "exprs", "one integer"},
                 {"extent", "exprs", "one size"},
                 {"dtype", "dtype", ""}},
       .text = "out[i] = cast(start + i * step, dtype) where i = extent",
       .doc = "start, start + step, ... (ONNX Range of integers)."},
      {.name = "ints",
       .attrs = {{"elements", "exprs", "row-major"},
                 {"dtype", "dtype?", "an integer type or bool", "i64"},
                 {"scalar", "int?", "1: rank 0", "0"}},
       .build = build_ints,
       .doc = "A 1-D (or 0-D) tensor of integer expressions, such as a shape."},
      {.name = "fill",
       .attrs = {{"value", "float", ""}, {"dtype", "dtype", ""}, {"shape", "exprs", ""}},
       .text = "out[i..] = cast(value, dtype) where i = shape",
       .doc = "One value everywhere (ONNX ConstantOfShape)."},
      {.name = "one_hot",
       .operands = "ids",
       .attrs = {{"depth", "exprs", "one size"},
                 {"axis", "int?", "of the result", "-1"},
                 {"on", "float?", "", "1"},
                 {"off", "float?", "", "0"},
                 {"dtype", "dtype", "of the result"}},
       .build = build_one_hot,
       .doc = "on where the new axis' index equals ids, else off (ONNX OneHot)."},
      {.name = "triangular",
       .operands = "x",
       .attrs = {{"upper", "int", "1: keep the upper part"},
                 {"k", "exprs", "one integer: the diagonal"},
                 {"value", "float?", "elsewhere", "0"}},
       .text = "out[b.., i, j] = select(select(upper, i + k <= j, j <= i + k), x[b.., i, j], value)",
       .doc = "Keeps one side of a diagonal, which is included (ONNX Trilu)."},
      {.name = "cumsum",
       .operands = "x",
       .attrs = {{"axis", "int", ""},
                 {"exclusive", "int?", "1: without the element itself", "0"},
                 {"reverse", "int?", "1: from the end", "0"}},
       .build = build_cumsum,
       .doc = "Running sums along an axis (ONNX CumSum)."},
  };
  return ops;
}

}  // namespace dlcb::ops
