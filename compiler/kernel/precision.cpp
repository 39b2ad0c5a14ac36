// Precision demands flow from the outputs down: a rounding to 16 bits lifts them, products and the like pass them on,
// everything else restores them.
#include "kernel/precision.h"

#include <unordered_map>
#include <vector>

namespace dlcb::kernel {

using ops::Fn;
using ops::Scalar;
using ops::ScalarKind;
using ops::ScalarNode;

namespace {

// Whether a relative error of this operand becomes one of the same order of the node.
bool passes(const ScalarNode& node, size_t operand) {
  switch (node.kind) {
    case ScalarKind::Cast:
      return node.dtype == DType::F32;
    case ScalarKind::Binary:
      return node.fn == Fn::Mul || node.fn == Fn::Div || node.fn == Fn::Max || node.fn == Fn::Min;
    case ScalarKind::Unary:
      return node.fn == Fn::Neg || node.fn == Fn::Abs || node.fn == Fn::Reciprocal;
    case ScalarKind::Select:
      return operand > 0;
    case ScalarKind::Reduce:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::unordered_set<uint32_t> coarse_values(Lowered& region) {
  ops::ScalarStore& scalars = region.scalars;
  std::unordered_map<uint32_t, bool> exact;  // by node; false: only roundings to 16 bits depend on it
  std::vector<std::pair<Scalar, bool>> work;
  for (size_t i = 0; i < region.region.outputs.size(); i++) work.push_back({region.body(i), true});
  auto bindings = [&](sym::Expr e) {
    for (sym::Expr s : region.sym.symbols(e)) {
      if (region.sym.symbol_kind(s) != sym::SymbolKind::Data) continue;
      if (Scalar bound = scalars.binding(s); bound.valid()) work.push_back({bound, true});
    }
  };
  std::unordered_set<uint32_t> coarse;
  while (!work.empty()) {
    auto [s, demanded] = work.back();
    work.pop_back();
    auto [known, is_new] = exact.emplace(s.id, demanded);
    if (!is_new && (known->second || !demanded)) continue;
    known->second = demanded;
    const ScalarNode node = scalars.node(s);
    const bool exponential = node.kind == ScalarKind::Unary && node.fn == Fn::Exp && node.dtype == DType::F32;
    if (exponential && !demanded)
      coarse.insert(s.id);
    else
      coarse.erase(s.id);
    for (sym::Expr c : node.coords) bindings(c);
    if (node.kind == ScalarKind::Index) bindings(node.index);
    const bool rounds = node.kind == ScalarKind::Cast && is_half(node.dtype);
    if (node.kind == ScalarKind::Reduce) {
      work.push_back({region.operand(s), demanded});
      continue;
    }
    for (size_t i = 0; i < node.operands.size(); i++)
      work.push_back({node.operands[i], !rounds && (demanded || !passes(node, i))});
  }
  return coarse;
}

}  // namespace dlcb::kernel
