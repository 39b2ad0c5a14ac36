// Canonical comparisons, boolean operators and select. Booleans are the integers 0 and 1. Laws cited are those of
// sym/laws.md.
#include <algorithm>
#include <bit>
#include <numeric>

#include "sym/interval.h"
#include "sym/prover.h"
#include "sym/store_impl.h"

namespace dlcb::sym {
namespace {

constexpr int kBudget = 12;  // proof steps that a comparison's constructor may spend

// d = left - right, each side with positive coefficients and a constant >= 0.
void split_sides(const Poly& d, Poly* left, Poly* right) {
  for (const Term& t : d.terms) {
    if (t.coef > 0)
      left->terms.push_back(t);
    else
      right->terms.push_back({t.mono, -t.coef});
  }
  if (d.constant >= 0)
    left->constant = d.constant;
  else
    right->constant = -d.constant;
}

bool fits(const Poly& p) {  // negation is safe
  return !p.overflow && p.constant != kMin &&
         std::ranges::none_of(p.terms, [](const Term& t) { return t.coef == kMin; });
}

}  // namespace

// Law 22: a == b as left == right, free of common terms and factors, the leading term on the left.
Expr Store::Impl::eq(Expr a, Expr b) {
  if (a == b) return constant(1);
  Poly d = add(to_poly(a), to_poly(b), -1);
  if (!fits(d)) {
    Expr ops[] = {a, b};
    if (compare(a, b) > 0) std::swap(ops[0], ops[1]);
    return intern(Kind::Eq, ops);
  }
  if (d.terms.empty()) return constant(d.constant == 0);
  int64_t g = content(d, false);
  if (d.constant % g != 0) return constant(0);
  d = divided(d, g);
  if (d.terms[0].coef < 0) d = dlcb::sym::scaled(d, -1);
  Bounds r = poly_bounds(d);
  if (r.lo > 0 || r.hi < 0) return constant(0);
  if (r.lo == 0 && r.hi == 0) return constant(1);
  Prover k(*this, nullptr, kBudget);
  Congruence c = k.congruence(d);
  if (c.modulus == 0 ? c.remainder != 0 : c.remainder % c.modulus != 0) return constant(0);
  if (d.terms.size() == 1 && d.terms[0].coef == 1 && is_boolean(d.terms[0].mono)) {
    return d.constant == 0 ? logical_not(d.terms[0].mono) : d.terms[0].mono;
  }
  k.in_scope(a);
  k.in_scope(b);
  Poly minus = add(dlcb::sym::scaled(d, -1), {.constant = 1}, -1), plus = add(d, {.constant = 1}, -1);
  if (k.nonneg(plus) || k.nonneg(minus)) return constant(0);
  Poly left, right;
  split_sides(d, &left, &right);
  Expr ops[] = {from_poly(left), from_poly(right)};
  return intern(Kind::Eq, ops);
}

// Law 23: a <= b with everything divided by the common factor, the constant rounded; strict where that avoids a
// constant.
Expr Store::Impl::le(Expr a, Expr b) {
  if (a == b) return constant(1);
  Poly d = add(to_poly(b), to_poly(a), -1);  // >= 0
  Expr asis[] = {a, b};
  if (!fits(d)) return intern(Kind::Le, asis);
  if (d.terms.empty()) return constant(d.constant >= 0);
  if (int64_t g = content(d, false); g > 1) d = divided(d, g);
  Bounds r = poly_bounds(d);
  if (r.lo >= 0) return constant(1);
  if (r.hi < 0) return constant(0);
  if (d.terms.size() == 1 && is_boolean(d.terms[0].mono) && (d.terms[0].coef == 1 || d.terms[0].coef == -1)) {
    return d.terms[0].coef == 1 ? d.terms[0].mono
                                : logical_not(d.terms[0].mono);  // x >= 1, or x <= 0: the rest is bounds
  }
  Prover k(*this, nullptr, kBudget);
  k.in_scope(a);
  k.in_scope(b);
  if (k.nonneg(d)) return constant(1);
  if (k.nonneg(add(dlcb::sym::scaled(d, -1), {.constant = 1}, -1))) return constant(0);
  Poly left, right;
  split_sides(d, &right, &left);
  bool strict = d.constant < 0 && !left.terms.empty() && !right.terms.empty();
  if (strict) left.constant -= 1;
  Expr ops[] = {from_poly(left), from_poly(right)};
  return intern(strict ? Kind::Lt : Kind::Le, ops);
}

Expr Store::Impl::truth(Expr e) { return is_boolean(e) ? e : logical_not(eq(e, constant(0))); }

Expr Store::Impl::logical_not(Expr e) {
  e = truth(e);
  const Node& n = node(e);
  auto ops = operands(e);
  switch (n.kind) {
    case Kind::Const:
      return constant(n.value == 0);
    case Kind::Not:
      return ops[0];
    case Kind::Le:
      return store->lt(ops[1], ops[0]);
    case Kind::Lt:
      return le(ops[1], ops[0]);
    default:
      return intern(Kind::Not, std::span<const Expr>(&e, 1));
  }
}

// Law 24: flat, sorted, without constants and repetitions; x and not x decide the whole.
Expr Store::Impl::and_or(Kind kind, std::span<const Expr> given) {
  const int64_t neutral = kind == Kind::And ? 1 : 0;
  std::vector<Expr> ops;
  for (Expr e : given) {
    e = truth(e);
    if (is_const(e, neutral)) continue;
    if (is_const(e)) return constant(1 - neutral);
    if (node(e).kind == kind) {
      auto inner = operands(e);
      ops.insert(ops.end(), inner.begin(), inner.end());
    } else {
      ops.push_back(e);
    }
  }
  std::ranges::sort(ops, [this](Expr a, Expr b) { return compare(a, b) < 0; });
  ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
  for (Expr e : ops) {
    Kind k = node(e).kind;
    if (k != Kind::Not && k != Kind::Le && k != Kind::Lt) continue;
    Expr opposite = logical_not(e);
    if (std::ranges::find(ops, opposite) != ops.end()) return constant(1 - neutral);
  }
  if (ops.empty()) return constant(neutral);
  return ops.size() == 1 ? ops[0] : intern(kind, ops);
}

// Law 26.
Expr Store::Impl::select(Expr c, Expr a, Expr b) {
  c = truth(c);
  if (is_const(c)) return node(c).value != 0 ? a : b;
  if (a == b) return a;
  if (node(c).kind == Kind::Not) {
    c = operands(c)[0];
    std::swap(a, b);
  }
  if (node(a).kind == Kind::Select && operands(a)[0] == c) a = operands(a)[1];
  if (node(b).kind == Kind::Select && operands(b)[0] == c) b = operands(b)[2];
  if (a == b) return a;
  if (is_const(a, 1) && is_const(b, 0)) return c;
  if (is_const(a, 0) && is_const(b, 1)) return logical_not(c);
  if (node(c).kind == Kind::Eq && eq(a, b) == c) return b;
  if (node(c).kind == Kind::Le || node(c).kind == Kind::Lt) {
    if (le(a, b) == c || store->lt(a, b) == c) return store->min(a, b);
    if (le(b, a) == c || store->lt(b, a) == c) return store->max(a, b);
  }
  Expr ops[] = {c, a, b};
  return intern(Kind::Select, ops);
}

Expr Store::Impl::rebuild(Prover& k, Expr e, std::span<const Expr> ops) {
  const Node n = node(e);
  switch (n.kind) {
    case Kind::Const:
    case Kind::Symbol:
      return e;
    case Kind::Sum: {
      std::vector<Expr> terms{constant(n.value)};
      for (size_t i = 0; i < ops.size(); i++) terms.push_back(product(ops[i], constant(coefficients(e)[i])));
      return sum(terms);
    }
    case Kind::Product: {
      Expr r = ops[0];
      for (Expr o : ops.subspan(1)) r = product(r, o);
      return r;
    }
    case Kind::FloorDiv:
      return floordiv(k, ops[0], ops[1]);
    case Kind::Mod:
      return mod(k, ops[0], ops[1]);
    case Kind::Min:
    case Kind::Max:
      return min_max(k, n.kind, ops);
    case Kind::Select:
      return select(ops[0], ops[1], ops[2]);
    case Kind::Eq:
      return eq(ops[0], ops[1]);
    case Kind::Le:
      return le(ops[0], ops[1]);
    case Kind::Lt:
      return store->lt(ops[0], ops[1]);
    case Kind::And:
    case Kind::Or:
      return and_or(n.kind, ops);
    case Kind::Not:
      return logical_not(ops[0]);
    case Kind::FloorScale:
    case Kind::CeilScale:
      return scale_op(n.kind, ops[0], std::bit_cast<double>(n.value));
  }
  return e;
}

Expr Store::select(Expr cond, Expr a, Expr b) { return impl_->select(cond, a, b); }
Expr Store::eq(Expr a, Expr b) {
  return impl_->memoised(Kind::Eq, a, b, [&] { return impl_->eq(a, b); });
}
Expr Store::ne(Expr a, Expr b) { return impl_->logical_not(eq(a, b)); }
Expr Store::le(Expr a, Expr b) {
  return impl_->memoised(Kind::Le, a, b, [&] { return impl_->le(a, b); });
}
Expr Store::lt(Expr a, Expr b) {
  Poly left = impl_->add(impl_->to_poly(a), {.constant = 1});
  if (left.overflow) {
    Expr ops[] = {a, b};
    return impl_->intern(Kind::Lt, ops);
  }
  return le(impl_->from_poly(left), b);
}
Expr Store::logical_and(Expr a, Expr b) {
  Expr both[] = {a, b};
  return impl_->and_or(Kind::And, both);
}
Expr Store::logical_or(Expr a, Expr b) {
  Expr both[] = {a, b};
  return impl_->and_or(Kind::Or, both);
}
Expr Store::logical_not(Expr a) { return impl_->logical_not(a); }

}  // namespace dlcb::sym
