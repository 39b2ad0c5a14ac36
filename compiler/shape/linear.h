// Equalities between dims as linear equations over whatever is not linear: cancelling what both sides share, dividing
// by common divisors, and isolating a symbol.
#pragma once
#include "graph/graph.h"

namespace dlcb::shape {

// An equality that is equivalent under `known`: common terms and common positive factors cancelled, coefficients
// without a common divisor, constant 0 if divisibility rules it out. An equality that only orders its sides
// (x == min(x, y)) becomes that order, a sum of non-negative terms that is 0 the conjunction of its parts. Other
// conditions are returned as they are.
sym::Expr reduce_equality(sym::Store& store, const sym::Facts& known, sym::Expr condition);

struct Solved {
  sym::Expr symbol, value;
};
// An equality solved for an input dim's symbol; the one that comes last in input order if there is a choice, so that
// the first mention of a size names it.
std::optional<Solved> solve_for_symbol(const graph::Graph& g, sym::Expr condition);

}  // namespace dlcb::shape
