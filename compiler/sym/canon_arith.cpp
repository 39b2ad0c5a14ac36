// Canonical sums, products, min, max and scales. Laws cited are those of sym/laws.md.
#include <algorithm>
#include <bit>
#include <cmath>

#include "sym/interval.h"
#include "sym/prover.h"
#include "sym/scale.h"
#include "sym/store_impl.h"

namespace dlcb::sym {

// Law 1: sums are flat, sorted, with equal terms merged.
Expr Store::Impl::sum(std::span<const Expr> terms) {
  Poly p;
  for (Expr e : terms) {
    const Node& n = node(e);
    if (n.kind == Kind::Const) {
      p.overflow |= __builtin_add_overflow(p.constant, n.value, &p.constant);
    } else if (n.kind == Kind::Sum && !n.opaque) {
      p.overflow |= __builtin_add_overflow(p.constant, n.value, &p.constant);
      auto ops = operands(e);
      auto cs = coefficients(e);
      for (size_t i = 0; i < ops.size(); i++) p.terms.push_back({ops[i], cs[i]});
    } else {
      p.terms.push_back({e, 1});
    }
  }
  normalise(p);
  if (p.overflow) {
    std::vector<Expr> sorted(terms.begin(), terms.end());
    std::ranges::sort(sorted, [this](Expr a, Expr b) { return compare(a, b) < 0; });
    std::vector<int64_t> ones(sorted.size(), 1);
    return intern(Kind::Sum, sorted, 0, ones, true);
  }
  return recombined(p);
}

Expr Store::Impl::recombined(const Poly& p) {
  bool mods = false, divisions = false;
  for (const Term& t : p.terms) {
    Kind k = node(t.mono).kind;
    mods |= k == Kind::Mod;
    divisions |= k == Kind::FloorDiv || k == Kind::Product;
  }
  return mods && divisions ? recombine_div_mod(p) : from_poly(p);
}

// Law 11: b * floordiv(a, b) + mod(a, b) = a for b != 0.
Expr Store::Impl::recombine_div_mod(const Poly& start) {
  Poly p = start;
  for (size_t i = 0; i < p.terms.size(); i++) {
    Expr f = node(p.terms[i].mono).kind == Kind::Mod ? p.terms[i].mono : Expr{};
    if (!f.valid()) continue;
    Expr a = operands(f)[0], b = operands(f)[1];
    Prover k(*this, nullptr, 8);
    k.in_scope(f);
    if (!is_const(b) && !k.nonzero(b)) continue;
    Poly without_mod = p;
    int64_t c = p.terms[i].coef;
    without_mod.terms.erase(without_mod.terms.begin() + static_cast<std::ptrdiff_t>(i));
    Expr q = floordiv(k, a, b);
    Poly candidate = add(add(without_mod, to_poly(a), c), mul(to_poly(q), to_poly(b)), -c);
    auto has_div = [this](const Poly& x) {
      return std::ranges::count_if(x.terms, [this](const Term& t) {
        return std::ranges::any_of(factors(t.mono), [this](Expr g) { return node(g).kind == Kind::FloorDiv; });
      });
    };
    if (candidate.overflow || has_div(candidate) >= has_div(p)) continue;
    p = candidate;
    i = SIZE_MAX;  // again from the start; every round removes a mod and a division
  }
  return from_poly(p);
}

// Law 2: products of sums are expanded, products of atoms sorted.
Expr Store::Impl::product(Expr a, Expr b) {
  Poly p = mul(to_poly(a), to_poly(b));
  if (!p.overflow) return from_poly(p);
  std::vector<Expr> ops{a, b};
  if (compare(a, b) > 0) std::swap(ops[0], ops[1]);
  return intern(Kind::Product, ops, 0, {}, true);
}

// Laws 20 and 21: flat, sorted, without the operands that another one always beats.
Expr Store::Impl::min_max(Prover& k, Kind kind, std::span<const Expr> given) {
  std::vector<Expr> ops;
  for (Expr e : given) {
    if (node(e).kind == kind) {
      auto inner = operands(e);
      ops.insert(ops.end(), inner.begin(), inner.end());
    } else {
      ops.push_back(e);
    }
  }
  std::ranges::sort(ops, [this](Expr a, Expr b) { return compare(a, b) < 0; });
  ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
  for (Expr e : ops) k.in_scope(e);
  auto beats = [&](Expr a, Expr b) {  // a is never worse than b
    Poly d = add(to_poly(a), to_poly(b), -1);
    return !d.overflow && k.nonneg(kind == Kind::Max ? d : dlcb::sym::scaled(d, -1));
  };
  for (size_t i = 0; i < ops.size(); i++) {
    for (size_t j = 0; j < ops.size() && ops.size() <= 16; j++) {
      if (i == j || !beats(ops[i], ops[j])) continue;
      ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(j));
      if (j < i) i--;
      j--;
    }
  }
  return ops.size() == 1 ? ops[0] : intern(kind, ops);
}

// Law 25: a scale that is a small binary fraction n / 2^s, or within rounding of 1/k, has an exact integer form.
Expr Store::Impl::scale_op(Kind kind, Expr a, double scale) {
  DLCB_CHECK(std::isfinite(scale), "scale is not finite");
  bool ceil = kind == Kind::CeilScale;
  auto ratio = [&](int64_t n, int64_t d) {
    Expr scaled_a = product(a, constant(n));
    if (ceil) scaled_a = store->add(scaled_a, constant(d - 1));
    return store->floordiv(scaled_a, constant(d));
  };
  if (const auto f = small_fraction(scale)) return ratio(f->numerator, int64_t{1} << f->shift);
  double k = std::round(1.0 / scale);
  if (k >= 2 && k < 4096) {
    double error = std::fma(scale, k, -1.0);
    if (error >= -0x1p-54 && error <= 0x1p-53) return ratio(1, static_cast<int64_t>(k));
  }
  if (is_const(a)) {
    double v = scaled(node(a).value, scale);
    v = ceil ? std::ceil(v) : std::floor(v);
    if (std::fabs(v) < 0x1p62) return constant(static_cast<int64_t>(v));
  }
  return intern(kind, std::span<const Expr>(&a, 1), std::bit_cast<int64_t>(scale));
}

Expr Store::add(Expr a, Expr b) {
  Expr both[] = {a, b};
  return impl_->sum(both);
}
Expr Store::add(std::span<const Expr> terms) { return impl_->sum(terms); }
Expr Store::neg(Expr a) { return impl_->product(a, constant(-1)); }
Expr Store::sub(Expr a, Expr b) { return add(a, neg(b)); }
Expr Store::mul(Expr a, Expr b) { return impl_->product(a, b); }
Expr Store::mul(std::span<const Expr> factors) {
  Expr r = constant(1);
  std::vector<Expr> copy(factors.begin(), factors.end());
  for (Expr f : copy) r = impl_->product(r, f);
  return r;
}
Expr Store::min(Expr a, Expr b) {
  return impl_->memoised(Kind::Min, a, b, [&] {
    Expr both[] = {a, b};
    Prover k(*impl_);
    return impl_->min_max(k, Kind::Min, both);
  });
}
Expr Store::max(Expr a, Expr b) {
  return impl_->memoised(Kind::Max, a, b, [&] {
    Expr both[] = {a, b};
    Prover k(*impl_);
    return impl_->min_max(k, Kind::Max, both);
  });
}
Expr Store::floor_scale(Expr a, double scale) { return impl_->scale_op(Kind::FloorScale, a, scale); }
Expr Store::ceil_scale(Expr a, double scale) { return impl_->scale_op(Kind::CeilScale, a, scale); }

}  // namespace dlcb::sym
