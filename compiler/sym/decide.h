// Truth of canonical boolean expressions under a prover, without rewriting them first. Private to compiler/sym.
#pragma once
#include "sym/prover.h"

namespace dlcb::sym {

Tri decide(Store::Impl& s, Prover& k, Expr condition);

inline Tri negate(Tri t) { return t == Tri::Unknown ? t : t == Tri::Yes ? Tri::No : Tri::Yes; }

// Rewrites under facts. One object serves one call of Facts::simplify or prove.
class Simplifier {
 public:
  Simplifier(Store::Impl& s, const Learned* learned, int budget = 40) : s_(s), learned_(learned), budget_(budget) {}
  Expr simplify(Expr e);

 private:
  Expr step(Expr e);
  Expr replaced(Expr e);
  Expr replace_products(Expr e);

  Store::Impl& s_;
  const Learned* learned_;
  int budget_;
  int depth_ = 0;
  std::unordered_map<uint32_t, Expr> memo_;
};

}  // namespace dlcb::sym
