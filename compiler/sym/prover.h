// Decides inequalities: is a polynomial >= 0 for every legal value of its symbols? Intervals first; where they fail,
// atoms are eliminated one at a time at the end of their range that makes the polynomial smallest (laws 30 to 35). A
// proof is found or not within a budget, so "false" means "not proved". Private to compiler/sym.
#pragma once
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "sym/store_impl.h"

namespace dlcb::sym {

// What a Facts value has derived from its assumptions.
struct Learned {
  std::unordered_map<uint32_t, Bounds> bounds;           // of atoms and monomials
  std::unordered_map<uint32_t, Congruence> congruences;  // likewise
  std::map<uint32_t, Expr> replace;                      // solved equalities: symbol or monomial -> equal expression
  std::vector<Poly> nonneg;                              // polynomials known to be >= 0
  std::vector<Expr> truths;                              // other boolean expressions known to be true
};

class Prover {
 public:
  explicit Prover(Store::Impl& store, const Learned* learned = nullptr, int budget = 24)
      : s_(store), learned_(learned), budget_(budget) {}

  Bounds bounds(Expr e);
  Congruence congruence(Expr e);
  Bounds bounds(const Poly& p);
  Congruence congruence(const Poly& p);
  // Index symbols of e exist, so their extents are at least 1 while e is meant.
  void in_scope(Expr e);

  bool nonneg(const Poly& p);
  bool nonneg(Expr e) { return nonneg(s_.to_poly(e)); }
  bool positive(Expr e);
  bool nonzero(Expr e);
  bool inside(const Poly& p, const Poly& extent);  // 0 <= p < extent
  const Learned* learned() const { return learned_; }

 private:
  bool prove_nonneg(const Poly& p, int depth);
  bool by_elimination(const Poly& p, int depth);
  bool eliminate(const Poly& p, Expr atom, int depth);
  bool by_cases(const Poly& p, const Term& t, int depth);
  bool both_cases(const Poly& rest, const Term& t, int depth);
  bool by_division(const Poly& p, const Term& t, int depth);
  bool by_facts(const Poly& p, int depth);
  bool by_fact(const Poly& p, const Poly& fact, int depth);
  Poly without(const Poly& p, Expr mono) const;
  Poly plus(const Poly& a, Expr e, int64_t scale) const { return s_.add(a, s_.to_poly(e), scale); }
  bool push_condition(Expr condition, bool holds);  // into local_

  Store::Impl& s_;
  const Learned* learned_;
  int budget_, steps_left_ = 0;
  bool searching_ = false;
  std::vector<Expr> scope_;  // index symbols
  std::vector<Poly> local_;  // >= 0 within the case being proved
  std::unordered_map<uint32_t, Bounds> bounds_memo_;
  std::unordered_map<uint32_t, Congruence> congruence_memo_;
};

}  // namespace dlcb::sym
