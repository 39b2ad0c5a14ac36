#include "fuse/cost.h"

#include <algorithm>
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

void visit(const ops::ScalarStore& scalars, ops::Scalar s, std::unordered_set<uint32_t>& seen, Cost& cost) {
  if (!seen.insert(s.id).second) return;
  const ops::ScalarNode& node = scalars.node(s);
  if (node.kind == ScalarKind::Load) ++cost.loads;
  if (node.kind == ScalarKind::Reduce) cost.reduces = true;
  if (node.kind == ScalarKind::Unary || node.kind == ScalarKind::Binary) cost.instructions += cost_of(node.fn);
  if (node.kind == ScalarKind::Select || node.kind == ScalarKind::Cast) cost.instructions += 1;
  for (ops::Scalar operand : node.operands) visit(scalars, operand, seen, cost);
}

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

int64_t repetitions(const ops::ScalarStore& scalars, ops::Scalar body, ops::ValueId value) {
  int64_t most = 1;
  std::unordered_set<uint32_t> seen;
  std::vector<ops::Scalar> work{body};
  while (!work.empty()) {
    const ops::Scalar s = work.back();
    work.pop_back();
    if (!seen.insert(s.id).second) continue;
    const ops::ScalarNode& node = scalars.node(s);
    work.insert(work.end(), node.operands.begin(), node.operands.end());
    if (node.kind != ScalarKind::Reduce) continue;
    const std::vector<ops::Scalar> loads = scalars.loads(s);
    if (std::none_of(loads.begin(), loads.end(), [&](ops::Scalar load) { return scalars.node(load).value == value; }))
      continue;
    int64_t terms = 1;
    for (sym::Expr index : node.coords) {
      const auto extent = scalars.sym().as_const(scalars.sym().index_extent(index));
      if (!extent || *extent > 4096) return INT64_MAX;
      terms *= *extent;
    }
    most = std::max(most, terms);
  }
  return most;
}

}  // namespace dlcb::fuse
