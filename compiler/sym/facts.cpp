// The public prover and simplifier: equalities are used by rewriting first, then the canonical condition is decided.
#include <algorithm>

#include "sym/decide.h"
#include "sym/interval.h"
#include "sym/learn.h"
#include "sym/rules.h"

namespace dlcb::sym {
namespace {

Tri decide_comparison(Store::Impl& s, Prover& k, Expr c) {
  Kind kind = s.node(c).kind;
  Poly d = s.add(s.to_poly(s.operands(c)[1]), s.to_poly(s.operands(c)[0]), -1);  // right - left
  if (kind == Kind::Lt) d = s.add(d, {.constant = 1}, -1);
  Poly minus = scaled(d, -1);
  if (d.overflow || minus.overflow) return Tri::Unknown;
  auto below = [&](const Poly& p) { return s.add(p, {.constant = 1}, -1); };
  if (kind != Kind::Eq) return k.nonneg(d) ? Tri::Yes : k.nonneg(below(minus)) ? Tri::No : Tri::Unknown;
  Congruence r = k.congruence(d);
  if (r.modulus == 0 ? r.remainder != 0 : r.remainder % r.modulus != 0) return Tri::No;
  if (k.nonneg(below(d)) || k.nonneg(below(minus))) return Tri::No;
  return k.nonneg(d) && k.nonneg(minus) ? Tri::Yes : Tri::Unknown;
}

}  // namespace

Tri decide(Store::Impl& s, Prover& k, Expr c) {
  const Node n = s.node(c);
  if (n.kind == Kind::Const) return n.value != 0 ? Tri::Yes : Tri::No;
  if (const Learned* l = k.learned()) {
    if (auto it = l->replace.find(c.id); it != l->replace.end() && s.is_const(it->second)) {
      return s.node(it->second).value != 0 ? Tri::Yes : Tri::No;
    }
  }
  auto span = s.operands(c);
  std::vector<Expr> ops(span.begin(), span.end());
  switch (n.kind) {
    case Kind::Eq:
    case Kind::Le:
    case Kind::Lt:
      return decide_comparison(s, k, c);
    case Kind::Not:
      return negate(decide(s, k, ops[0]));
    case Kind::And:
    case Kind::Or: {
      Tri stop = n.kind == Kind::And ? Tri::No : Tri::Yes, all = negate(stop);
      for (Expr o : ops) {
        Tri t = decide(s, k, o);
        if (t == stop) return stop;
        if (t == Tri::Unknown) all = t;
      }
      return all;
    }
    default: {
      Bounds b = k.bounds(c);
      return b.lo > 0 || b.hi < 0 ? Tri::Yes : b.lo == 0 && b.hi == 0 ? Tri::No : Tri::Unknown;
    }
  }
}

Expr Simplifier::replaced(Expr e) {
  for (int steps = 0; learned_ && steps < 8; steps++) {
    auto it = learned_->replace.find(e.id);
    if (it == learned_->replace.end()) return replace_products(e);
    e = it->second;
  }
  return e;
}

// A solved product inside a larger product: N*C = 768 in N*C*k.
Expr Simplifier::replace_products(Expr e) {
  if (s_.node(e).kind != Kind::Product || s_.node(e).opaque) return e;
  for (const auto& [id, value] : learned_->replace) {
    if (s_.node(Expr{id}).kind != Kind::Product || s_.node(Expr{id}).opaque) continue;
    if (auto rest = s_.div_monomials(e, Expr{id})) return s_.product(*rest, value);
  }
  return e;
}

Expr Simplifier::step(Expr e) {
  auto span = s_.operands(e);
  std::vector<Expr> before(span.begin(), span.end()), after;
  for (Expr o : before) after.push_back(simplify(o));
  Expr r = e;
  if (s_.node(e).kind != Kind::Symbol) {
    Prover k(s_, learned_, budget_);
    for (Expr o : after) k.in_scope(o);
    bool under_facts = s_.node(e).kind == Kind::FloorDiv || s_.node(e).kind == Kind::Mod ||
                       s_.node(e).kind == Kind::Min || s_.node(e).kind == Kind::Max;
    if (after != before || under_facts) r = s_.rebuild(k, e, after);
  }
  r = replaced(r);
  Prover k(s_, learned_, budget_);
  k.in_scope(r);
  if (learned_) {
    Bounds b = k.bounds(r);
    if (b.lo == b.hi && !infinite(b.lo)) return s_.constant(b.lo);
  }
  if (s_.is_boolean(r)) {
    Tri t = decide(s_, k, r);
    if (t != Tri::Unknown) return s_.constant(t == Tri::Yes);
  }
  return apply_rules(s_, k, r);
}

Expr Simplifier::simplify(Expr e) {
  if (s_.is_const(e)) return e;
  if (auto it = memo_.find(e.id); it != memo_.end()) return it->second;
  memo_[e.id] = e;  // a replacement that leads back here stops
  Expr r = step(e);
  if (r != e && depth_ < 16) {
    depth_++;
    r = simplify(r);
    depth_--;
  }
  memo_[e.id] = r;
  return r;
}

void Facts::assume(Expr condition) {
  assumed_.push_back(condition);
  if (!learned_) learned_ = std::make_shared<Learned>();
  if (learned_.use_count() > 1) learned_ = std::make_shared<Learned>(*learned_);
  Learner(store_->impl(), *learned_).learn(condition);
}

Expr Facts::simplify(Expr e) const { return Simplifier(store_->impl(), learned_.get()).simplify(e); }

Tri Facts::prove(Expr condition) const { return prove_by_cases(condition, 3); }

// The first condition of a select in e whose own operands hold no further select.
static std::optional<Expr> case_condition(const Store& store, Expr e) {
  for (Expr x : topological(store, std::span<const Expr>(&e, 1))) {
    if (store.kind(x) == Kind::Select) return store.operands(x)[0];
  }
  return std::nullopt;
}

Tri Facts::prove_by_cases(Expr condition, int depth) const {
  Store::Impl& s = store_->impl();
  Expr c = simplify(s.truth(condition));
  Prover k(s, learned_.get(), 160);
  k.in_scope(condition);
  k.in_scope(c);
  Tri t = decide(s, k, c);
  if (t != Tri::Unknown || depth == 0) return t;
  std::optional<Expr> split = case_condition(*store_, c);
  if (!split) return t;
  Facts yes = *this, no = *this;
  yes.assume(*split);
  no.assume(store_->logical_not(*split));
  Tri a = yes.prove_by_cases(c, depth - 1);
  return a != Tri::Unknown && a == no.prove_by_cases(c, depth - 1) ? a : Tri::Unknown;
}

bool Facts::equal(Expr a, Expr b) const { return a == b || proves(store_->eq(a, b)); }

Bounds Facts::bounds(Expr e) const {
  Prover k(store_->impl(), learned_.get());
  return intersect(k.bounds(e), k.bounds(simplify(e)));
}

bool Facts::divides(int64_t divisor, Expr e) const {
  if (divisor <= 0) return false;
  Prover k(store_->impl(), learned_.get());
  for (Expr x : {e, simplify(e)}) {
    Congruence c = k.congruence(x);
    if (c.modulus % divisor == 0 && c.remainder % divisor == 0) return true;
  }
  return proves(store_->eq(store_->mod(e, store_->constant(divisor)), store_->constant(0)));
}

}  // namespace dlcb::sym
