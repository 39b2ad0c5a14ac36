// Turns assumptions into bounds, congruences, replacements and inequalities. Private to compiler/sym.
#pragma once
#include "sym/prover.h"

namespace dlcb::sym {

class Learner {
 public:
  Learner(Store::Impl& s, Learned& l) : s_(s), l_(l) {}
  void learn(Expr condition);

 private:
  void equal(Poly d);   // d == 0
  void nonneg(Poly d);  // d >= 0
  void bound(Expr mono, Bounds b);
  void solve(Expr mono, Expr value);
  bool contains(Expr e, Expr part) const;
  Expr simplified(Expr e);

  Store::Impl& s_;
  Learned& l_;
};

}  // namespace dlcb::sym
