// Reductions over axes. Those of more than one step (mean, norms, log-sum-exp, arg) compute in f32 for 16-bit floats,
// so that an intermediate sum cannot overflow the narrow type.
#include <algorithm>

#include "ops/define.h"
#include "ops/table/table.h"

namespace dlcb::ops {
namespace {

using sym::Expr;

// What the bodies of one reduction need: the reduced axes' extents and a load with fresh reduction indices.
class Reduction {
 public:
  Reduction(DefineContext& ctx, std::vector<int> axes, bool keep) : ctx(ctx), axes_(std::move(axes)) {
    for (int a = 0; a < ctx.rank(0); ++a) {
      if (!reduced(a))
        dims.push_back(ctx.dims(0)[a]);
      else if (keep)
        dims.push_back(ctx.constant(1));
    }
    index = ctx.indices(dims);
    int at = 0;
    for (int a = 0; a < ctx.rank(0); ++a) {
      coords_.push_back(reduced(a) ? Expr{} : index[at]);
      if (!reduced(a) || keep) ++at;
    }
    type = ctx.operands[0].dtype;
    wide = is_half(type) ? DType::F32 : type;
  }

  // fn over f(element), with the element in the wide type.
  template <class F>
  Scalar over(ReduceFn fn, const F& f) {
    std::vector<Expr> symbols, coords = coords_;
    for (int a : axes_) {
      symbols.push_back(ctx.sym.index("k", ctx.dims(0)[a]));
      coords[a] = symbols.back();
    }
    const Scalar x = ctx.scalars.cast(wide, ctx.load(0, coords));
    return ctx.scalars.reduce(fn, symbols, f(x, symbols));
  }
  Scalar over(ReduceFn fn) {
    return over(fn, [](Scalar x, const auto&) { return x; });
  }
  Expr count() const {
    Expr n = ctx.constant(1);
    for (int a : axes_) n = ctx.sym.mul(n, ctx.dims(0)[a]);
    return n;
  }
  Definition finish(Scalar body) {
    ctx.output(ctx.scalars.dtype(body), dims, index, body);
    return std::move(ctx.definition);
  }
  Definition finish_narrow(Scalar body) { return finish(ctx.scalars.cast(type, body)); }

  DefineContext& ctx;
  std::vector<Expr> dims, index;
  DType type, wide;

 private:
  bool reduced(int a) const { return std::find(axes_.begin(), axes_.end(), a) != axes_.end(); }
  std::vector<int> axes_;
  std::vector<Expr> coords_;
};

Result<Reduction> start(DefineContext& ctx, bool needs_float = false) {
  const DType t = ctx.operands[0].dtype;
  if (t == DType::Bool || (needs_float && !is_float(t)))
    return ctx.fail(DiagKind::UnsupportedType, {std::string(name_of(t))}, 0);
  DLCB_ASSIGN(auto axes, ctx.axes("axes", ctx.rank(0)));
  return Reduction(ctx, std::move(axes), ctx.attrs.integer("keepdims", 1) != 0);
}

template <ReduceFn kFn>
Result<Definition> build_plain(DefineContext& ctx) {
  DLCB_ASSIGN(Reduction r, start(ctx));
  r.wide = r.type;  // one step: the reduction itself accumulates wide
  return r.finish(r.over(kFn));
}

Scalar square(ScalarStore& s, Scalar x) { return s.binary(Fn::Mul, x, x); }

Result<Definition> build_mean(DefineContext& ctx) {
  DLCB_ASSIGN(Reduction r, start(ctx));
  const Scalar count = is_float(r.wide) ? ctx.scalars.cast(r.wide, ctx.scalars.index(DType::I64, r.count()))
                                        : ctx.scalars.index(r.wide, r.count());
  return r.finish_narrow(ctx.scalars.binary(Fn::Div, r.over(ReduceFn::Sum), count));
}

Result<Definition> build_l1(DefineContext& ctx) {
  DLCB_ASSIGN(Reduction r, start(ctx));
  return r.finish_narrow(r.over(ReduceFn::Sum, [&](Scalar x, const auto&) { return ctx.scalars.unary(Fn::Abs, x); }));
}

Result<Definition> build_l2(DefineContext& ctx) {
  DLCB_ASSIGN(Reduction r, start(ctx, true));
  const Scalar sum = r.over(ReduceFn::Sum, [&](Scalar x, const auto&) { return square(ctx.scalars, x); });
  return r.finish_narrow(ctx.scalars.unary(Fn::Sqrt, sum));
}

Result<Definition> build_sum_square(DefineContext& ctx) {
  DLCB_ASSIGN(Reduction r, start(ctx));
  return r.finish_narrow(r.over(ReduceFn::Sum, [&](Scalar x, const auto&) { return square(ctx.scalars, x); }));
}

Result<Definition> build_log_sum(DefineContext& ctx) {
  DLCB_ASSIGN(Reduction r, start(ctx, true));
  return r.finish_narrow(ctx.scalars.unary(Fn::Log, r.over(ReduceFn::Sum)));
}

// The largest element is subtracted first; an infinite one is not, for inf - inf is NaN.
Result<Definition> build_log_sum_exp(DefineContext& ctx) {
  DLCB_ASSIGN(Reduction r, start(ctx, true));
  ScalarStore& s = ctx.scalars;
  const Scalar largest = r.over(ReduceFn::Max);
  const Scalar shift = s.select(s.unary(Fn::IsInf, largest), s.constant_f(r.wide, 0), largest);
  const Scalar sum =
      r.over(ReduceFn::Sum, [&](Scalar x, const auto&) { return s.unary(Fn::Exp, s.binary(Fn::Sub, x, shift)); });
  return r.finish_narrow(s.binary(Fn::Add, s.unary(Fn::Log, sum), shift));
}

// The position of the extreme element: the first (or last) index whose element equals it. NaN is the extreme where
// there is one, as it is for reduce_max, and NaN equals nothing.
template <ReduceFn kFn>
Result<Definition> build_arg(DefineContext& ctx) {
  const DType t = ctx.operands[0].dtype;
  if (t == DType::Bool) return ctx.fail(DiagKind::UnsupportedType, {"bool"}, 0);
  DLCB_ASSIGN(const int axis, ctx.axis(ctx.attrs.integer("axis"), ctx.rank(0)));
  const bool last = ctx.attrs.integer("select_last_index") != 0;
  Reduction r(ctx, {axis}, ctx.attrs.integer("keepdims", 1) != 0);
  r.wide = r.type;
  ScalarStore& s = ctx.scalars;
  const Scalar extreme = r.over(kFn);
  const Scalar none = last ? s.constant_i(DType::I64, 0) : s.index(DType::I64, ctx.sym.sub(r.count(), ctx.constant(1)));
  return r.finish(r.over(last ? ReduceFn::Max : ReduceFn::Min, [&](Scalar x, const std::vector<Expr>& k) {
    Scalar here = s.binary(Fn::Eq, x, extreme);
    if (is_float(r.wide)) here = s.binary(Fn::Or, here, s.unary(Fn::IsNan, x));
    return s.select(here, s.index(DType::I64, k[0]), none);
  }));
}

OpDef reduction(std::string_view name, Result<Definition> (*build)(DefineContext&), std::string_view doc) {
  return {.name = name,
          .operands = "x",
          .attrs = {{"axes", "ints", "empty: nothing is reduced"}, {"keepdims", "int?", "0: reduced dims vanish", "1"}},
          .build = build,
          .doc = doc};
}
OpDef arg(std::string_view name, Result<Definition> (*build)(DefineContext&), std::string_view doc) {
  return {.name = name,
          .operands = "x",
          .attrs = {{"axis", "int", ""},
                    {"keepdims", "int?", "0: the dim vanishes", "1"},
                    {"select_last_index", "int?", "1: the last of equals", "0"}},
          .build = build,
          .doc = doc};
}

}  // namespace

std::span<const OpDef> reduction_ops() {
  static const std::vector<OpDef> ops = {
      reduction("reduce_sum", build_plain<ReduceFn::Sum>, "Sum; 0 of nothing."),
      reduction("reduce_prod", build_plain<ReduceFn::Prod>, "Product; 1 of nothing."),
      reduction("reduce_max", build_plain<ReduceFn::Max>,
                "Largest, NaN if there is one; -inf (or the lowest integer) of nothing."),
      reduction("reduce_min", build_plain<ReduceFn::Min>,
                "Smallest, NaN if there is one; inf (or the highest integer) of nothing."),
      reduction("reduce_mean", build_mean, "Sum divided by the count."),
      reduction("reduce_l1", build_l1, "Sum of absolute values."),
      reduction("reduce_l2", build_l2, "Square root of the sum of squares."),
      reduction("reduce_sum_square", build_sum_square, "Sum of squares."),
      reduction("reduce_log_sum", build_log_sum, "Logarithm of the sum."),
      reduction("reduce_log_sum_exp", build_log_sum_exp,
                "Logarithm of the sum of exponentials, shifted by the largest."),
      arg("argmax", build_arg<ReduceFn::Max>,
          "Position of the largest element (i64); a NaN is larger. Of nothing: unspecified."),
      arg("argmin", build_arg<ReduceFn::Min>,
          "Position of the smallest element (i64); a NaN is smaller. Of nothing: unspecified."),
  };
  return ops;
}

}  // namespace dlcb::ops
