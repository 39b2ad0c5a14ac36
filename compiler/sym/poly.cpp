// Checked polynomial arithmetic over interned monomials.
#include "sym/poly.h"

#include <algorithm>
#include <numeric>

#include "sym/interval.h"
#include "sym/store_impl.h"

namespace dlcb::sym {
namespace {

constexpr size_t kMaxTerms = 256;  // a product that would expand to more stays a product

bool mul_into(int64_t& a, int64_t k) { return !__builtin_mul_overflow(a, k, &a); }
bool add_into(int64_t& a, int64_t k) { return !__builtin_add_overflow(a, k, &a); }

}  // namespace

Poly scaled(Poly p, int64_t k) {
  if (k == 0) return {.overflow = p.overflow};
  bool ok = mul_into(p.constant, k);
  for (Term& t : p.terms) ok &= mul_into(t.coef, k);
  p.overflow |= !ok;
  return p;
}

int64_t content(const Poly& p, bool with_constant) {
  uint64_t g = 0;
  auto take = [&](int64_t c) { g = std::gcd(g, c < 0 ? uint64_t(0) - uint64_t(c) : uint64_t(c)); };
  for (const Term& t : p.terms) take(t.coef);
  if (with_constant) take(p.constant);
  return g > uint64_t(kMax) ? 1 : static_cast<int64_t>(g);
}

Poly divided(Poly p, int64_t k) {
  for (Term& t : p.terms) t.coef /= k;
  p.constant = floor_div(p.constant, k);
  return p;
}

Poly Store::Impl::to_poly(Expr e) const {
  const Node& n = node(e);
  if (n.kind == Kind::Const) return {.constant = n.value};
  if (n.kind != Kind::Sum || n.opaque) return {.terms = {{e, 1}}};
  Poly p{.constant = n.value};
  auto ops = operands(e);
  auto cs = coefficients(e);
  p.terms.reserve(ops.size());
  for (size_t i = 0; i < ops.size(); i++) p.terms.push_back({ops[i], cs[i]});
  return p;
}

Expr Store::Impl::from_poly(const Poly& p) {
  DLCB_CHECK(!p.overflow, "a polynomial that overflowed has no expression");
  if (p.terms.empty()) return constant(p.constant);
  if (p.terms.size() == 1 && p.constant == 0 && p.terms[0].coef == 1) return p.terms[0].mono;
  std::vector<Expr> ops(p.terms.size());
  std::vector<int64_t> cs(p.terms.size());
  for (size_t i = 0; i < ops.size(); i++) {
    ops[i] = p.terms[i].mono;
    cs[i] = p.terms[i].coef;
  }
  return intern(Kind::Sum, ops, p.constant, cs);
}

void Store::Impl::normalise(Poly& p) const {
  auto less = [this](const Term& a, const Term& b) { return compare_terms(a.mono, b.mono) < 0; };
  if (!std::ranges::is_sorted(p.terms, less)) std::ranges::stable_sort(p.terms, less);
  size_t out = 0;
  for (size_t i = 0; i < p.terms.size();) {
    Term t = p.terms[i++];
    while (i < p.terms.size() && p.terms[i].mono == t.mono) p.overflow |= !add_into(t.coef, p.terms[i++].coef);
    if (t.coef != 0) p.terms[out++] = t;
  }
  p.terms.resize(out);
}

Poly Store::Impl::add(const Poly& a, const Poly& b, int64_t k) const {
  Poly r{.constant = a.constant, .overflow = a.overflow || b.overflow};
  r.terms.reserve(a.terms.size() + b.terms.size());
  int64_t c = b.constant;
  r.overflow |= !mul_into(c, k) || !add_into(r.constant, c);
  size_t i = 0, j = 0;
  while (i < a.terms.size() || j < b.terms.size()) {
    int order = i == a.terms.size() ? 1 : j == b.terms.size() ? -1 : compare_terms(a.terms[i].mono, b.terms[j].mono);
    Term t = order <= 0 ? a.terms[i++] : Term{b.terms[j].mono, 0};
    if (order >= 0) {
      int64_t coef = b.terms[j++].coef;
      r.overflow |= !mul_into(coef, k) || !add_into(t.coef, coef);
    }
    if (t.coef != 0) r.terms.push_back(t);
  }
  return r;
}

Expr Store::Impl::mul_monomials(Expr a, Expr b) {
  if (is_const(a, 1)) return b;
  if (is_const(b, 1)) return a;
  auto x = factors(a), y = factors(b);
  std::vector<Expr> all(x.size() + y.size());
  std::ranges::merge(x, y, all.begin(), [this](Expr l, Expr r) { return compare(l, r) < 0; });
  return intern(Kind::Product, all);
}

std::optional<Expr> Store::Impl::div_monomials(Expr a, Expr b) {
  if (is_const(b, 1)) return a;
  if (is_const(a, 1)) return std::nullopt;
  auto x = factors(a), y = factors(b);
  std::vector<Expr> rest;
  size_t j = 0;
  for (Expr f : x) {
    if (j < y.size() && f == y[j])
      j++;
    else
      rest.push_back(f);
  }
  if (j != y.size()) return std::nullopt;
  if (rest.empty()) return constant(1);
  return rest.size() == 1 ? rest[0] : intern(Kind::Product, rest);
}

Poly Store::Impl::mul(const Poly& a, const Poly& b) {
  if (a.is_const()) return scaled(b, a.constant);
  if (b.is_const()) return scaled(a, b.constant);
  Poly r{.overflow = a.overflow || b.overflow || (a.terms.size() + 1) * (b.terms.size() + 1) > kMaxTerms};
  if (r.overflow) return r;
  auto put = [&](Expr mono, int64_t x, int64_t y) {
    r.overflow |= !mul_into(x, y);
    if (x != 0) r.terms.push_back({mono, x});
  };
  for (const Term& s : a.terms) {
    for (const Term& t : b.terms) put(mul_monomials(s.mono, t.mono), s.coef, t.coef);
    put(s.mono, s.coef, b.constant);
  }
  for (const Term& t : b.terms) put(t.mono, t.coef, a.constant);
  r.constant = a.constant;
  r.overflow |= !mul_into(r.constant, b.constant);
  normalise(r);
  return r;
}

Bounds Store::Impl::poly_bounds(const Poly& p) const {
  Bounds r{p.constant, p.constant};
  for (const Term& t : p.terms) r = add_bounds(r, scale_bounds(bounds[t.mono.id], t.coef));
  return r;
}

bool Store::Impl::divide(const Poly& p, const Poly& divisor, Poly* quotient, Poly* remainder) {
  if (divisor.terms.empty() || p.overflow || divisor.overflow) return false;
  Poly q, r, rest = p;
  const Term lead = divisor.terms[0];
  for (size_t steps = 0; !rest.terms.empty(); steps++) {
    Term t = rest.terms[0];
    std::optional<Expr> m = t.coef % lead.coef == 0 ? div_monomials(t.mono, lead.mono) : std::nullopt;
    if (!m) {
      r.terms.push_back(t);
      rest.terms.erase(rest.terms.begin());
      continue;
    }
    int64_t c = t.coef / lead.coef;
    Poly factor = is_const(*m, 1) ? Poly{.constant = c} : Poly{.terms = {{*m, c}}};
    q = add(q, factor);
    rest = add(rest, mul(factor, divisor), -1);
    if (rest.overflow || steps > kMaxTerms) return false;
  }
  r.constant = rest.constant;
  if (q.terms.empty() && q.constant == 0) return false;
  *quotient = std::move(q);
  *remainder = std::move(r);
  return true;
}

}  // namespace dlcb::sym
