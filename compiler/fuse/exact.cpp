#include "fuse/exact.h"

#include <map>

namespace dlcb::fuse {
namespace {

using ops::Fn;
using ops::Scalar;
using ops::ScalarKind;
using ops::ScalarNode;
using ops::ScalarStore;

class Rewriter {
 public:
  Rewriter(ScalarStore& store, std::vector<ops::ValueId>& loaded) : store_(store), loaded_(loaded) {}

  Scalar run(Scalar s, bool jumps) {
    const std::pair<uint32_t, bool> key{s.id, jumps};
    if (const auto it = memo_.find(key); it != memo_.end()) return it->second;
    return memo_[key] = rebuild(s, jumps);
  }

 private:
  Scalar rebuild(Scalar s, bool jumps) {
    const ScalarNode n = store_.node(s);  // a copy: the store may grow
    switch (n.kind) {
      case ScalarKind::Load:
        if (jumps) loaded_.push_back(n.value);
        return s;
      case ScalarKind::Unary:
        return unary(n, jumps);
      case ScalarKind::Binary:
        return binary(n, jumps);
      case ScalarKind::Select:
        return store_.select(run(n.operands[0], false), run(n.operands[1], jumps), run(n.operands[2], jumps));
      case ScalarKind::Cast: {
        const bool from_float = is_float(store_.dtype(n.operands[0]));
        return store_.cast(n.dtype, run(n.operands[0], from_float && (jumps || is_integer(n.dtype))));
      }
      case ScalarKind::Reduce: {
        const bool selects = n.reduce == ops::ReduceFn::Min || n.reduce == ops::ReduceFn::Max;
        return store_.reduce(n.reduce, n.coords, run(n.operands[0], jumps && selects));
      }
      default:
        return s;
    }
  }

  Scalar unary(const ScalarNode& n, bool jumps) {
    const DType t = store_.dtype(n.operands[0]);
    const bool rounds = is_float(t) && (n.fn == Fn::Floor || n.fn == Fn::Ceil || n.fn == Fn::Round);
    const bool passes = n.fn == Fn::Neg || n.fn == Fn::Abs || n.fn == Fn::Sqrt || n.fn == Fn::Reciprocal;
    const Scalar operand = run(n.operands[0], rounds || (jumps && passes));
    if (n.fn == Fn::Reciprocal && jumps) return store_.binary(Fn::DivExact, store_.constant_f(t, 1), operand);
    return store_.unary(n.fn, operand);
  }

  Scalar binary(const ScalarNode& n, bool jumps) {
    const bool real = is_float(store_.dtype(n.operands[0]));
    if (real && (n.fn == Fn::Mod || n.fn == Fn::Rem)) return both(n, n.fn, true);
    if (real && n.fn >= Fn::Eq && n.fn <= Fn::Le) {
      // Against 0 only the sign counts, and that is always right.
      return both(n, n.fn, !is_zero(n.operands[0]) && !is_zero(n.operands[1]));
    }
    const bool passes = n.fn == Fn::Add || n.fn == Fn::Sub || n.fn == Fn::Mul || n.fn == Fn::Div ||
                        n.fn == Fn::DivExact || n.fn == Fn::Min || n.fn == Fn::Max;
    return both(n, real && jumps && n.fn == Fn::Div ? Fn::DivExact : n.fn, jumps && passes);
  }

  Scalar both(const ScalarNode& n, Fn fn, bool jumps) {
    const Scalar a = run(n.operands[0], jumps), b = run(n.operands[1], jumps);
    return store_.binary(fn, a, b);
  }

  bool is_zero(Scalar s) const {
    const ScalarNode& n = store_.node(s);
    return n.kind == ScalarKind::ConstF && n.f == 0;
  }

  ScalarStore& store_;
  std::vector<ops::ValueId>& loaded_;
  std::map<std::pair<uint32_t, bool>, Scalar> memo_;
};

}  // namespace

Scalar with_exact_divisions(ScalarStore& store, Scalar body, bool jumps, std::vector<ops::ValueId>& loaded) {
  return Rewriter(store, loaded).run(body, jumps);
}

void make_divisions_exact(graph::Graph& graph) {
  std::vector<bool> jumps(graph.value_count(), false);
  for (uint32_t n = graph.node_count(); n-- > 0;) {  // users come before what they use
    graph::Node& node = graph.node(graph::NodeId{n});
    if (!node.op) continue;
    for (size_t o = 0; o < node.outputs.size(); ++o) {
      ops::OutputDef& def = node.definition.outputs[o];
      if (!def.body.valid()) continue;
      std::vector<ops::ValueId> loaded;
      def.body = with_exact_divisions(graph.scalars(), def.body, jumps[node.outputs[o].id], loaded);
      for (ops::ValueId v : loaded) jumps[v.id] = true;
    }
  }
}

}  // namespace dlcb::fuse
