// Sums as polynomials over atoms, the working form of the canonical constructors and of the prover: constant + sum of
// coefficient * monomial, where a monomial is an atom or a Product node. Arithmetic is checked: a result that does not
// fit int64 sets `overflow`, which spreads, and whoever sees it keeps the expression as it was written.
#pragma once
#include <cstdint>
#include <vector>

#include "sym/expr.h"

namespace dlcb::sym {

struct Term {
  Expr mono;
  int64_t coef = 0;
};

struct Poly {
  std::vector<Term> terms = {};  // leading term first (Impl::compare_terms), coefficients not 0
  int64_t constant = 0;
  bool overflow = false;
  bool is_const() const { return terms.empty() && !overflow; }
  bool is_zero() const { return is_const() && constant == 0; }
};

// Floor division and modulus of machine integers; b != 0. The quotient of kMin by -1 is the caller's business.
constexpr int64_t floor_div(int64_t a, int64_t b) { return a / b - ((a % b != 0) && ((a < 0) != (b < 0))); }
constexpr int64_t floor_mod(int64_t a, int64_t b) {
  if (b == -1) return 0;
  int64_t r = a % b;
  return r != 0 && ((r < 0) != (b < 0)) ? r + b : r;
}

Poly scaled(Poly p, int64_t k);
int64_t content(const Poly& p, bool with_constant);  // gcd of the coefficients, 0 when there are none
Poly divided(Poly p, int64_t k);                     // every coefficient and, rounded down, the constant

}  // namespace dlcb::sym
