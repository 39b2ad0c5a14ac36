// Operators that say which element goes where: reshape, transpose, slice, concat, pad, tile. All are coordinate maps;
// nothing here has to be materialised.
#include <algorithm>

#include "ops/notation.h"
#include "ops/table/table.h"

namespace dlcb::ops {
namespace {

using sym::Expr;

// ---- reshape ----
// Splits both shapes into the shortest segments with provably equal products, so that dims that survive keep their own
// coordinate and only true merges and splits cost a division.
class Reshape {
 public:
  Reshape(DefineContext& ctx, std::span<const Expr> in, std::span<const Expr> out, std::span<const Expr> index)
      : ctx_(ctx), in_(in), out_(out), index_(index), coords_(in.size(), ctx.constant(0)) {}

  std::vector<Expr> run() {
    size_t i = 0, o = 0;
    while (i < in_.size() || o < out_.size()) {
      if (i < in_.size() && ctx_.sym.is_const(in_[i], 1)) {
        ++i;
      } else if (o < out_.size() && ctx_.sym.is_const(out_[o], 1)) {
        ++o;
      } else {
        const auto [ni, no] = segment(i, o);
        map(i, ni, o, no);
        i = ni, o = no;
      }
    }
    return coords_;
  }

 private:
  std::pair<size_t, size_t> segment(size_t i, size_t o) {
    const size_t most = in_.size() - i + out_.size() - o;
    for (size_t total = 2; total <= most; ++total)
      for (size_t take = 1; take < total; ++take) {
        const size_t ni = i + take, no = o + total - take;
        if (ni > in_.size() || no > out_.size()) continue;
        const bool rest = ni < in_.size() || no < out_.size();
        if (rest && ctx_.sym.is_const(ctx_.product(in_.subspan(i, take)), 0)) continue;  // says nothing of the rest
        if (ctx_.facts().equal(ctx_.product(in_.subspan(i, take)), ctx_.product(out_.subspan(o, total - take))))
          return {ni, no};
      }
    ctx_.require_equal(ctx_.product(in_.subspan(i)), ctx_.product(out_.subspan(o)),
                       "a reshape must keep the number of elements", 0);
    return {in_.size(), out_.size()};
  }

  void map(size_t i, size_t ni, size_t o, size_t no) {
    Expr linear = ctx_.constant(0);
    for (size_t a = o; a < no; ++a) linear = ctx_.sym.add(ctx_.sym.mul(linear, out_[a]), index_[a]);
    for (size_t a = ni; a-- > i;) {
      if (a == i) {
        coords_[a] = ctx_.simplify(linear);
      } else {
        coords_[a] = ctx_.simplify(ctx_.sym.mod(linear, in_[a]));
        linear = ctx_.simplify(ctx_.sym.floordiv(linear, in_[a]));
      }
    }
  }

  DefineContext& ctx_;
  std::span<const Expr> in_, out_, index_;
  std::vector<Expr> coords_;
};

Result<Definition> build_reshape(DefineContext& ctx) {
  std::vector<Expr> dims = ctx.attrs.exprs("shape");
  for (Expr d : dims) ctx.require(ctx.sym.le(ctx.constant(0), d), "a size must not be negative");
  auto index = ctx.indices(dims);
  auto coords = Reshape(ctx, ctx.dims(0), dims, index).run();
  ctx.output(ctx.operands[0].dtype, dims, index, ctx.load(0, std::move(coords)));
  return std::move(ctx.definition);
}

Result<Definition> build_transpose(DefineContext& ctx) {
  const auto perm = ctx.attrs.integers("perm");
  auto sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  for (size_t a = 0; a < sorted.size(); ++a)
    if (sorted[a] != static_cast<int64_t>(a)) return ctx.fail(DiagKind::BadAttribute, {"perm", "is not a permutation"});
  if (static_cast<int>(perm.size()) != ctx.rank(0))
    return ctx.fail(DiagKind::BadAttribute, {"perm", "does not fit the operand's rank"});
  std::vector<Expr> dims, coords(perm.size());
  for (int64_t a : perm) dims.push_back(ctx.dims(0)[a]);
  auto index = ctx.indices(dims);
  for (size_t a = 0; a < perm.size(); ++a) coords[perm[a]] = index[a];
  ctx.output(ctx.operands[0].dtype, dims, index, ctx.load(0, std::move(coords)));
  return std::move(ctx.definition);
}

// Two-way, as ONNX Expand: the shape may have 1 where the operand is wide.
Result<Definition> build_broadcast_to(DefineContext& ctx) {
  const std::vector<Expr> shape = ctx.attrs.exprs("shape");
  const int rank = std::max(ctx.rank(0), static_cast<int>(shape.size()));
  std::vector<Expr> dims(rank, ctx.constant(1));
  for (int a = 0; a < rank; ++a) {
    const int x = a - (rank - ctx.rank(0)), s = a - (rank - static_cast<int>(shape.size()));
    if (x >= 0) dims[a] = ctx.dims(0)[x];
    if (s >= 0) dims[a] = x >= 0 ? ctx.broadcast_extent(dims[a], shape[s], 0, x) : shape[s];
    ctx.require(ctx.sym.le(ctx.constant(0), dims[a]), "a size must not be negative");
  }
  auto index = ctx.indices(dims);
  ctx.output(ctx.operands[0].dtype, dims, index, ctx.load_broadcast(0, index, dims));
  return std::move(ctx.definition);
}

Result<Definition> build_slice(DefineContext& ctx) {
  const auto axes = ctx.attrs.integers("axes");
  const auto steps = ctx.attrs.integers("steps");
  const auto starts = ctx.attrs.exprs("starts"), extents = ctx.attrs.exprs("extents");
  if (starts.size() != axes.size() || extents.size() != axes.size() || (!steps.empty() && steps.size() != axes.size()))
    return ctx.fail(DiagKind::BadAttribute, {"axes", "has another length than starts, steps or extents"});
  std::vector<Expr> dims(ctx.dims(0).begin(), ctx.dims(0).end());
  std::vector<int> at;
  for (size_t n = 0; n < axes.size(); ++n) {
    DLCB_ASSIGN(int a, ctx.axis(axes[n], ctx.rank(0)));
    if (std::find(at.begin(), at.end(), a) != at.end())
      return ctx.fail(DiagKind::BadAttribute, {"axes", "names an axis twice"});
    if (!steps.empty() && steps[n] == 0) return ctx.fail(DiagKind::BadAttribute, {"steps", "has a 0"});
    at.push_back(a);
    dims[a] = extents[n];
    ctx.require(ctx.sym.le(ctx.constant(0), dims[a]), "a size must not be negative", 0, a);
  }
  auto index = ctx.indices(dims);
  auto coords = index;
  for (size_t n = 0; n < at.size(); ++n)
    coords[at[n]] = ctx.sym.add(starts[n], ctx.sym.mul(index[at[n]], ctx.constant(steps.empty() ? 1 : steps[n])));
  ctx.output(ctx.operands[0].dtype, dims, index, ctx.load(0, std::move(coords)));
  return std::move(ctx.definition);
}

Result<Definition> build_concat(DefineContext& ctx) {
  DLCB_ASSIGN(const int axis, ctx.axis(ctx.attrs.integer("axis"), ctx.rank(0)));
  std::vector<Expr> dims(ctx.dims(0).begin(), ctx.dims(0).end()), begin{ctx.constant(0)};
  const int count = static_cast<int>(ctx.operands.size());
  for (int p = 0; p < count; ++p) {
    if (ctx.rank(p) != ctx.rank(0))
      return ctx.fail(DiagKind::RankMismatch, {"concatenated tensors have different ranks"}, p);
    if (ctx.operands[p].dtype != ctx.operands[0].dtype)
      return ctx.fail(DiagKind::UnsupportedType, {std::string(name_of(ctx.operands[p].dtype))}, p);
    for (int a = 0; a < ctx.rank(0); ++a)
      if (a != axis)
        ctx.require_equal(dims[a], ctx.dims(p)[a], "concatenated tensors must agree in all other dims", p, a);
    begin.push_back(ctx.sym.add(begin.back(), ctx.dims(p)[axis]));
  }
  dims[axis] = ctx.simplify(begin.back());
  auto index = ctx.indices(dims);
  Scalar body;
  for (int p = count; p-- > 0;) {  // the last operand takes what no earlier one claims
    auto coords = index;
    coords[axis] = ctx.sym.sub(index[axis], begin[p]);
    const Scalar here = ctx.load(p, std::move(coords));
    body = body.valid()
               ? ctx.scalars.select(ctx.scalars.index(DType::Bool, ctx.sym.lt(index[axis], begin[p + 1])), here, body)
               : here;
  }
  ctx.output(ctx.operands[0].dtype, dims, index, body);
  return std::move(ctx.definition);
}

Result<Definition> build_pad(DefineContext& ctx) {
  const std::string mode = ctx.attrs.text("mode", "constant");
  const std::string_view text =
      mode == "constant" ? "out[i..] = x[i - lo | value] where x is [h..]; i = #h + lo + hi"
      : mode == "edge"   ? "out[i..] = x[min(max(i - lo, 0), #h - 1)] where x is [h..]; i = #h + lo + hi"
      : mode == "wrap" ? "out[i..] = x[max(0 - lo, 0) + (i - max(lo, 0)) % (#h + min(lo, 0) + min(hi, 0))] where x is "
                         "[h..]; i = #h + "
                         "lo + hi"
      : mode == "reflect" ? "out[i..] = x[select(i < lo, lo - i, select(i - lo < #h, i - lo, 2 * (#h - 1) - (i - "
                            "lo)))] where x is [h..]; i = #h + lo + hi;"
                            " require max(max(lo, hi), 0) < max(#h + min(lo, 0) + min(hi, 0), 1) \"reflection must not "
                            "reach beyond the tensor\""
                          : "";
  if (text.empty()) return ctx.fail(DiagKind::BadAttribute, {"mode", "is '" + mode + "'"});
  DLCB_TRY(instantiate(ctx, text, ctx.attrs));
  return std::move(ctx.definition);
}

}  // namespace

std::span<const OpDef> structure_ops() {
  static const std::vector<OpDef> ops = {
      {.name = "reshape",
       .operands = "x",
       .attrs = {{"shape", "exprs", "the new dims"}},
       .build = build_reshape,
       .doc = "Same elements in row-major order under new dims."},
      {.name = "transpose",
       .operands = "x",
       .attrs = {{"perm", "ints", "out axis a is x axis perm[a]"}},
       .build = build_transpose,
       .doc = "Permutes axes."},
      {.name = "broadcast_to",
       .operands = "x",
       .attrs = {{"shape", "exprs", "dims to broadcast with"}},
       .build = build_broadcast_to,
       .doc = "Two-way broadcast with a shape (ONNX Expand)."},
      {.name = "slice",
       .operands = "x",
       .attrs = {{"axes", "ints", ""},
                 {"starts", "exprs", "first element, inside the dim"},
                 {"steps", "ints?", "not 0", "1"},
                 {"extents", "exprs", "elements taken"}},
       .build = build_slice,
       .doc = "x[start + i * step]; starts and extents already clamped (slice_rules.h). A step of -1 reverses."},
      {.name = "concat",
       .operands = "xs..",
       .attrs = {{"axis", "int", ""}},
       .build = build_concat,
       .doc = "Joins along an axis."},
      {.name = "pad",
       .operands = "x",
       .attrs = {{"lo", "exprs", "per axis, before; negative crops"},
                 {"hi", "exprs", "per axis, after"},
                 {"mode", "string?", "constant, edge, reflect or wrap", "constant"},
                 {"value", "float?", "for constant", "0"}},
       .build = build_pad,
       .doc = "Crops every axis where lo or hi is negative, then extends it (ONNX Pad)."},
      {.name = "tile",
       .operands = "x",
       .attrs = {{"repeats", "exprs", "per axis"}},
       .text = "out[i..] = x[i % #h] where x is [h..]; i = #h * repeats",
       .doc = "Repeats the tensor along every axis (ONNX Tile)."},
  };
  return ops;
}

}  // namespace dlcb::ops
