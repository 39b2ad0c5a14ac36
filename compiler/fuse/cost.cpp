#include "fuse/cost.h"

#include <algorithm>
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
  if (node.kind == ScalarKind::Load) ++cost.loads;
  if (node.kind == ScalarKind::Reduce) cost.reduces = true;
  cost.instructions += own_instructions(node);
  for (ops::Scalar operand : node.operands) visit(scalars, operand, seen, cost);
}

int64_t times(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

int64_t plus(int64_t a, int64_t b) { return a > INT64_MAX - b ? INT64_MAX : a + b; }

// Of a Reduce: INT64_MAX where they are not literal or too many to be a window's.
int64_t terms_of(const ops::ScalarStore& scalars, const ops::ScalarNode& reduce) {
  constexpr int64_t kMaxTerms = 4096;
  int64_t terms = 1;
  for (sym::Expr index : reduce.coords) {
    const auto extent = scalars.sym().as_const(scalars.sym().index_extent(index));
    if (!extent || *extent > kMaxTerms) return INT64_MAX;
    terms = times(terms, std::max<int64_t>(*extent, 1));
  }
  return terms;
}

// Whether a coordinate of one of the loads below holds an index that `reduce` binds next to another symbol.
bool slides(const ops::ScalarStore& scalars, ops::Scalar reduce) {
  const ops::ScalarNode& node = scalars.node(reduce);
  const auto bound = [&](sym::Expr s) {
    return std::find(node.coords.begin(), node.coords.end(), s) != node.coords.end();
  };
  for (ops::Scalar load : scalars.loads(reduce)) {
    for (sym::Expr at : scalars.node(load).coords) {
      const auto symbols = scalars.sym().symbols(at);
      if (std::any_of(symbols.begin(), symbols.end(), bound) && !std::all_of(symbols.begin(), symbols.end(), bound))
        return true;
    }
  }
  return false;
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
    if (most > 0 && node.kind == ScalarKind::Reduce && (which == Reductions::All || slides(scalars, s)))
      most = times(most, terms_of(scalars, node));
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

}  // namespace dlcb::fuse
