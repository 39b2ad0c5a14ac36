// Bounds and congruences of one node from those of its operands. Templates, because the Store computes them once from
// declared bounds while a prover recomputes them under its facts. kMin and kMax stand for the infinities; results that
// do not fit saturate to them, which only loosens a bound. Private to compiler/sym.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "sym/scale.h"
#include "sym/store_impl.h"

namespace dlcb::sym {

using Wide = __int128;
inline int64_t saturate(Wide v) { return v <= kMin ? kMin : v >= kMax ? kMax : static_cast<int64_t>(v); }
inline int64_t lo_add(int64_t a, int64_t b) { return a == kMin || b == kMin ? kMin : saturate(Wide(a) + b); }
inline int64_t hi_add(int64_t a, int64_t b) { return a == kMax || b == kMax ? kMax : saturate(Wide(a) + b); }
inline bool infinite(int64_t a) { return a == kMin || a == kMax; }
inline int64_t mul_ext(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  if (infinite(a) || infinite(b)) return (a < 0) == (b < 0) ? kMax : kMin;
  int64_t r = 0;
  return !__builtin_mul_overflow(a, b, &r) ? r : (a < 0) == (b < 0) ? kMax : kMin;
}
inline int64_t div_ext(int64_t a, int64_t b) {  // floor(a / b), b != 0
  if (infinite(b)) return a == 0 || (a < 0) == (b < 0) ? 0 : -1;
  if (infinite(a)) return (a < 0) == (b < 0) ? kMax : kMin;
  return b == -1 ? -a : floor_div(a, b);
}
inline Bounds intersect(Bounds a, Bounds b) { return {std::max(a.lo, b.lo), std::min(a.hi, b.hi)}; }
inline Bounds hull(Bounds a, Bounds b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }
inline Bounds add_bounds(Bounds a, Bounds b) { return {lo_add(a.lo, b.lo), hi_add(a.hi, b.hi)}; }
inline Bounds mul_bounds(Bounds a, Bounds b) {
  int64_t c[] = {mul_ext(a.lo, b.lo), mul_ext(a.lo, b.hi), mul_ext(a.hi, b.lo), mul_ext(a.hi, b.hi)};
  return {*std::min_element(c, c + 4), *std::max_element(c, c + 4)};
}
inline Bounds scale_bounds(Bounds a, int64_t k) {
  if (k == 1) return a;
  Bounds r{mul_ext(a.lo, k), mul_ext(a.hi, k)};
  return k < 0 ? Bounds{r.hi, r.lo} : r;
}
inline Bounds div_part(Bounds a, Bounds b) {  // b has one sign
  int64_t c[] = {div_ext(a.lo, b.lo), div_ext(a.lo, b.hi), div_ext(a.hi, b.lo), div_ext(a.hi, b.hi)};
  return {*std::min_element(c, c + 4), *std::max_element(c, c + 4)};
}
inline Bounds div_bounds(Bounds a, Bounds b) {
  Bounds r{kMax, kMin};  // empty
  if (b.hi >= 1) r = hull(r, div_part(a, {std::max<int64_t>(b.lo, 1), b.hi}));
  if (b.lo <= -1) r = hull(r, div_part(a, {b.lo, std::min<int64_t>(b.hi, -1)}));
  if (b.lo <= 0 && b.hi >= 0) r = hull(r, {0, 0});
  return r;
}
inline Bounds mod_bounds(Bounds a, Bounds b) {
  Bounds r{0, 0};
  if (b.hi >= 1) r.hi = b.hi == kMax ? kMax : b.hi - 1;
  if (b.lo <= -1) r.lo = b.lo == kMin ? kMin : b.lo + 1;
  if (b.lo >= 0 && a.lo >= 0) r.hi = std::min(r.hi, a.hi);
  if (b.hi <= 0 && a.hi <= 0) r.lo = std::max(r.lo, a.lo);
  return r;
}
inline int64_t scale_ext(int64_t a, double scale, bool ceil) {
  if (infinite(a)) return scale == 0 ? 0 : (a < 0) == (scale < 0) ? kMax : kMin;
  double v = scaled(a, scale);
  v = ceil ? std::ceil(v) : std::floor(v);
  return v >= 9.2e18 ? kMax : v <= -9.2e18 ? kMin : static_cast<int64_t>(v);
}

// `get` gives the bounds of an operand. Symbols are the caller's.
template <class Get>
Bounds node_bounds(const Store::Impl& s, Expr e, Get get) {
  const Node& n = s.node(e);
  auto ops = s.operands(e);
  switch (n.kind) {
    case Kind::Const:
      return {n.value, n.value};
    case Kind::Symbol:
      return get(e);
    case Kind::Sum: {
      Bounds r{n.value, n.value};
      auto cs = s.coefficients(e);
      for (size_t i = 0; i < ops.size(); i++) r = add_bounds(r, scale_bounds(get(ops[i]), cs[i]));
      return r;
    }
    case Kind::Product: {
      Bounds r{1, 1};
      for (Expr o : ops) r = mul_bounds(r, get(o));
      return r;
    }
    case Kind::FloorDiv:
      return div_bounds(get(ops[0]), get(ops[1]));
    case Kind::Mod:
      return mod_bounds(get(ops[0]), get(ops[1]));
    case Kind::Min:
    case Kind::Max: {
      Bounds r = get(ops[0]);
      for (Expr o : ops.subspan(1)) {
        Bounds b = get(o);
        r = n.kind == Kind::Min ? Bounds{std::min(r.lo, b.lo), std::min(r.hi, b.hi)}
                                : Bounds{std::max(r.lo, b.lo), std::max(r.hi, b.hi)};
      }
      return r;
    }
    case Kind::Select:
      return hull(get(ops[1]), get(ops[2]));
    case Kind::Eq:
    case Kind::Le:
    case Kind::Lt:
    case Kind::And:
    case Kind::Or:
    case Kind::Not:
      return {0, 1};
    case Kind::FloorScale:
    case Kind::CeilScale: {
      double scale = std::bit_cast<double>(n.value);
      Bounds a = get(ops[0]);
      int64_t x = scale_ext(a.lo, scale, n.kind == Kind::CeilScale),
              y = scale_ext(a.hi, scale, n.kind == Kind::CeilScale);
      return {std::min(x, y), std::max(x, y)};
    }
  }
  return {};
}

inline Wide wide_gcd(Wide a, Wide b) {
  if (a < 0) a = -a;
  if (b < 0) b = -b;
  while (b != 0) {
    Wide t = a % b;
    a = b;
    b = t;
  }
  return a;
}
// A congruence from wide parts; says nothing when it does not fit.
inline Congruence make_congruence(Wide m, Wide r) {
  if (m < 0) m = -m;
  if (m != 0) r = ((r % m) + m) % m;
  if (m > kMax || r > kMax || r < kMin) return {};
  return {static_cast<int64_t>(m), static_cast<int64_t>(r)};
}
inline Congruence add_congruence(Congruence a, Congruence b, int64_t k) {
  if (infinite(b.modulus) || infinite(b.remainder)) return {};
  return make_congruence(wide_gcd(a.modulus, Wide(b.modulus) * k), Wide(a.remainder) + Wide(b.remainder) * k);
}
inline Congruence mul_congruence(Congruence a, Congruence b) {
  Wide m =
      wide_gcd(wide_gcd(Wide(a.modulus) * b.modulus, Wide(a.modulus) * b.remainder), Wide(b.modulus) * a.remainder);
  return make_congruence(m, Wide(a.remainder) * b.remainder);
}
inline Congruence join_congruence(Congruence a, Congruence b) {
  return make_congruence(wide_gcd(wide_gcd(a.modulus, b.modulus), Wide(a.remainder) - b.remainder), a.remainder);
}
// What both say (the facts are consistent, so one of them refines the other or the caller keeps the stronger).
inline Congruence stronger(Congruence a, Congruence b) {
  if (a.modulus == 0) return a;
  if (b.modulus == 0) return b;
  return a.modulus >= b.modulus ? a : b;
}

// The bounds moved to the nearest values that satisfy the congruence.
inline Bounds tighten(Bounds b, Congruence c) {
  if (c.modulus == 0) return intersect(b, {c.remainder, c.remainder});
  if (c.modulus == 1) return b;
  auto up = [&](int64_t v) {
    return saturate(Wide(v) + static_cast<int64_t>((((Wide(c.remainder) - v) % c.modulus) + c.modulus) % c.modulus));
  };
  auto down = [&](int64_t v) {
    return saturate(Wide(v) - static_cast<int64_t>((((Wide(v) - c.remainder) % c.modulus) + c.modulus) % c.modulus));
  };
  return {b.lo == kMin ? kMin : up(b.lo), b.hi == kMax ? kMax : down(b.hi)};
}

template <class Get>
Congruence node_congruence(const Store::Impl& s, Expr e, Get get) {
  const Node& n = s.node(e);
  auto ops = s.operands(e);
  switch (n.kind) {
    case Kind::Const:
      return {0, n.value};
    case Kind::Symbol:
      return get(e);
    case Kind::Sum: {
      Congruence r{0, n.value};
      auto cs = s.coefficients(e);
      for (size_t i = 0; i < ops.size(); i++) r = add_congruence(r, get(ops[i]), cs[i]);
      return r;
    }
    case Kind::Product: {
      Congruence r{0, 1};
      for (Expr o : ops) r = mul_congruence(r, get(o));
      return r;
    }
    case Kind::Mod:  // a - b * q is congruent to a modulo every divisor of b
    case Kind::FloorDiv: {
      Congruence a = get(ops[0]), b = get(ops[1]);
      if (b.modulus != 0 || b.remainder <= 0) return {};
      int64_t d = b.remainder;
      if (n.kind == Kind::Mod)
        return a.modulus == 0 ? Congruence{0, floor_mod(a.remainder, d)}
                              : make_congruence(wide_gcd(a.modulus, d), a.remainder);
      return a.modulus % d == 0 ? make_congruence(a.modulus / d, floor_div(a.remainder, d)) : Congruence{};
    }
    case Kind::Min:
    case Kind::Max: {
      Congruence r = get(ops[0]);
      for (Expr o : ops.subspan(1)) r = join_congruence(r, get(o));
      return r;
    }
    case Kind::Select:
      return join_congruence(get(ops[1]), get(ops[2]));
    default:
      return {};
  }
}

}  // namespace dlcb::sym
