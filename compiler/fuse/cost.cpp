#include "fuse/cost.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

namespace dlcb::fuse {
namespace {

using ops::Fn;
using ops::ScalarKind;

int cost_of(Fn fn) {
  switch (fn) {
    case Fn::Exp:
    case Fn::Log:
    case Fn::Sqrt:
    case Fn::Rsqrt:
    case Fn::Reciprocal:
    case Fn::Div:
    case Fn::DivExact:
    case Fn::Sigmoid:
      return 8;
    case Fn::Erf:
    case Fn::Tanh:
    case Fn::Pow:
    case Fn::Sin:
    case Fn::Cos:
    case Fn::Tan:
    case Fn::Asin:
    case Fn::Acos:
    case Fn::Atan:
    case Fn::Sinh:
    case Fn::Cosh:
    case Fn::Asinh:
    case Fn::Acosh:
    case Fn::Atanh:
    case Fn::Mod:
    case Fn::Rem:
      return 20;
    default:
      return 1;
  }
}

int own_instructions(const ops::ScalarNode& node) {
  if (node.kind == ScalarKind::Unary || node.kind == ScalarKind::Binary) return cost_of(node.fn);
  return node.kind == ScalarKind::Select || node.kind == ScalarKind::Cast ? 1 : 0;
}

void visit(const ops::ScalarStore& scalars, ops::Scalar s, std::unordered_set<uint32_t>& seen, Cost& cost) {
  if (!seen.insert(s.id).second) return;
  const ops::ScalarNode& node = scalars.node(s);
  if (node.kind == ScalarKind::Reduce) cost.reduces = true;
  cost.instructions += own_instructions(node);
  for (ops::Scalar operand : node.operands) visit(scalars, operand, seen, cost);
}

int64_t times(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

int64_t plus(int64_t a, int64_t b) { return a > INT64_MAX - b ? INT64_MAX : a + b; }

// Of an index: INT64_MAX where they are not literal or too many to be a window's.
int64_t terms_of(const sym::Store& s, sym::Expr index) {
  constexpr int64_t kMaxTerms = 4096;
  const auto extent = s.as_const(s.index_extent(index));
  return !extent || *extent > kMaxTerms ? INT64_MAX : std::max<int64_t>(*extent, 1);
}

int64_t terms_of(const ops::ScalarStore& scalars, const ops::ScalarNode& reduce) {
  int64_t terms = 1;
  for (sym::Expr index : reduce.coords) terms = times(terms, terms_of(scalars.sym(), index));
  return terms;
}

int64_t span_of(sym::Bounds b) {
  int64_t span = 0;
  const bool endless = b.lo == sym::kMin || b.hi == sym::kMax || __builtin_sub_overflow(b.hi, b.lo, &span);
  return endless ? INT64_MAX : span;
}

// How many values of `index` may lead to the same value of the coordinate, as the other symbols in it vary. Of
// a * index + rest these are, in each residue of the rest's factors b, every (b / gcd(a, b))-th, and not more than find
// room in the rest's range: a window of 3 that moves by 2 needs an element twice, a tile or a reshape only once.
int64_t overlap(const sym::Store& s, sym::Expr coordinate, sym::Expr index) {
  const int64_t all = terms_of(s, index);
  if (s.symbols(coordinate).size() == 1) return 1;
  if (s.kind(coordinate) != sym::Kind::Sum) return all;
  const auto terms = s.operands(coordinate);
  const auto factors = s.coefficients(coordinate);
  int64_t own = 0, common = 0, range = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    const int64_t factor = factors[i] < 0 ? -std::max(factors[i], -INT64_MAX) : factors[i];
    if (terms[i] == index) {
      own = factor;
      continue;
    }
    if (s.contains(terms[i], index)) return all;
    common = std::gcd(common, factor);
    range = plus(range, times(factor, span_of(s.bounds(terms[i]))));
  }
  const int64_t stride = common == 0 ? INT64_MAX : common / std::gcd(own, common);
  const int64_t by_stride = all == INT64_MAX ? all : (all - 1) / stride + 1;
  return std::min({all, by_stride, plus(range / own, 1)});
}

// How many terms of `reduce` may need the same element of `value`. What does not depend on an index is computed before
// the loop over it.
int64_t overlap(const ops::ScalarStore& scalars, ops::Scalar reduce, ops::ValueId value) {
  int64_t most = 1;
  for (ops::Scalar load : scalars.loads(reduce)) {
    if (scalars.node(load).value != value) continue;
    int64_t here = 1;
    for (sym::Expr index : scalars.node(reduce).coords) {
      int64_t least = INT64_MAX;
      bool depends = false;
      for (sym::Expr at : scalars.node(load).coords) {
        if (!scalars.sym().contains(at, index)) continue;
        depends = true;
        least = std::min(least, overlap(scalars.sym(), at, index));
      }
      if (depends) here = times(here, least);
    }
    most = std::max(most, here);
  }
  return most;
}

int64_t executed(const ops::ScalarStore& scalars, ops::Scalar s, std::unordered_set<uint32_t>& seen) {
  if (!seen.insert(s.id).second) return 0;
  const ops::ScalarNode& node = scalars.node(s);
  int64_t count = own_instructions(node);
  for (ops::Scalar operand : node.operands) count = plus(count, executed(scalars, operand, seen));
  return node.kind == ScalarKind::Reduce ? times(plus(count, 1), terms_of(scalars, node)) : count;
}

// Follows the loads of one value through nested reductions; each node is visited once.
struct Repetitions {
  const ops::ScalarStore& scalars;
  ops::ValueId value;
  Reductions which;
  std::unordered_map<uint32_t, int64_t> known;  // 0: the value is not loaded

  int64_t below(ops::Scalar s) {
    if (const auto it = known.find(s.id); it != known.end()) return it->second;
    const ops::ScalarNode& node = scalars.node(s);
    int64_t most = node.kind == ScalarKind::Load && node.value == value ? 1 : 0;
    for (ops::Scalar operand : node.operands) most = std::max(most, below(operand));
    if (most > 0 && node.kind == ScalarKind::Reduce)
      most = times(most, which == Reductions::All ? terms_of(scalars, node) : overlap(scalars, s, value));
    return known[s.id] = most;
  }
};

}  // namespace

Cost cost_of(const ops::ScalarStore& scalars, ops::Scalar body) {
  Cost cost;
  std::unordered_set<uint32_t> seen;
  visit(scalars, body, seen, cost);
  return cost;
}

int full_loads(const ops::ScalarStore& scalars, ops::Scalar body) {
  const sym::Store& s = scalars.sym();
  auto moving = [&](ops::Scalar part) {
    return std::ranges::count_if(scalars.symbols(part), [&](sym::Expr e) {
      return s.symbol_kind(e) == sym::SymbolKind::Index && !s.is_const(s.index_extent(e), 1);
    });
  };
  const std::vector<ops::Scalar> loads = scalars.loads(body);
  const auto all = moving(body);
  const auto full = std::ranges::count_if(loads, [&](ops::Scalar l) { return moving(l) >= all; });
  return full > 0 ? static_cast<int>(full) : static_cast<int>(loads.size());
}

bool is_view(const ops::ScalarStore& scalars, ops::Scalar body) {
  const ScalarKind kind = scalars.node(body).kind;
  return kind == ScalarKind::Load || kind == ScalarKind::ConstF || kind == ScalarKind::ConstI ||
         kind == ScalarKind::Index;
}

int64_t executed_instructions(const ops::ScalarStore& scalars, ops::Scalar body) {
  std::unordered_set<uint32_t> seen;
  return executed(scalars, body, seen);
}

int64_t repetitions(const ops::ScalarStore& scalars, ops::Scalar body, ops::ValueId value, Reductions which) {
  return std::max<int64_t>(1, Repetitions{scalars, value, which, {}}.below(body));
}

bool reads_once(const ops::ScalarStore& scalars, std::span<const Output> outputs, ops::ValueId value) {
  const sym::Store& s = scalars.sym();
  auto moves = [&](sym::Expr coordinate, sym::Expr index) {
    if (coordinate == index) return true;
    if (s.kind(coordinate) != sym::Kind::Sum) return false;
    const auto terms = s.operands(coordinate);
    return std::ranges::count_if(terms, [&](sym::Expr t) { return s.contains(t, index); }) == 1 &&
           std::ranges::find(terms, index) != terms.end();
  };
  auto once = [&](const Output& o, const ops::ScalarNode& load) {
    std::unordered_set<size_t> taken;
    for (size_t d = 0; d < o.index.size(); ++d) {
      if (s.is_const(o.tensor.dims[d], 1)) continue;
      size_t at = 0;
      while (at < load.coords.size() && (taken.contains(at) || !moves(load.coords[at], o.index[d]))) ++at;
      if (at == load.coords.size()) return false;
      taken.insert(at);
    }
    return true;
  };
  for (const Output& o : outputs)
    for (ops::Scalar load : scalars.loads(o.body))
      if (scalars.node(load).value == value && !once(o, scalars.node(load))) return false;
  return true;
}

}  // namespace dlcb::fuse
