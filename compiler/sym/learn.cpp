// What an assumed condition teaches. An equality is solved for one of its terms, which is then replaced everywhere; the
// rest become bounds of single terms where possible, and inequalities between terms otherwise.
#include "sym/learn.h"

#include <algorithm>

#include "sym/decide.h"
#include "sym/interval.h"

namespace dlcb::sym {

Expr Learner::simplified(Expr e) { return Simplifier(s_, &l_, 12).simplify(e); }

void Learner::learn(Expr condition) {
  Expr c = simplified(s_.truth(condition));
  const Node n = s_.node(c);
  auto span = s_.operands(c);
  std::vector<Expr> ops(span.begin(), span.end());
  auto difference = [&] { return s_.add(s_.to_poly(ops[1]), s_.to_poly(ops[0]), -1); };  // right - left
  switch (n.kind) {
    case Kind::Const:
      return;  // known already, or the assumptions contradict each other and anything may be said
    case Kind::And:
      for (Expr o : ops) learn(o);
      return;
    case Kind::Eq:
      return equal(difference());
    case Kind::Le:
      return nonneg(difference());
    case Kind::Lt:
      return nonneg(s_.add(difference(), {.constant = 1}, -1));
    case Kind::Not: {
      l_.truths.push_back(c);
      l_.replace[ops[0].id] = s_.constant(0);
      if (s_.node(ops[0]).kind != Kind::Eq) return;
      Poly d = s_.add(s_.to_poly(s_.operands(ops[0])[0]), s_.to_poly(s_.operands(ops[0])[1]), -1);
      Bounds b = Prover(s_, &l_).bounds(d);
      if (b.lo >= 0)
        nonneg(s_.add(d, {.constant = 1}, -1));
      else if (b.hi <= 0)
        nonneg(s_.add(scaled(d, -1), {.constant = 1}, -1));
      return;
    }
    default:
      l_.truths.push_back(c);
      l_.replace[c.id] = s_.constant(1);
  }
}

void Learner::bound(Expr mono, Bounds b) {
  auto [it, fresh] = l_.bounds.try_emplace(mono.id, b);
  if (!fresh) it->second = intersect(it->second, b);
  Bounds now = Prover(s_, &l_).bounds(mono);
  if (now.lo == now.hi && !infinite(now.lo)) solve(mono, s_.constant(now.lo));
  if (now.lo < 1 || s_.node(mono).kind != Kind::Product) return;
  auto span = s_.operands(mono);
  std::vector<Expr> factors(span.begin(), span.end());
  for (Expr f : factors) {  // a product >= 1 of factors >= 0 has factors >= 1
    if (!std::ranges::all_of(factors, [&](Expr g) { return Prover(s_, &l_).bounds(g).lo >= 0; })) break;
    if (Prover(s_, &l_).bounds(f).lo < 1) bound(f, {1, kMax});
  }
}

void Learner::nonneg(Poly d) {
  if (d.overflow || d.terms.empty()) return;
  if (int64_t g = content(d, false); g > 1) d = divided(d, g);
  if (d.terms.size() == 1 && d.constant != kMin) {
    if (d.terms[0].coef == 1) return bound(d.terms[0].mono, {-d.constant, kMax});
    if (d.terms[0].coef == -1) return bound(d.terms[0].mono, {kMin, d.constant});
  }
  l_.nonneg.push_back(std::move(d));
}

bool Learner::contains(Expr e, Expr part) const {
  if (e == part) return true;
  if (e < part) return false;  // parts are older than the whole
  return std::ranges::any_of(s_.operands(e), [&](Expr o) { return contains(o, part); });
}

void Learner::equal(Poly d) {
  if (d.overflow || d.terms.empty()) return;
  if (int64_t g = content(d, true); g > 1) d = divided(d, g);
  std::vector<Term> choices;
  for (const Term& t : d.terms) {
    if (t.coef == 1 || t.coef == -1) choices.push_back(t);
  }
  // A symbol if there is one, the newest (inputs come first and stay); otherwise the leading term.
  auto is_symbol = [&](const Term& t) { return s_.node(t.mono).kind == Kind::Symbol; };
  std::ranges::stable_sort(choices, [&](const Term& a, const Term& b) {
    if (is_symbol(a) != is_symbol(b)) return is_symbol(a);
    return is_symbol(a) && a.mono.id > b.mono.id;
  });
  for (const Term& t : choices) {
    Poly rest = d;
    std::erase_if(rest.terms, [&](const Term& u) { return u.mono == t.mono; });
    rest = t.coef == 1 ? scaled(rest, -1) : rest;
    if (rest.overflow) continue;
    Expr value = s_.from_poly(rest);
    if (contains(value, t.mono)) continue;
    return solve(t.mono, value);
  }
  nonneg(d);
  nonneg(scaled(d, -1));
  Poly left, right;
  Expr eq = s_.eq(s_.from_poly(d), s_.constant(0));
  l_.truths.push_back(eq);
  l_.replace[eq.id] = s_.constant(1);
}

void Learner::solve(Expr mono, Expr value) {
  if (auto it = l_.replace.find(mono.id); it != l_.replace.end() && it->second == value) return;
  Bounds known = Prover(s_, &l_).bounds(mono);
  const Node n = s_.node(mono);
  l_.replace[mono.id] = value;
  for (auto& [id, e] : l_.replace) {
    if (id != mono.id && contains(e, mono)) e = simplified(e);
  }
  std::vector<Poly> old = std::move(l_.nonneg);
  l_.nonneg.clear();
  for (Poly& p : old) {
    bool stale = std::ranges::any_of(p.terms, [&](const Term& t) { return contains(t.mono, mono); });
    if (stale) p = s_.to_poly(simplified(s_.from_poly(p)));
    nonneg(p);
  }
  // What was known of the replaced term now is known of its value.
  Poly v = s_.to_poly(value);
  if (known.lo != kMin) nonneg(s_.add(v, {.constant = known.lo}, -1));
  if (known.hi != kMax) nonneg(s_.add({.constant = known.hi}, v, -1));
  if (n.kind == Kind::Symbol) {
    Expr extent = s_.symbols[static_cast<size_t>(n.value)].extent;
    if (extent.valid()) nonneg(s_.add(s_.add(s_.to_poly(simplified(extent)), {.constant = 1}, -1), v, -1));
  }
  if (n.kind == Kind::Mod && s_.is_const(value) && s_.is_const(s_.operands(mono)[1])) {
    int64_t m = s_.node(s_.operands(mono)[1]).value, r = s_.node(value).value;
    Poly x = s_.to_poly(s_.operands(mono)[0]);
    if (m > 1 && x.terms.size() == 1 && x.terms[0].coef == 1) {
      l_.congruences[x.terms[0].mono.id] = make_congruence(m, Wide(r) - x.constant);
    }
  }
  if (n.kind == Kind::Product && Prover(s_, &l_).bounds(value).lo >= 1) bound(mono, {1, kMax});
}

}  // namespace dlcb::sym
