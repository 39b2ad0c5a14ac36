#include "shape/linear.h"

#include <algorithm>
#include <numeric>

namespace dlcb::shape {
namespace {

// sum of coefficient * term + constant == 0
struct Equation {
  std::vector<sym::Expr> terms;
  std::vector<int64_t> coefficients;
  int64_t constant = 0;
};

std::optional<Equation> equation(sym::Store& store, sym::Expr condition) {
  if (store.kind(condition) != sym::Kind::Eq) return std::nullopt;
  sym::Expr a = store.operands(condition)[0], b = store.operands(condition)[1];
  sym::Expr d = store.sub(a, b);
  Equation e;
  e.constant = store.sum_constant(d);
  if (store.kind(d) == sym::Kind::Sum) {
    e.terms.assign(store.operands(d).begin(), store.operands(d).end());
    e.coefficients.assign(store.coefficients(d).begin(), store.coefficients(d).end());
  } else if (store.kind(d) != sym::Kind::Const) {
    e.terms.push_back(d);
    e.coefficients.push_back(1);
  }
  return e;
}

std::vector<sym::Expr> factors(const sym::Store& store, sym::Expr term) {
  if (store.kind(term) != sym::Kind::Product) return {term};
  return {store.operands(term).begin(), store.operands(term).end()};
}

// Factors that every term has and that are known to be at least 1.
void cancel_factors(sym::Store& store, const sym::Facts& known, Equation& e) {
  if (e.constant != 0 || e.terms.size() < 2) return;
  for (sym::Expr f : factors(store, e.terms[0])) {
    bool everywhere = true;
    for (sym::Expr t : e.terms) {
      auto list = factors(store, t);
      everywhere &= std::find(list.begin(), list.end(), f) != list.end();
    }
    if (!everywhere || !known.proves(store.lt(store.constant(0), f))) continue;
    for (sym::Expr& t : e.terms) {
      auto list = factors(store, t);
      list.erase(std::find(list.begin(), list.end(), f));
      t = store.mul(list);
    }
  }
}

// min(a, b) == a is a <= b, max(a, b) == a is b <= a (law 20): what an equality says when one side contains the other.
std::optional<sym::Expr> as_order(sym::Store& store, sym::Expr condition) {
  if (store.kind(condition) != sym::Kind::Eq) return std::nullopt;
  const std::vector<sym::Expr> sides(store.operands(condition).begin(), store.operands(condition).end());
  for (size_t i : {0u, 1u}) {
    sym::Expr side = sides[i], other = sides[1 - i];
    const bool least = store.kind(side) == sym::Kind::Min;
    if (!least && store.kind(side) != sym::Kind::Max) continue;
    const std::vector<sym::Expr> list(store.operands(side).begin(), store.operands(side).end());
    if (std::find(list.begin(), list.end(), other) == list.end()) continue;
    sym::Expr all = store.constant(1);
    for (sym::Expr e : list) all = store.logical_and(all, least ? store.le(other, e) : store.le(e, other));
    return all;
  }
  return std::nullopt;
}

bool divides(const sym::Store& store, sym::Expr a, sym::Expr b) {  // as lists of factors
  auto needed = factors(store, a), list = factors(store, b);
  for (sym::Expr f : needed) {
    auto at = std::find(list.begin(), list.end(), f);
    if (at == list.end()) return false;
    list.erase(at);
  }
  return true;
}

// A sum of terms that cannot be negative is 0 only if each of them is; a term that another one divides follows from it.
std::optional<sym::Expr> as_zeros(sym::Store& store, const Equation& e) {
  if (e.constant != 0 || e.terms.size() < 2) return std::nullopt;
  for (size_t i = 0; i < e.terms.size(); ++i)
    if (store.bounds(e.terms[i]).lo < 0 || (e.coefficients[i] > 0) != (e.coefficients[0] > 0)) return std::nullopt;
  sym::Expr all = store.constant(1);
  for (sym::Expr t : e.terms) {
    bool follows = std::any_of(e.terms.begin(), e.terms.end(),
                               [&](sym::Expr other) { return other != t && divides(store, other, t); });
    if (!follows) all = store.logical_and(all, store.eq(t, store.constant(0)));
  }
  return all;
}

sym::Expr side(sym::Store& store, const Equation& e, int sign) {
  std::vector<sym::Expr> parts;
  for (size_t i = 0; i < e.terms.size(); ++i)
    if ((e.coefficients[i] > 0) == (sign > 0))
      parts.push_back(store.mul(store.constant(sign * e.coefficients[i]), e.terms[i]));
  if ((e.constant > 0) == (sign > 0) && e.constant != 0) parts.push_back(store.constant(sign * e.constant));
  return store.add(parts);
}

}  // namespace

sym::Expr reduce_equality(sym::Store& store, const sym::Facts& known, sym::Expr condition) {
  if (auto order = as_order(store, condition)) return *order;
  auto e = equation(store, condition);
  if (!e || e->terms.empty()) return condition;
  if (auto zeros = as_zeros(store, *e)) return *zeros;
  int64_t divisor = 0;
  for (int64_t c : e->coefficients) divisor = std::gcd(divisor, c);
  if (divisor > 1) {
    if (e->constant % divisor != 0) return store.constant(0);
    for (int64_t& c : e->coefficients) c /= divisor;
    e->constant /= divisor;
  }
  cancel_factors(store, known, *e);
  return store.eq(side(store, *e, 1), side(store, *e, -1));
}

std::optional<Solved> solve_for_symbol(const graph::Graph& g, sym::Expr condition) {
  sym::Store& store = g.sym();
  auto e = equation(store, condition);
  if (!e) return std::nullopt;
  for (sym::Expr s : store.symbols(condition))
    if (store.symbol_kind(s) != sym::SymbolKind::Dim || !g.source(s)) return std::nullopt;
  std::optional<Solved> best;
  std::pair<int, int> best_place{-1, -1};
  for (size_t i = 0; i < e->terms.size(); ++i) {
    sym::Expr symbol = e->terms[i];
    int64_t c = e->coefficients[i];
    if (store.kind(symbol) != sym::Kind::Symbol || (c != 1 && c != -1)) continue;
    sym::Expr value = store.constant(-c * e->constant);
    for (size_t k = 0; k < e->terms.size(); ++k)
      if (k != i) value = store.add(value, store.mul(store.constant(-c * e->coefficients[k]), e->terms[k]));
    if (store.contains(value, symbol)) continue;
    graph::DimSource source = *g.source(symbol);
    if (std::pair(source.input, source.axis) <= best_place) continue;
    best_place = {source.input, source.axis};
    best = Solved{symbol, value};
  }
  return best;
}

}  // namespace dlcb::shape
