// The search for a lower bound: intervals, then case splits, elimination, division bounds and known inequalities, each
// of which leaves a polynomial that is nowhere larger than the goal and has one difficulty less.
#include "sym/prover.h"

#include <algorithm>
#include <set>

#include "sym/interval.h"

namespace dlcb::sym {

Bounds Prover::bounds(Expr e) {
  if (!learned_) return s_.bounds[e.id];
  if (auto it = bounds_memo_.find(e.id); it != bounds_memo_.end()) return it->second;
  Bounds b = s_.bounds[e.id];
  if (s_.node(e).kind == Kind::Symbol) {
    Expr extent = s_.symbols[static_cast<size_t>(s_.node(e).value)].extent;
    if (extent.valid()) {
      int64_t hi = bounds(extent).hi;
      if (!infinite(hi)) b.hi = std::min(b.hi, hi - 1);
    }
  } else {
    b = intersect(b, node_bounds(s_, e, [this](Expr o) { return bounds(o); }));
  }
  if (auto it = learned_->bounds.find(e.id); it != learned_->bounds.end()) b = intersect(b, it->second);
  if (auto it = learned_->replace.find(e.id); it != learned_->replace.end() && s_.is_const(it->second)) {
    b = {s_.node(it->second).value, s_.node(it->second).value};
  }
  b = tighten(b, congruence(e));
  bounds_memo_[e.id] = b;
  return b;
}

Congruence Prover::congruence(Expr e) {
  if (!learned_) return s_.congruences[e.id];
  if (auto it = congruence_memo_.find(e.id); it != congruence_memo_.end()) return it->second;
  Congruence c = s_.congruences[e.id];
  if (s_.node(e).kind != Kind::Symbol) {
    c = stronger(c, node_congruence(s_, e, [this](Expr o) { return congruence(o); }));
  }
  if (auto it = learned_->congruences.find(e.id); it != learned_->congruences.end()) c = stronger(c, it->second);
  congruence_memo_[e.id] = c;
  return c;
}

Bounds Prover::bounds(const Poly& p) {
  Bounds r{p.constant, p.constant};
  for (const Term& t : p.terms) r = add_bounds(r, scale_bounds(bounds(t.mono), t.coef));
  return r;
}

Congruence Prover::congruence(const Poly& p) {
  Congruence r{0, p.constant};
  for (const Term& t : p.terms) r = add_congruence(r, congruence(t.mono), t.coef);
  return r;
}

void Prover::in_scope(Expr e) {
  for (Expr x : s_.symbol_sets[s_.set_of[e.id]]) {
    if (s_.symbols[static_cast<size_t>(s_.node(x).value)].extent.valid()) scope_.push_back(x);
  }
}

bool Prover::positive(Expr e) {
  if (bounds(e).lo >= 1) return true;
  if (const Poly p = s_.to_poly(e); p.terms.size() == 1 && p.constant >= 0 && p.terms[0].coef > 1)
    return positive(p.terms[0].mono);
  if (s_.node(e).kind == Kind::Product) {
    auto ops = s_.operands(e);
    std::vector<Expr> factors(ops.begin(), ops.end());
    return std::ranges::all_of(factors, [this](Expr f) { return positive(f); });
  }
  for (size_t i = 0; i < scope_.size();
       i++) {  // an index exists, so its extent >= 1, so every factor >= 0 of it is >= 1
    Expr extent = s_.symbols[static_cast<size_t>(s_.node(scope_[i]).value)].extent;
    if (extent == e) return true;
    if (bounds(e).lo < 0) continue;
    if (auto rest = s_.div_monomials(extent, e); rest && bounds(*rest).lo >= 0) return true;
  }
  return nonneg(plus(s_.to_poly(e), s_.constant(1), -1));
}

bool Prover::nonzero(Expr e) {
  if (bounds(e).hi <= -1) return true;
  Congruence c = congruence(e);
  if (c.modulus == 0 ? c.remainder != 0 : c.remainder % c.modulus != 0) return true;
  if (learned_) {
    Expr zero = s_.eq(e, s_.constant(0));
    for (Expr t : learned_->truths) {
      if (s_.node(t).kind == Kind::Not && s_.operands(t)[0] == zero) return true;
    }
  }
  return positive(e);
}

bool Prover::inside(const Poly& p, const Poly& extent) {
  if (p.overflow || extent.overflow) return false;
  Bounds b = bounds(p);
  if (b.hi < 0) return false;
  Poly room = s_.add(extent, p, -1);
  if (room.overflow || room.constant == kMin) return false;
  room.constant -= 1;
  return nonneg(room) && nonneg(p);
}

bool Prover::nonneg(const Poly& p) {
  if (p.overflow) return false;
  if (searching_) return prove_nonneg(p, 2);  // a side question of a search spends the search's budget
  searching_ = true;
  steps_left_ = budget_;
  bool proved = prove_nonneg(p, 8);
  searching_ = false;
  return proved;
}

Poly Prover::without(const Poly& p, Expr mono) const {
  Poly r = p;
  std::erase_if(r.terms, [&](const Term& t) { return t.mono == mono; });
  return r;
}

bool Prover::prove_nonneg(const Poly& goal, int depth) {
  if (goal.overflow || steps_left_-- <= 0) return false;
  Bounds b = bounds(goal);
  if (b.lo >= 0) return true;
  if (b.hi < 0 || depth <= 0) return false;
  int64_t g = content(goal, false);
  const Poly p = g > 1 ? divided(goal, g) : goal;
  for (const Term& t : p.terms) {
    Kind k = s_.node(t.mono).kind;
    if (k == Kind::Select || k == Kind::Min || k == Kind::Max) return by_cases(p, t, depth);
  }
  if (by_elimination(p, depth) || by_facts(p, depth)) return true;
  for (const Term& t : p.terms) {
    if (by_division(p, t, depth)) return true;
  }
  return false;
}

bool Prover::by_elimination(const Poly& p, int depth) {
  std::set<Expr, std::greater<>> atoms;  // newest first: an extent is older than its index
  for (const Term& t : p.terms) {
    auto fs = s_.factors(t.mono);
    for (Expr f : fs) {
      const Node& n = s_.node(f);
      bool symbolic_extent = n.kind == Kind::Symbol && s_.symbols[static_cast<size_t>(n.value)].extent.valid();
      if (fs.size() > 1 || symbolic_extent) atoms.insert(f);
    }
  }
  return std::ranges::any_of(atoms, [&](Expr a) { return eliminate(p, a, depth); });
}

bool Prover::eliminate(const Poly& p, Expr atom, int depth) {
  Poly slope, rest{.constant = p.constant};
  for (const Term& t : p.terms) {
    auto m = s_.div_monomials(t.mono, atom);
    if (!m)
      rest.terms.push_back(t);
    else if (s_.is_const(*m))
      slope = s_.add(slope, {.constant = t.coef});
    else
      slope = s_.add(slope, {.terms = {{*m, t.coef}}});
  }
  Bounds b = bounds(atom);
  std::vector<Poly> highs;  // an index is less than its extent, which the goal may hold too, and at most a number
  if (s_.node(atom).kind == Kind::Symbol) {
    Expr extent = s_.symbols[static_cast<size_t>(s_.node(atom).value)].extent;
    if (extent.valid() && !s_.is_const(extent)) highs.push_back(s_.add(s_.to_poly(extent), {.constant = 1}, -1));
  }
  if (b.hi != kMax) highs.push_back({.constant = b.hi});
  auto at = [&](const Poly& end) { return prove_nonneg(s_.add(rest, s_.mul(slope, end)), depth - 1); };
  // slope * atom >= slope * end pointwise, whatever slope and rest depend on (law 31).
  if (b.lo != kMin && prove_nonneg(slope, depth - 3)) return at({.constant = b.lo});
  return !highs.empty() && prove_nonneg(scaled(slope, -1), depth - 3) && std::ranges::any_of(highs, at);
}

bool Prover::by_cases(const Poly& p, const Term& t, int depth) {
  Poly rest = without(p, t.mono);
  Kind k = s_.node(t.mono).kind;
  if (k == Kind::Select) return both_cases(rest, t, depth);
  auto ops = s_.operands(t.mono);
  std::vector<Expr> operands(ops.begin(), ops.end());
  auto holds = [&](Expr o) { return prove_nonneg(plus(rest, o, t.coef), depth - 1); };
  // c * min(..) <= c * operand for c < 0, so one operand does; otherwise the value is one of the operands (law 32).
  bool one_suffices = (k == Kind::Min) == (t.coef > 0);
  return one_suffices ? std::ranges::all_of(operands, holds) : std::ranges::any_of(operands, holds);
}

bool Prover::push_condition(Expr c, bool holds) {
  const Node& n = s_.node(c);
  if (n.kind == Kind::Not) return push_condition(s_.operands(c)[0], !holds);
  if (n.kind == Kind::And && holds) {
    for (uint32_t i = 0; i < n.count; i++) push_condition(s_.operands(c)[i], true);
    return true;
  }
  if (n.kind != Kind::Eq && n.kind != Kind::Le && n.kind != Kind::Lt) return false;
  Poly d = s_.add(s_.to_poly(s_.operands(c)[1]), s_.to_poly(s_.operands(c)[0]), -1);  // right - left
  if (n.kind == Kind::Eq) {
    if (!holds) return false;
    local_.push_back(d);
    local_.push_back(scaled(d, -1));
    return true;
  }
  if (n.kind == Kind::Lt) d = s_.add(d, {.constant = 1}, -1);
  if (!holds) d = s_.add(scaled(d, -1), {.constant = 1}, -1);
  local_.push_back(d);
  return true;
}

bool Prover::both_cases(const Poly& rest, const Term& t, int depth) {
  for (bool holds : {true, false}) {
    size_t mark = local_.size();
    push_condition(s_.operands(t.mono)[0], holds);
    bool ok = prove_nonneg(plus(rest, s_.operands(t.mono)[holds ? 1 : 2], t.coef), depth - 1);
    local_.resize(mark);
    if (!ok) return false;
  }
  return true;
}

// c * m * floordiv(a, b) and c * m * mod(a, b): from b * floordiv(a, b) in [a - b + 1, a] for b > 0 (law 33).
bool Prover::by_division(const Poly& p, const Term& t, int depth) {
  auto fs = s_.factors(t.mono);
  std::vector<Expr> factors(fs.begin(), fs.end());
  Poly rest = without(p, t.mono);
  for (Expr f : factors) {
    Kind kind = s_.node(f).kind;
    if (kind != Kind::FloorDiv && kind != Kind::Mod) continue;
    Expr a = s_.operands(f)[0], b = s_.operands(f)[1];
    Expr m = *s_.div_monomials(t.mono, f);
    if (!positive(b)) continue;
    if (kind == Kind::Mod) {
      if (t.coef > 0 || bounds(m).lo < 0) continue;
      Poly top = s_.add(s_.to_poly(b), {.constant = 1}, -1);
      if (prove_nonneg(s_.add(rest, s_.mul(top, s_.to_poly(m)), t.coef), depth - 1)) return true;
      continue;
    }
    Poly low = t.coef > 0 ? s_.add(plus(s_.to_poly(a), b, -1), {.constant = 1}) : s_.to_poly(a);  // bound of b * f
    if (s_.is_const(b)) {
      int64_t d = s_.node(b).value;
      if (bounds(m).lo < 0) continue;
      Poly scaled_goal = s_.add(scaled(rest, d), s_.mul(low, s_.to_poly(m)), t.coef);
      if (prove_nonneg(s_.add(scaled_goal, {.constant = d - 1}), depth - 1)) return true;
      continue;
    }
    auto multiple = s_.div_monomials(m, b);
    if (multiple && bounds(*multiple).lo >= 0 &&
        prove_nonneg(s_.add(rest, s_.mul(low, s_.to_poly(*multiple)), t.coef), depth - 1)) {
      return true;
    }
  }
  return false;
}

bool Prover::by_facts(const Poly& p, int depth) {
  for (size_t i = 0; i < local_.size(); i++) {
    if (Poly fact = local_[i]; by_fact(p, fact, depth)) return true;
  }
  for (size_t i = 0; i < scope_.size(); i++) {
    Expr extent = s_.symbols[static_cast<size_t>(s_.node(scope_[i]).value)].extent;
    if (s_.bounds[extent.id].lo >= 1) continue;
    if (by_fact(p, s_.add(s_.to_poly(extent), {.constant = 1}, -1), depth)) return true;
  }
  if (!learned_) return false;
  return std::ranges::any_of(learned_->nonneg, [&](const Poly& f) { return by_fact(p, f, depth); });
}

// p >= 0 follows from u * p - v * m * fact > -u, where the multiple of the fact cancels a term that lowers p (law 34).
bool Prover::by_fact(const Poly& p, const Poly& fact, int depth) {
  for (const Term& low : p.terms) {
    if (scale_bounds(bounds(low.mono), low.coef).lo >= 0) continue;
    for (const Term& t : fact.terms) {
      if ((t.coef < 0) != (low.coef < 0)) continue;
      auto m = s_.div_monomials(low.mono, t.mono);
      if (!m || bounds(*m).lo < 0 || t.coef == kMin || low.coef == kMin) continue;
      Poly multiple = scaled(s_.mul(fact, s_.to_poly(*m)), low.coef < 0 ? -low.coef : low.coef);
      int64_t u = t.coef < 0 ? -t.coef : t.coef;
      Poly left = s_.add(s_.add(scaled(p, u), multiple, -1), {.constant = u - 1});
      if (prove_nonneg(left, depth - 1)) return true;
    }
  }
  return false;
}

}  // namespace dlcb::sym
