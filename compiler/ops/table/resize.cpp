// Resize (ONNX). Each output position stands for a rational position A / B in the input, with A and B integer
// expressions: the scale is out / in when sizes are given, else the fraction that the float scale was rounded from. So
// neighbours are exact integer coordinates and only the weights are floats, whatever is symbolic.
//
// Interpolation is continuous in the position, so nothing is lost by that. `nearest` jumps: there onnxruntime's
// position is computed in f32, from a scale in f32, and rounding decides which element is read. Where the scale is a
// small binary fraction (2, 1.5, 0.25) both are the same, for the quotient's distance from the next jump is more than
// it is rounded by; where it is not, the coordinate is that f32 computation.
#include <algorithm>
#include <array>
#include <cmath>

#include "ops/define.h"
#include "ops/table/table.h"
#include "sym/scale.h"

namespace dlcb::ops {
namespace {

using sym::Expr;

struct Fraction {
  int64_t num = 1, den = 1;
};

// The fraction of smallest denominator that rounds to the same float, as the writer of the scale meant it; if there is
// none below 1000, the float's own exact value.
Fraction fraction_of(double v) {
  for (int64_t den = 1; den < 1000; ++den) {
    const double num = std::nearbyint(v * static_cast<double>(den));
    if (static_cast<float>(num / static_cast<double>(den)) == static_cast<float>(v))
      return {static_cast<int64_t>(num), den};
  }
  Fraction f;
  for (v = static_cast<float>(v); v != std::floor(v) && f.den < (int64_t{1} << 40); v *= 2) f.den *= 2;
  f.num = static_cast<int64_t>(v);
  return f;
}

struct AxisMap {
  bool same = false;   // the coordinate is the output index itself
  bool exact = false;  // a / b rounds as the f32 computation does
  Expr a, b;           // position a / b, b > 0
  Expr in, out, index;
  Scalar scale;  // in f32
};

struct Scale {
  Expr num, den;  // out / in as a fraction
  std::optional<float> given;
  bool exact = false;  // num / den is a small binary fraction and the very scale
};

class Resize {
 public:
  explicit Resize(DefineContext& ctx) : ctx_(ctx), s_(ctx.sym) {}

  Result<Definition> run() {
    mode_ = ctx_.attrs.text("mode", "nearest");
    transform_ = ctx_.attrs.text("coordinate_transformation_mode", "half_pixel");
    rounding_ = ctx_.attrs.text("nearest_mode", "round_prefer_floor");
    DLCB_TRY(check());
    DLCB_TRY(sizes());
    index_ = ctx_.indices(dims_);
    const DType type = ctx_.operands[0].dtype;
    work_ = mode_ == "nearest" || type == DType::F64 ? type : DType::F32;
    for (int a = 0; a < ctx_.rank(0); ++a) axes_.push_back(map(a));
    std::vector<Expr> coords(axes_.size());
    Scalar body = ctx_.scalars.cast(type, sample(0, coords));
    if (transform_ == "tf_crop_and_resize") body = extrapolate(body);
    ctx_.output(type, dims_, index_, body);
    return std::move(ctx_.definition);
  }

 private:
  Status check() const {
    auto one_of = [&](std::string_view attr, const std::string& value,
                      std::initializer_list<std::string_view> allowed) -> Status {
      if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return ok();
      return ctx_.fail(DiagKind::BadAttribute, {std::string(attr), "is '" + value + "'"});
    };
    DLCB_TRY(one_of("mode", mode_, {"nearest", "linear", "cubic"}));
    DLCB_TRY(one_of("coordinate_transformation_mode", transform_,
                    {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
                     "tf_half_pixel_for_nn", "tf_crop_and_resize"}));
    return one_of("nearest_mode", rounding_, {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  }

  Status sizes() {
    const auto given = ctx_.attrs.exprs("sizes");
    const auto scales = ctx_.attrs.reals("scales");
    const auto rank = static_cast<size_t>(ctx_.rank(0));
    if ((given.empty() || given.size() != rank) && scales.size() != rank)
      return ctx_.fail(DiagKind::BadAttribute, {"sizes", "and scales do not fit the operand's rank"});
    if (transform_ == "tf_crop_and_resize" && ctx_.attrs.reals("roi").size() != 2 * rank)
      return ctx_.fail(DiagKind::BadAttribute, {"roi", "must have two numbers per axis"});
    for (size_t a = 0; a < rank; ++a) {
      const Expr in = ctx_.dims(0)[a];
      if (scales.size() == rank) {
        if (!(scales[a] > 0) || scales[a] > 1e6)
          return ctx_.fail(DiagKind::BadAttribute, {"scales", "must be positive"});
        scales_.push_back(given_scale(static_cast<float>(scales[a])));
      } else {
        scales_.push_back(ratio(given[a], in));
      }
      // The size is what a model's own arithmetic on sizes gives: the floor of a product in f32.
      dims_.push_back(given.empty() ? ctx_.simplify(s_.floor_scale(in, *scales_[a].given)) : given[a]);
      ctx_.require(s_.le(ctx_.constant(0), dims_[a]), "a size must not be negative", 0, static_cast<int>(a));
      if (!given.empty() && dims_[a] != in)
        ctx_.require(s_.logical_or(s_.lt(ctx_.constant(0), in), s_.eq(dims_[a], ctx_.constant(0))),
                     "an empty dim cannot be resized", 0, static_cast<int>(a));
    }
    return ok();
  }

  Scale given_scale(float scale) {
    const Fraction f = fraction_of(scale);
    const bool exact = sym::small_fraction(scale) && (transform_ != "half_pixel_symmetric" || f.den == 1);
    return {s_.constant(f.num), s_.constant(f.den), scale, exact};
  }

  // out / in, as a number where it is one for every size that has elements: k or, a power of two, 1/k.
  Scale ratio(Expr out, Expr in) {
    sym::Facts some = ctx_.facts();
    some.assume(s_.le(ctx_.constant(1), in));
    some.assume(s_.le(ctx_.constant(1), out));
    const auto times = [&](Expr large, Expr small) -> std::optional<int64_t> {
      const auto k = s_.as_const(some.simplify(s_.floordiv(large, small)));
      if (!k || *k < 1 || *k >= 64 || !some.equal(large, s_.mul(small, s_.constant(*k)))) return std::nullopt;
      return k;
    };
    if (const auto up = times(out, in)) return {s_.constant(*up), ctx_.constant(1), std::nullopt, true};
    const auto down = times(in, out);
    if (down && (*down & (*down - 1)) == 0) return {ctx_.constant(1), s_.constant(*down), std::nullopt, true};
    return {out, in, std::nullopt, false};
  }

  Expr twice(Expr e) { return s_.mul(e, ctx_.constant(2)); }
  Expr less_one(Expr e) { return s_.sub(e, ctx_.constant(1)); }

  AxisMap map(int a) {
    AxisMap m;
    m.in = ctx_.dims(0)[a], m.out = dims_[a], m.index = index_[a];
    const Expr num = scales_[a].num, den = scales_[a].den;
    m.exact = scales_[a].exact || transform_ == "align_corners" || transform_ == "tf_crop_and_resize";
    m.scale = scales_[a].given ? ctx_.scalars.constant_f(DType::F32, *scales_[a].given)
                               : quotient(whole(DType::F32, m.out), whole(DType::F32, m.in));
    const Expr i = index_[a], odd = s_.add(twice(i), ctx_.constant(1)), one = ctx_.constant(1), zero = ctx_.constant(0);
    const bool unscaled = ctx_.facts().equal(num, den) && ctx_.facts().equal(m.in, m.out);
    if (unscaled && transform_ != "tf_crop_and_resize" && transform_ != "tf_half_pixel_for_nn") {
      m.same = true;
      return m;
    }
    const Expr half_pixel = s_.sub(s_.mul(odd, den), num);
    const Expr single = s_.eq(m.out, one);
    m.b = twice(num);
    if (transform_ == "half_pixel") {
      m.a = half_pixel;
    } else if (transform_ == "half_pixel_symmetric") {
      m.a = s_.add(half_pixel, s_.sub(s_.mul(m.in, num), s_.mul(m.out, den)));
    } else if (transform_ == "pytorch_half_pixel") {
      m.a = s_.select(single, zero, half_pixel);
    } else if (transform_ == "tf_half_pixel_for_nn") {
      m.a = s_.mul(odd, den);
    } else if (transform_ == "asymmetric") {
      m.a = s_.mul(i, den), m.b = num;
    } else if (transform_ == "align_corners") {
      m.a = s_.select(single, zero, s_.mul(i, less_one(m.in)));
      m.b = s_.select(single, one, less_one(m.out));
    } else {
      crop(a, m);
    }
    m.a = ctx_.simplify(m.a), m.b = ctx_.simplify(m.b);
    return m;
  }

  // tf_crop_and_resize: positions between start * (in - 1) and end * (in - 1).
  void crop(int a, AxisMap& m) {
    const auto roi = ctx_.attrs.reals("roi");
    const Fraction start = fraction_of(roi[a]), end = fraction_of(roi[roi.size() / 2 + a]);
    const Expr den = ctx_.constant(start.den * end.den), first = ctx_.constant(start.num * end.den),
               last = ctx_.constant(end.num * start.den);
    const Expr single = s_.eq(m.out, ctx_.constant(1)), reach = less_one(m.in);
    const Expr along = s_.add(s_.mul(first, less_one(m.out)), s_.mul(m.index, s_.sub(last, first)));
    m.a = s_.mul(reach, s_.select(single, s_.add(first, last), along));
    m.b = s_.mul(den, s_.select(single, ctx_.constant(2), less_one(m.out)));
  }

  Scalar extrapolate(Scalar body) {
    Expr inside = ctx_.constant(1);
    for (const AxisMap& m : axes_) {
      inside = s_.logical_and(inside, s_.le(ctx_.constant(0), m.a));
      inside = s_.logical_and(inside, s_.le(m.a, s_.mul(less_one(m.in), m.b)));
    }
    const Scalar outside = ctx_.scalars.constant(ctx_.operands[0].dtype, ctx_.attrs.real("extrapolation_value"));
    return ctx_.scalars.select(ctx_.scalars.index(DType::Bool, inside), body, outside);
  }

  Expr clamped(Expr e, Expr dim) {
    if (!ctx_.proves(s_.le(ctx_.constant(0), e))) e = s_.max(e, ctx_.constant(0));
    return ctx_.proves(s_.lt(e, dim)) ? e : s_.min(e, less_one(dim));
  }

  Scalar whole(DType t, Expr e) { return ctx_.scalars.cast(t, ctx_.scalars.index(DType::I64, e)); }
  Scalar quotient(Scalar x, Scalar y) { return ctx_.scalars.binary(Fn::DivExact, x, y); }

  // The position in the input as onnxruntime computes it, operation by operation.
  Scalar position(const AxisMap& m) {
    ScalarStore& s = ctx_.scalars;
    const auto f32 = [&](double v) { return s.constant_f(DType::F32, v); };
    const Scalar i = whole(DType::F32, m.index);
    if (transform_ == "asymmetric") return quotient(i, m.scale);
    if (transform_ == "half_pixel_symmetric") {
      const Scalar in = whole(DType::F32, m.in), half = s.constant_f(DType::F64, 0.5);
      const Scalar covered = quotient(whole(DType::F32, m.out), mul(m.scale, in));
      const Scalar offset = mul(quotient(in, f32(2)), sub(f32(1), covered));
      const Scalar along = quotient(add(whole(DType::F64, m.index), half), s.cast(DType::F64, m.scale));
      return s.cast(DType::F32, sub(add(s.cast(DType::F64, offset), along), half));
    }
    const Scalar centre = quotient(add(i, f32(0.5)), m.scale);
    if (transform_ == "tf_half_pixel_for_nn") return centre;
    const Scalar at = sub(centre, f32(0.5));
    if (transform_ == "half_pixel") return at;
    return s.select(s.index(DType::Bool, s_.le(m.out, ctx_.constant(1))), f32(0), at);
  }

  Expr nearest_of_f32(const AxisMap& m) {
    ScalarStore& s = ctx_.scalars;
    const Scalar x = s.binary(Fn::Max, position(m), s.constant_f(DType::F32, 0)), low = s.unary(Fn::Floor, x);
    Scalar at = low;
    if (rounding_ == "ceil") at = s.unary(Fn::Ceil, x);
    if (rounding_.starts_with("round")) {
      // onnxruntime takes what is this near to a half for one.
      constexpr double kNear = 1e-6;
      const Scalar beyond = sub(sub(x, low), s.constant_f(DType::F32, 0.5));
      const Scalar up = rounding_ == "round_prefer_ceil" ? s.binary(Fn::Le, s.constant_f(DType::F32, -kNear), beyond)
                                                         : s.binary(Fn::Lt, s.constant_f(DType::F32, kNear), beyond);
      at = s.select(up, add(low, s.constant_f(DType::F32, 1)), low);
    }
    return s.as_coordinate(s.cast(DType::I32, at), {0, sym::kMax});
  }

  Expr nearest(const AxisMap& m) {
    if (!m.exact) return nearest_of_f32(m);
    if (rounding_ == "floor") return s_.floordiv(m.a, m.b);
    if (rounding_ == "ceil") return s_.neg(s_.floordiv(s_.neg(m.a), m.b));
    if (rounding_ == "round_prefer_ceil") return s_.floordiv(s_.add(twice(m.a), m.b), twice(m.b));
    return s_.neg(s_.floordiv(s_.neg(s_.sub(twice(m.a), m.b)), twice(m.b)));
  }

  Scalar real(Expr e) { return ctx_.scalars.cast(work_, ctx_.scalars.index(DType::I64, e)); }
  Scalar number(double v) { return ctx_.scalars.constant_f(work_, v); }
  Scalar mul(Scalar x, Scalar y) { return ctx_.scalars.binary(Fn::Mul, x, y); }
  Scalar add(Scalar x, Scalar y) { return ctx_.scalars.binary(Fn::Add, x, y); }
  Scalar sub(Scalar x, Scalar y) { return ctx_.scalars.binary(Fn::Sub, x, y); }

  // The value at the position of axes `axis` on; earlier axes' coordinates are chosen already.
  Scalar sample(size_t axis, std::vector<Expr>& coords) {
    if (axis == axes_.size()) return ctx_.scalars.cast(work_, ctx_.load(0, coords));
    const AxisMap& m = axes_[axis];
    if (m.same || mode_ == "nearest") {
      coords[axis] = m.same ? m.index : clamped(ctx_.simplify(nearest(m)), m.in);
      return sample(axis + 1, coords);
    }
    const Expr base = ctx_.simplify(s_.floordiv(m.a, m.b));
    const Scalar t = ctx_.scalars.binary(Fn::Div, real(ctx_.simplify(s_.mod(m.a, m.b))), real(m.b));
    if (mode_ == "linear") {
      coords[axis] = clamped(base, m.in);
      const Scalar low = sample(axis + 1, coords);
      coords[axis] = clamped(s_.add(base, ctx_.constant(1)), m.in);
      return add(mul(low, sub(number(1), t)), mul(sample(axis + 1, coords), t));
    }
    return cubic(axis, coords, m, base, t);
  }

  // Keys' kernel at the distances 1 + t, t, 1 - t, 2 - t.
  Scalar cubic(size_t axis, std::vector<Expr>& coords, const AxisMap& m, Expr base, Scalar t) {
    const double a = ctx_.attrs.real("cubic_coeff_a", -0.75);
    auto near = [&](Scalar d) { return add(mul(mul(sub(mul(number(a + 2), d), number(a + 3)), d), d), number(1)); };
    auto far = [&](Scalar d) {
      return sub(mul(add(mul(sub(mul(number(a), d), number(5 * a)), d), number(8 * a)), d), number(4 * a));
    };
    const std::array<Scalar, 4> weights = {far(add(t, number(1))), near(t), near(sub(number(1), t)),
                                           far(sub(number(2), t))};
    const bool exclude = ctx_.attrs.integer("exclude_outside") != 0;
    Scalar sum, total;
    for (int tap = 0; tap < 4; ++tap) {
      const Expr at = s_.add(base, ctx_.constant(tap - 1));
      coords[axis] = clamped(at, m.in);
      Scalar w = weights[tap];
      if (exclude) {
        const Expr in = ctx_.inside(std::array{at}, std::array{m.in});
        w = ctx_.scalars.select(ctx_.scalars.index(DType::Bool, in), w, number(0));
        total = tap ? add(total, w) : w;
      }
      const Scalar term = mul(w, sample(axis + 1, coords));
      sum = tap ? add(sum, term) : term;
    }
    return exclude ? ctx_.scalars.binary(Fn::Div, sum, total) : sum;
  }

  DefineContext& ctx_;
  sym::Store& s_;
  std::string mode_, transform_, rounding_;
  DType work_ = DType::F32;
  std::vector<Expr> dims_, index_;
  std::vector<Scale> scales_;
  std::vector<AxisMap> axes_;
};

Result<Definition> build_resize(DefineContext& ctx) { return Resize(ctx).run(); }

}  // namespace

std::span<const OpDef> resize_ops() {
  static const std::vector<OpDef> ops = {
      {.name = "resize",
       .operands = "x",
       .attrs = {{"mode", "string?", "nearest, linear or cubic", "nearest"},
                 {"coordinate_transformation_mode", "string?", "as in ONNX, all seven", "half_pixel"},
                 {"nearest_mode", "string?", "round_prefer_floor, round_prefer_ceil, floor or ceil",
                  "round_prefer_floor"},
                 {"sizes", "exprs?", "per axis; absent: floor(dim * scale), the product in f32"},
                 {"scales", "floats?", "per axis; absent: size / dim"},
                 {"cubic_coeff_a", "float?", "", "-0.75"},
                 {"exclude_outside", "int?", "1: cubic taps outside weigh 0", "0"},
                 {"roi", "floats?", "starts, then ends; for tf_crop_and_resize"},
                 {"extrapolation_value", "float?", "outside the crop", "0"}},
       .build = build_resize,
       .doc = "Samples every axis at scaled positions (ONNX Resize without antialias). Positions are exact fractions; "
              "those of "
              "`nearest` are computed in f32, as onnxruntime does, where the scale is no small binary fraction."},
  };
  return ops;
}

}  // namespace dlcb::ops
