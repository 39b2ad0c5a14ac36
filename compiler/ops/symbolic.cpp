// Walks the body once per element with the indices replaced by numbers.
#include "ops/symbolic.h"

#include <cmath>
#include <unordered_map>

#include "ops/arithmetic.h"
#include "sym/dim_limit.h"
#include "sym/scale.h"

namespace dlcb::ops {
namespace {

using sym::Expr;
using Maybe = std::optional<Element>;

class Evaluator {
 public:
  Evaluator(ScalarStore& scalars, const sym::Facts& facts, std::span<const Operand> operands,
            const std::function<const std::vector<Element>*(ValueId)>& elements_of)
      : scalars_(scalars), s_(scalars.sym()), facts_(facts), operands_(operands), elements_of_(elements_of) {}

  void set(Expr symbol, int64_t v) { env_[symbol.id] = s_.constant(v); }
  void clear(Expr symbol) { env_.erase(symbol.id); }

  Maybe element(Scalar body) {
    fits_ = path_ = s_.constant(1);
    Maybe made = run(body);
    if (!made) return std::nullopt;
    made->expr = facts_.simplify(made->expr);
    if (!s_.is_const(fits_, 1)) made->fits = fits_;
    return made;
  }

 private:
  Maybe run(Scalar s) {
    const ScalarNode& n = scalars_.node(s);
    const Maybe e = compute(n);
    return e && is_integer(n.dtype) ? fit(n.dtype, e->expr) : e;
  }

  Maybe compute(const ScalarNode& n) {
    switch (n.kind) {
      case ScalarKind::ConstF:
        return number(n.f);
      case ScalarKind::ConstI:
        return integer(s_.constant(n.i));
      case ScalarKind::Index: {
        auto e = run(n.index);
        return e ? integer(*e) : std::nullopt;
      }
      case ScalarKind::Load:
        return load(n);
      case ScalarKind::Unary:
        return is_float(scalars_.dtype(n.operands[0])) ? unary_real(n) : unary_integer(n);
      case ScalarKind::Binary:
        return is_float(scalars_.dtype(n.operands[0])) ? binary_real(n) : binary_integer(n);
      case ScalarKind::Select:
        return select(n);
      case ScalarKind::Cast:
        return cast(n);
      case ScalarKind::Reduce:
        return reduce(n, 0);
    }
    return std::nullopt;
  }

  static Maybe integer(Expr e) { return Element{e, 1}; }

  // An integer result in its type. Literals wrap around; what else may leave the type is taken to fit it, because
  // wrapping would hide all that is known of a size. For 64 bits the host program sees to that.
  Maybe fit(DType t, Expr e) {
    if (t == DType::Bool || t == DType::I64) return integer(e);
    if (const auto c = s_.as_const(e)) {
      if (t == DType::U64) return *c >= 0 ? integer(e) : std::nullopt;
      return integer(s_.constant(wrap_to(t, *c)));
    }
    const bool above = need(s_.le(s_.constant(lowest_integer(t)), e));
    const bool below = t == DType::U64 || need(s_.le(e, s_.constant(highest_integer(t))));
    return above && below ? integer(e) : std::nullopt;
  }

  // The element is right only where the condition holds, if it is needed on the way there at all. False if that is
  // nowhere.
  bool need(Expr condition) {
    if (facts_.proves(condition)) return true;
    sym::Facts facts = facts_;
    sym::assume_dim_limit(facts, condition);
    sym::assume_dim_limit(facts, path_);
    facts.assume(path_);
    const sym::Tri known = facts.prove(condition);
    if (known == sym::Tri::Yes) return true;
    if (known == sym::Tri::No && s_.is_const(path_, 1)) return false;
    fits_ = s_.logical_and(fits_, s_.logical_or(s_.logical_not(path_), condition));
    return true;
  }

  Element number(double v) const { return {s_.constant(1), v}; }
  std::optional<double> as_number(const Element& e) const {
    auto c = s_.as_const(e.expr);
    return c && e.divisor == 1 ? std::optional<double>(sym::scaled(*c, e.scale)) : std::nullopt;
  }
  // The integer expression that a real equals, if its scale is whole.
  std::optional<Expr> as_integer(const Element& e) const {
    if (e.divisor != 1 || std::floor(e.scale) != e.scale || std::fabs(e.scale) > 1e15) return std::nullopt;
    return s_.mul(e.expr, s_.constant(static_cast<int64_t>(e.scale)));
  }

  std::optional<Expr> run(Expr e) {
    auto map = env_;
    const auto symbols = s_.symbols(e);
    for (Expr symbol : std::vector<Expr>(symbols.begin(), symbols.end()))
      if (Scalar data = scalars_.binding(symbol); data.valid()) {
        Maybe v = run(data);
        if (!v) return std::nullopt;
        map[symbol.id] = v->expr;
      }
    return facts_.simplify(s_.substitute(e, map));
  }

  Maybe load(const ScalarNode& n) {
    const std::vector<Element>* elements = elements_of_(n.value);
    if (!elements) return std::nullopt;
    const Operand* source = nullptr;
    for (const Operand& o : operands_)
      if (o.value == n.value) source = &o;
    if (!source) return std::nullopt;
    int64_t at = 0;
    for (size_t a = 0; a < n.coords.size(); ++a) {
      const auto c = run(n.coords[a]);
      const auto v = c ? s_.as_const(*c) : std::nullopt;
      const auto dim = s_.as_const(source->dims[a]);
      if (!v || !dim || *v < 0 || *v >= *dim) return std::nullopt;
      at = at * *dim + *v;
    }
    if (at >= static_cast<int64_t>(elements->size())) return std::nullopt;
    Element loaded = (*elements)[at];
    if (loaded.fits.valid() && !need(loaded.fits)) return std::nullopt;
    loaded.fits = {};
    return loaded;
  }

  Maybe unary_integer(const ScalarNode& n) {
    Maybe a = run(n.operands[0]);
    if (!a) return std::nullopt;
    const Expr zero = s_.constant(0), one = s_.constant(1);
    switch (n.fn) {
      case Fn::Neg:
        return integer(s_.neg(a->expr));
      case Fn::Abs:
        return integer(s_.max(a->expr, s_.neg(a->expr)));
      case Fn::Sign:
        return integer(s_.sub(s_.lt(zero, a->expr), s_.lt(a->expr, zero)));
      case Fn::Not:
        return integer(s_.logical_not(a->expr));
      case Fn::BitNot:
        return n.dtype == DType::Bool ? integer(s_.logical_not(a->expr)) : integer(s_.sub(s_.neg(a->expr), one));
      default:
        return std::nullopt;
    }
  }

  Maybe binary_integer(const ScalarNode& n) {
    Maybe a = run(n.operands[0]);
    Maybe b = a ? run(n.operands[1]) : std::nullopt;
    if (!b) return std::nullopt;
    const Expr x = a->expr, y = b->expr, zero = s_.constant(0);
    const DType t = scalars_.dtype(n.operands[0]);
    if (auto c = s_.as_const(x), d = s_.as_const(y); c && d) return integer(s_.constant(apply_i(n.fn, t, *c, *d)));
    const bool positive = facts_.proves(s_.le(zero, x)) && facts_.proves(s_.lt(zero, y));
    switch (n.fn) {
      case Fn::Add:
        return integer(s_.add(x, y));
      case Fn::Sub:
        return integer(s_.sub(x, y));
      case Fn::Mul:
        return integer(s_.mul(x, y));
      case Fn::Div:
        return divide(x, y);
      case Fn::Mod:
        return integer(s_.mod(x, y));
      case Fn::Rem:
        return positive ? integer(s_.mod(x, y)) : std::nullopt;
      case Fn::Min:
        return integer(s_.min(x, y));
      case Fn::Max:
        return integer(s_.max(x, y));
      case Fn::Eq:
        return integer(s_.eq(x, y));
      case Fn::Ne:
        return integer(s_.ne(x, y));
      case Fn::Lt:
        return integer(s_.lt(x, y));
      case Fn::Le:
        return integer(s_.le(x, y));
      case Fn::And:
        return integer(s_.logical_and(x, y));
      case Fn::Or:
        return integer(s_.logical_or(x, y));
      case Fn::Xor:
        return integer(s_.ne(x, y));
      default:
        return std::nullopt;
    }
  }

  // Toward zero, through the signs that are not known: |x| // |y| with the sign of the quotient.
  Maybe divide(Expr x, Expr y) {
    const Expr zero = s_.constant(0);
    auto absolute = [&](Expr e, Expr& negative) {
      const sym::Tri sign = facts_.prove(s_.lt(e, zero));
      negative = sign == sym::Tri::Yes ? s_.constant(1) : sign == sym::Tri::No ? zero : s_.lt(e, zero);
      return s_.select(negative, s_.neg(e), e);
    };
    Expr x_negative, y_negative;
    const Expr a = absolute(x, x_negative), b = absolute(y, y_negative);
    const Expr quotient = s_.floordiv(a, b);
    return integer(s_.select(s_.eq(x_negative, y_negative), quotient, s_.neg(quotient)));
  }

  Maybe unary_real(const ScalarNode& n) {
    Maybe a = run(n.operands[0]);
    if (!a) return std::nullopt;
    if (auto c = as_number(*a)) {
      const DType t = scalars_.dtype(n.operands[0]);
      if (n.dtype == DType::Bool) return integer(s_.constant(apply_test(n.fn, *c)));
      return number(apply_f(n.fn, t, *c));
    }
    switch (n.fn) {
      case Fn::Neg:
        return Element{s_.neg(a->expr), a->scale, a->divisor};
      case Fn::Floor:
        return integer(floor(*a));
      case Fn::Ceil:
        return integer(a->divisor == 1 ? s_.ceil_scale(a->expr, a->scale)
                                       : s_.ceildiv(a->expr, s_.constant(a->divisor)));
      case Fn::Round:
        return as_integer(*a) ? integer(*as_integer(*a)) : std::nullopt;
      case Fn::IsNan:
      case Fn::IsInf:
        return integer(s_.constant(0));
      default:
        return std::nullopt;
    }
  }

  Maybe binary_real(const ScalarNode& n) {
    Maybe a = run(n.operands[0]);
    Maybe b = a ? run(n.operands[1]) : std::nullopt;
    if (!b) return std::nullopt;
    const auto c = as_number(*a), d = as_number(*b);
    if (c && d) {
      if (n.dtype == DType::Bool) return integer(s_.constant(apply_test(n.fn, *c, *d)));
      return number(apply_f(n.fn, n.dtype, *c, *d));
    }
    if (n.fn == Fn::Mul && (c || d)) return times(n.dtype, c ? *b : *a, c ? *c : *d);
    if (n.fn == Fn::Div && d) return over(n.dtype, *a, *d);
    const auto x = as_integer(*a), y = as_integer(*b);
    if (n.fn == Fn::Div && x && y) return divide_exactly(*x, *y);
    if (x && y) {
      switch (n.fn) {
        case Fn::Add:
          return integer(s_.add(*x, *y));
        case Fn::Sub:
          return integer(s_.sub(*x, *y));
        case Fn::Mul:
          return integer(s_.mul(*x, *y));
        case Fn::Min:
          return integer(s_.min(*x, *y));
        case Fn::Max:
          return integer(s_.max(*x, *y));
        case Fn::Eq:
          return integer(s_.eq(*x, *y));
        case Fn::Ne:
          return integer(s_.ne(*x, *y));
        case Fn::Lt:
          return integer(s_.lt(*x, *y));
        case Fn::Le:
          return integer(s_.le(*x, *y));
        default:
          return std::nullopt;
      }
    }
    if (a->scale != b->scale || a->divisor != 1 || b->divisor != 1 || !sym::small_fraction(a->scale))
      return std::nullopt;  // each is rounded by itself
    if (n.fn == Fn::Add) return Element{s_.add(a->expr, b->expr), a->scale};
    if (n.fn == Fn::Sub) return Element{s_.sub(a->expr, b->expr), a->scale};
    return std::nullopt;
  }

  Expr floor(const Element& e) {
    return e.divisor == 1 ? s_.floor_scale(e.expr, e.scale) : s_.floordiv(e.expr, s_.constant(e.divisor));
  }

  static bool is_power_of_two(double v) {
    int exponent;
    return v != 0 && std::fabs(std::frexp(v, &exponent)) == 0.5;
  }

  // A real that is one product of a size in its type, as sym::scaled rounds it; nothing if the type rounds otherwise.
  static Maybe in_type(DType t, const Element& e) {
    if (sym::small_fraction(e.scale)) return t == DType::F32 || t == DType::F64 ? Maybe(e) : std::nullopt;
    const bool single = sym::is_f32(e.scale);
    return (t == DType::F32 && single) || (t == DType::F64 && !single) ? Maybe(e) : std::nullopt;
  }

  // A second factor would be a second rounding, unless one of both only shifts.
  Maybe times(DType t, const Element& e, double factor) {
    if (factor == 0 || !std::isfinite(factor) || e.divisor != 1) return std::nullopt;
    if (!is_power_of_two(factor) && !is_power_of_two(e.scale)) return std::nullopt;
    return in_type(t, {e.expr, e.scale * factor});
  }

  // x / k rounds to a whole number only where k divides x (while x < 2^23 in f32), so floor and ceil of it are exact.
  Maybe over(DType t, const Element& e, double divisor) {
    if (divisor == 0 || !std::isfinite(divisor) || e.divisor != 1) return std::nullopt;
    if (is_power_of_two(divisor)) return in_type(t, {e.expr, e.scale / divisor});
    const bool whole = divisor == std::floor(divisor) && divisor > 0 && divisor < 4096;
    if (!whole || e.scale != 1 || (t != DType::F32 && t != DType::F64)) return std::nullopt;
    return Element{e.expr, 1, static_cast<int64_t>(divisor)};
  }

  Maybe divide_exactly(Expr x, Expr y) {
    const Expr quotient = s_.floordiv(x, y);
    if (!facts_.equal(s_.mul(quotient, y), x)) return std::nullopt;
    return integer(quotient);
  }

  Maybe select(const ScalarNode& n) {
    Maybe c = run(n.operands[0]);
    if (!c) return std::nullopt;
    if (auto known = s_.as_const(c->expr)) return run(n.operands[*known ? 1 : 2]);
    const Expr before = path_;
    path_ = s_.logical_and(before, c->expr);
    Maybe a = run(n.operands[1]);
    path_ = s_.logical_and(before, s_.logical_not(c->expr));
    Maybe b = a ? run(n.operands[2]) : std::nullopt;
    path_ = before;
    if (!b) return std::nullopt;
    if (*a == *b) return a;
    if (a->scale == b->scale && a->divisor == b->divisor)
      return Element{s_.select(c->expr, a->expr, b->expr), a->scale, a->divisor};
    const auto x = as_integer(*a), y = as_integer(*b);
    return x && y ? integer(s_.select(c->expr, *x, *y)) : std::nullopt;
  }

  Maybe cast(const ScalarNode& n) {
    Maybe a = run(n.operands[0]);
    const DType from = scalars_.dtype(n.operands[0]);
    if (!a) return a;
    if (is_float(n.dtype)) return to_real(*a, from, n.dtype);
    const Expr zero = s_.constant(0);
    if (n.dtype == DType::Bool) return integer(s_.ne(a->expr, zero));  // scales are not 0 unless constant
    if (!is_float(from)) {
      if (auto c = s_.as_const(a->expr)) return integer(s_.constant(wrap_to(n.dtype, *c)));
      return a;
    }
    if (auto c = as_number(*a)) return integer(s_.constant(float_to_integer(n.dtype, *c)));
    if (auto whole = as_integer(*a)) return integer(*whole);
    const bool positive = a->scale > 0 && facts_.proves(s_.le(zero, a->expr));
    return positive ? integer(floor(*a)) : std::nullopt;
  }

  // Sizes are taken to be below 2^24, so that f32 holds them; 16-bit types hold small integers only.
  Maybe to_real(const Element& a, DType from, DType to) {
    if (const auto c = as_number(a)) return number(round_to(to, *c));
    if (to == DType::F32 || to == DType::F64) {
      const bool same = !is_float(from) || from == to || (from == DType::F32 && to == DType::F64);
      return same || (a.divisor == 1 && sym::small_fraction(a.scale)) ? Maybe(a) : std::nullopt;
    }
    const sym::Bounds b = facts_.bounds(a.expr);
    const int64_t exact = to == DType::F16 ? 2048 : 256;
    return a.scale == 1 && a.divisor == 1 && -exact <= b.lo && b.hi <= exact ? Maybe(a) : std::nullopt;
  }

  Maybe reduce(const ScalarNode& n, size_t depth) {
    if (depth == n.coords.size()) return run(n.operands[0]);
    const auto e = run(s_.index_extent(n.coords[depth]));
    const auto extent = e ? s_.as_const(*e) : std::nullopt;
    if (!extent || *extent > 1024) return std::nullopt;
    const bool real = is_float(n.dtype);
    Maybe total =
        real ? Maybe(number(reduce_identity_f(n.reduce))) : integer(s_.constant(reduce_identity_i(n.reduce, n.dtype)));
    for (int64_t v = 0; v < *extent; ++v) {
      set(n.coords[depth], v);
      Maybe here = reduce(n, depth + 1);
      total = v == 0 || !here ? here : combine(n.reduce, *total, *here, n.dtype);
      if (!total) break;
    }
    clear(n.coords[depth]);
    return total;
  }

  Maybe combine(ReduceFn fn, const Element& a, const Element& b, DType t) {
    const bool real = is_float(t);
    const auto x = real ? as_integer(a) : a.expr, y = real ? as_integer(b) : b.expr;
    if (!x || !y) {
      const auto c = as_number(a), d = as_number(b);
      return c && d ? Maybe(number(apply_f(combine_fn(fn), t, *c, *d))) : std::nullopt;
    }
    switch (fn) {
      case ReduceFn::Sum:
        return integer(s_.add(*x, *y));
      case ReduceFn::Prod:
        return integer(s_.mul(*x, *y));
      case ReduceFn::Min:
        return integer(s_.min(*x, *y));
      default:
        return integer(s_.max(*x, *y));
    }
  }

  ScalarStore& scalars_;
  sym::Store& s_;
  const sym::Facts& facts_;
  std::span<const Operand> operands_;
  const std::function<const std::vector<Element>*(ValueId)>& elements_of_;
  std::unordered_map<uint32_t, Expr> env_;
  Expr fits_, path_;  // of the element under way: see Element; what is known where the walk is
};

}  // namespace

std::optional<std::vector<Element>> evaluate_symbolic(
    ScalarStore& scalars, const sym::Facts& facts, const OutputDef& output, std::span<const Operand> operands,
    const std::function<const std::vector<Element>*(ValueId)>& elements_of, int64_t max_elements) {
  if (!output.body.valid()) return std::nullopt;
  std::vector<int64_t> dims;
  int64_t size = 1;
  for (Expr d : output.dims) {
    const auto c = scalars.sym().as_const(facts.simplify(d));
    if (!c || *c > max_elements) return std::nullopt;
    dims.push_back(*c);
    size *= *c;
    if (size > max_elements) return std::nullopt;
  }
  Evaluator evaluator(scalars, facts, operands, elements_of);
  std::vector<Element> out;
  for (int64_t at = 0; at < size; ++at) {
    int64_t rest = at;
    for (size_t a = dims.size(); a-- > 0; rest /= dims[a]) evaluator.set(output.index[a], rest % dims[a]);
    const Maybe element = evaluator.element(output.body);
    if (!element) return std::nullopt;
    out.push_back(*element);
  }
  return out;
}

}  // namespace dlcb::ops
