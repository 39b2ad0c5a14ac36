// Canonical floor division and modulus. floordiv(a, b) is floor(a / b) and 0 for b = 0; mod(a, b) is a - b *
// floordiv(a, b) and 0 for b = 0. Laws cited are those of sym/laws.md.
#include <algorithm>
#include <numeric>

#include "sym/interval.h"
#include "sym/prover.h"
#include "sym/store_impl.h"

namespace dlcb::sym {
namespace {

// The terms whose coefficients are no multiple of g, with the constant's remainder.
Poly small_part(const Poly& p, int64_t g) {
  Poly r{.constant = floor_mod(p.constant, g)};
  for (const Term& t : p.terms) {
    if (t.coef % g != 0) r.terms.push_back(t);
  }
  return r;
}

// Law 9: g > 1 dividing b such that the terms that are no multiple of g (and the constant's remainder) stay in [0, g).
int64_t separating_divisor(Prover& k, const Poly& p, int64_t b) {
  for (const Term& t : p.terms) {
    int64_t g = std::gcd(t.coef, b);
    if (g <= 1) continue;
    Bounds r = k.bounds(small_part(p, g));
    if (r.lo >= 0 && r.hi < g) return g;
  }
  return 0;
}

// The quotient when all values within the bounds have the same one.
std::optional<int64_t> constant_quotient(Bounds v, int64_t b) {
  if (infinite(v.lo) || infinite(v.hi) || floor_div(v.lo, b) != floor_div(v.hi, b)) return std::nullopt;
  return floor_div(v.lo, b);
}

}  // namespace

Expr Store::Impl::floordiv(Prover& k, Expr a, Expr b) {
  if (is_const(b)) {
    int64_t d = node(b).value;
    if (d == 0) return constant(0);
    if (d == 1) return a;
    Poly p = to_poly(a);
    if (d < 0) {  // law 4
      p = dlcb::sym::scaled(p, -1);
      d = d == kMin ? 0 : -d;
    }
    Expr ops[] = {a, b};
    return p.overflow || d == 0 ? intern(Kind::FloorDiv, ops) : floordiv_const(k, std::move(p), d);
  }
  return floordiv_symbolic(k, a, b);
}

Expr Store::Impl::floordiv_const(Prover& k, Poly p, int64_t b) {
  if (b == 1) return from_poly(p);
  if (auto q = constant_quotient(k.bounds(p), b)) return constant(*q);
  Poly q{.constant = floor_div(p.constant, b)}, r{.constant = floor_mod(p.constant, b)};  // law 5: p = b * q + r
  for (const Term& t : p.terms) {
    if (t.coef / b != 0) q.terms.push_back({t.mono, t.coef / b});
    if (t.coef % b != 0) r.terms.push_back({t.mono, t.coef % b});
  }
  if (r.terms.empty()) return from_poly(q);
  Poly total = add(q, floordiv_residue(k, r, b));
  Expr ops[] = {from_poly(p), constant(b)};
  return total.overflow ? intern(Kind::FloorDiv, ops) : recombined(total);
}

// r // b, where coefficients of r are within (-b, b) and its constant within [0, b).
Poly Store::Impl::floordiv_residue(Prover& k, const Poly& r, int64_t b) {
  if (auto q = constant_quotient(k.bounds(r), b)) return {.constant = *q};
  if (int64_t g = std::gcd(content(r, false), b); g > 1)
    return to_poly(floordiv_const(k, divided(r, g), b / g));  // law 6
  if (r.terms[0].coef < 0) {                                  // law 7: floor(-y / b) = -floor((y + b - 1) / b)
    Poly y = dlcb::sym::scaled(r, -1);
    y.constant += b - 1;
    return dlcb::sym::scaled(to_poly(floordiv_const(k, y, b)), -1);
  }
  if (int64_t g = separating_divisor(k, r, b)) {
    Poly high = add(r, small_part(r, g), -1);
    return to_poly(floordiv_const(k, divided(high, g), b / g));
  }
  Expr lead = r.terms[0].mono;
  if (r.terms.size() == 1 && r.constant == 0 && r.terms[0].coef == 1 && node(lead).kind == Kind::Mod) {
    Expr x = operands(lead)[0], m = operands(lead)[1];
    if (is_const(m) && node(m).value > 0 && node(m).value % b == 0) {  // law 10
      return to_poly(mod(k, floordiv(k, x, constant(b)), constant(node(m).value / b)));
    }
  }
  if (auto merged = absorb_division(k, r, b)) return to_poly(*merged);
  Expr ops[] = {from_poly(r), constant(b)};
  return to_poly(intern(Kind::FloorDiv, ops));
}

// Law 8: the only inner division, by a positive constant and with coefficient 1, is absorbed: (x//c + s)//b = (x +
// c*s)//(c*b).
std::optional<Expr> Store::Impl::absorb_division(Prover& k, const Poly& r, int64_t b) {
  size_t inner = SIZE_MAX, divisions = 0;
  for (size_t i = 0; i < r.terms.size(); i++) {
    if (node(r.terms[i].mono).kind != Kind::FloorDiv) continue;
    divisions++;
    Expr c = operands(r.terms[i].mono)[1];
    if (r.terms[i].coef == 1 && is_const(c) && node(c).value > 0) inner = i;
  }
  if (divisions != 1 || inner == SIZE_MAX) return std::nullopt;
  Expr x = operands(r.terms[inner].mono)[0];
  int64_t c = node(operands(r.terms[inner].mono)[1]).value, cb = 0;
  Poly others = r;
  others.terms.erase(others.terms.begin() + static_cast<std::ptrdiff_t>(inner));
  Poly numerator = add(to_poly(x), others, c);
  if (numerator.overflow || __builtin_mul_overflow(c, b, &cb)) return std::nullopt;
  return floordiv_const(k, numerator, cb);
}

Expr Store::Impl::floordiv_symbolic(Prover& k, Expr a, Expr b) {
  if (is_const(a, 0)) return a;
  k.in_scope(a);
  k.in_scope(b);
  Poly p = to_poly(a), d = to_poly(b);
  if (!d.terms.empty() && d.terms[0].coef < 0) p = dlcb::sym::scaled(p, -1), d = dlcb::sym::scaled(d, -1);  // law 4
  bool natural = k.bounds(d).lo >= 0;  // then the numerator's constant may be rounded
  if (int64_t g = std::gcd(content(p, !natural), content(d, true)); g > 1)
    p = divided(p, g), d = divided(d, g);  // law 6
  Expr asis[] = {a, b};
  if (p.overflow || d.overflow) return intern(Kind::FloorDiv, asis);
  if (d.is_const()) return floordiv_const(k, p, d.constant);
  if (p.is_const() && p.constant == 0) return constant(0);
  if (k.inside(p, d)) return constant(0);  // law 13
  Expr divisor = from_poly(d);
  Poly q, r;
  if (divide(p, d, &q, &r)) {
    if (r.terms.empty() && r.constant == 0) {  // law 12
      Expr quotient = from_poly(q), zero = constant(0);
      return k.nonzero(divisor) ? quotient : select(eq(divisor, zero), zero, quotient);
    }
    if (k.inside(r, d)) return recombined(q);
    Poly shifted = add(r, d);  // r in [-d, 0)
    if (k.inside(shifted, d)) return from_poly(add(q, {.constant = 1}, -1));
    if (d.terms.size() == 1 && d.constant == 0 && k.nonzero(divisor)) {
      Poly total = add(q, to_poly(floordiv_symbolic(k, from_poly(r), divisor)));
      if (!total.overflow) return recombined(total);
    }
  }
  const auto cancels = [&](const Separated& s) { return !s.low.is_zero() || k.nonzero(from_poly(s.factor)); };
  if (auto parts = separating_factor(k, p, d, cancels))
    return floordiv(k, from_poly(parts->high), from_poly(parts->rest));
  Expr numerator = from_poly(p);
  if (node(numerator).kind == Kind::FloorDiv && k.bounds(divisor).lo >= 0) {  // law 8
    Expr x = operands(numerator)[0], c = operands(numerator)[1];
    return floordiv(k, x, product(c, divisor));
  }
  Expr ops[] = {numerator, divisor};
  return intern(Kind::FloorDiv, ops);
}

// p = x * high + low and d = x * rest for a factor x of d, where low is 0 (laws 6, 18) or in [0, x) (laws 9, 19). The
// first that is usable: what else a law needs differs.
std::optional<Store::Impl::Separated> Store::Impl::separating_factor(
    Prover& k, const Poly& p, const Poly& d, const std::function<bool(const Separated&)>& usable) {
  if (d.constant != 0) return std::nullopt;
  auto fs = factors(d.terms[0].mono);
  std::vector<Expr> candidates(fs.begin(), fs.end());
  for (Expr x : candidates) {
    Separated s{.factor = to_poly(x), .high = {}, .low = {}, .rest = {}};
    Poly none;
    if (!divide(p, s.factor, &s.high, &s.low) || !divide(d, s.factor, &s.rest, &none) || !none.is_zero()) continue;
    if ((s.low.is_zero() || (k.inside(s.low, s.factor) && k.bounds(s.rest).lo >= 0)) && usable(s)) return s;
  }
  return std::nullopt;
}

Expr Store::Impl::mod(Prover& k, Expr a, Expr b) {
  Expr asis[] = {a, b};
  if (is_const(b)) {
    int64_t d = node(b).value;
    if (d == 0 || d == 1 || d == -1) return constant(0);
    Poly p = to_poly(a);
    if (d > 0) return mod_const(k, std::move(p), d);
    p = dlcb::sym::scaled(p, -1);  // law 14: mod(a, -b) = -mod(-a, b)
    if (p.overflow || d == kMin) return intern(Kind::Mod, asis);
    return product(mod_const(k, std::move(p), -d), constant(-1));
  }
  if (is_const(a, 0)) return a;
  k.in_scope(a);
  k.in_scope(b);
  Poly p = to_poly(a), d = to_poly(b);
  for (Term& t : p.terms) {  // law 16: mod(mod(x, b) + y, b) = mod(x + y, b)
    if (node(t.mono).kind == Kind::Mod && operands(t.mono)[1] == b) {
      Expr x = operands(t.mono)[0];
      Poly flat = add(p, {.terms = {t}}, -1);
      flat = add(flat, to_poly(x), t.coef);
      if (!flat.overflow) return mod(k, from_poly(flat), b);
    }
  }
  if (k.inside(p, d)) return a;  // law 13
  Poly q, r;
  if (d.terms[0].coef > 0 && divide(p, d, &q, &r)) {  // law 15
    if (k.inside(r, d)) return from_poly(r);
    return mod(k, from_poly(r), b);
  }
  const auto splits = [&](const Separated& s) { return s.low.is_zero() || k.nonzero(from_poly(s.rest)); };
  if (auto parts = separating_factor(k, p, d, splits)) {
    const Expr high = mod(k, from_poly(parts->high), from_poly(parts->rest));
    Poly total = add(mul(parts->factor, to_poly(high)), parts->low);
    if (!total.overflow) return recombined(total);
  }
  return intern(Kind::Mod, asis);
}

Expr Store::Impl::mod_const(Prover& k, Poly p, int64_t b) {
  Bounds whole = k.bounds(p);
  if (whole.lo >= 0 && whole.hi < b) return from_poly(p);  // law 13
  Poly r{.constant = floor_mod(p.constant, b)};
  bool again = false;
  for (const Term& t : p.terms) {  // law 15: coefficients modulo b, the residue nearest to 0
    int64_t c = floor_mod(t.coef, b);
    if (c > b / 2) c -= b;
    if (c == 0) continue;
    const Node& n = node(t.mono);
    Expr m = n.kind == Kind::Mod ? operands(t.mono)[1] : Expr{};
    if (m.valid() && is_const(m) && (Wide(c) * node(m).value) % b == 0) {  // law 16
      r = add(r, to_poly(operands(t.mono)[0]), c);
      again = true;
    } else {
      r = add(r, {.terms = {{t.mono, c}}});
    }
  }
  Expr asis[] = {from_poly(p), constant(b)};
  if (r.overflow) return intern(Kind::Mod, asis);
  if (again) return mod_const(k, r, b);
  Congruence c = k.congruence(r);
  if (c.modulus % b == 0) return constant(floor_mod(c.remainder, b));  // law 17
  whole = k.bounds(r);
  if (whole.lo >= 0 && whole.hi < b) return from_poly(r);
  if (int64_t g = std::gcd(content(r, false), b); g > 1) {  // law 18
    Poly inner = to_poly(mod_const(k, divided(r, g), b / g));
    return from_poly(add({.constant = floor_mod(r.constant, g)}, inner, g));
  }
  if (int64_t g = separating_divisor(k, r, b)) {  // law 19
    Poly low = small_part(r, g);
    Poly high = to_poly(mod_const(k, divided(add(r, low, -1), g), b / g));
    return from_poly(add(low, high, g));
  }
  Expr ops[] = {from_poly(r), constant(b)};
  return intern(Kind::Mod, ops);
}

Expr Store::floordiv(Expr a, Expr b) {
  return impl_->memoised(Kind::FloorDiv, a, b, [&] {
    Prover k(*impl_);
    return impl_->floordiv(k, a, b);
  });
}
Expr Store::mod(Expr a, Expr b) {
  return impl_->memoised(Kind::Mod, a, b, [&] {
    Prover k(*impl_);
    return impl_->mod(k, a, b);
  });
}
Expr Store::ceildiv(Expr a, Expr b) {
  Expr terms[] = {a, b, constant(-1)};
  return floordiv(add(terms), b);
}

}  // namespace dlcb::sym
