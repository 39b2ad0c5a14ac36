// Evaluation by recursion over the expression; reductions are remembered by what they depend on.
#include "evaluate.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "fuse/address.h"
#include "ops/arithmetic.h"

namespace dlcb::testing {

using ops::Scalar;
using ops::ScalarKind;
using sym::Expr;

int64_t Env::integer(Expr e) {
  auto v = scalars->sym().evaluate(e, [&](Expr s) -> std::optional<int64_t> {
    if (auto found = symbols.find(s.id); found != symbols.end()) return found->second;
    if (Scalar bound = scalars->binding(s); bound.valid()) return static_cast<int64_t>(value(bound));
    return std::nullopt;
  });
  DLCB_CHECK(v.has_value(), "a symbol has no value");
  return *v;
}

namespace {

void each_index(Env& env, std::span<const Expr> index, std::span<const Expr> extents,
                const std::function<void()>& body) {
  if (index.empty()) return body();
  const int64_t n = env.integer(extents[0]);
  for (int64_t i = 0; i < n; i++) {
    env.symbols[index[0].id] = i;
    each_index(env, index.subspan(1), extents.subspan(1), body);
  }
}

double reduce(Env& env, const ops::ScalarNode& node) {
  std::vector<Expr> extents;
  for (Expr s : node.coords) extents.push_back(env.scalars->sym().index_extent(s));
  std::map<uint32_t, int64_t> saved = env.symbols;
  const bool real = is_float(node.dtype);
  double acc =
      real ? ops::reduce_identity_f(node.reduce) : static_cast<double>(ops::reduce_identity_i(node.reduce, node.dtype));
  each_index(env, node.coords, extents, [&] {
    double v = env.value(node.operands[0]);
    if (real)
      acc = ops::apply_f(ops::combine_fn(node.reduce), DType::F64, acc, v);
    else
      acc = static_cast<double>(
          ops::apply_i(ops::combine_fn(node.reduce), node.dtype, static_cast<int64_t>(acc), static_cast<int64_t>(v)));
  });
  env.symbols = std::move(saved);
  return acc;
}

double apply(const ops::ScalarNode& node, DType t, double a, double b) {
  // Half arithmetic is done in float by kernels, so it is not rounded in between here.
  if (is_float(t) && !is_float(node.dtype)) return ops::apply_test(node.fn, a, b);
  if (is_float(t)) return ops::apply_f(node.fn, DType::F64, a, b);
  return static_cast<double>(ops::apply_i(node.fn, t, static_cast<int64_t>(a), static_cast<int64_t>(b)));
}

}  // namespace

double Env::value(Scalar s) {
  const ops::ScalarNode& node = scalars->node(s);
  switch (node.kind) {
    case ScalarKind::ConstF:
      return node.f;
    case ScalarKind::ConstI:
      return static_cast<double>(node.i);
    case ScalarKind::Index:
      return static_cast<double>(integer(node.index));
    case ScalarKind::Load: {
      auto t = std::ranges::find_if(region->inputs, [&](const kernel::Tensor& x) { return x.value == node.value; });
      for (size_t d = 0; d < node.coords.size(); d++) {
        int64_t c = integer(node.coords[d]);
        DLCB_CHECK(c >= 0 && c < integer(t->dims[d]), "load outside its tensor");
      }
      return tensors.at(node.value.id)
          .at(static_cast<size_t>(integer(fuse::element_offset(scalars->sym(), t->dims, t->order, node.coords))));
    }
    case ScalarKind::Unary:
      return apply(node, scalars->dtype(node.operands[0]), value(node.operands[0]), 0);
    case ScalarKind::Binary:
      return apply(node, scalars->dtype(node.operands[0]), value(node.operands[0]), value(node.operands[1]));
    case ScalarKind::Select:
      return value(node.operands[0]) != 0 ? value(node.operands[1]) : value(node.operands[2]);
    case ScalarKind::Cast: {
      double v = value(node.operands[0]);
      if (node.dtype == DType::Bool) return v != 0;
      if (is_float(node.dtype)) return ops::round_to(node.dtype, v);
      return is_float(scalars->dtype(node.operands[0]))
                 ? static_cast<double>(ops::float_to_integer(node.dtype, v))
                 : static_cast<double>(ops::wrap_to(node.dtype, static_cast<int64_t>(v)));
    }
    case ScalarKind::Reduce: {
      // What depends on loaded indices is not known by the symbols alone.
      std::vector<int64_t> at;
      for (Expr e : scalars->symbols(s)) {
        if (scalars->sym().symbol_kind(e) == sym::SymbolKind::Data) return reduce(*this, node);
        at.push_back(integer(e));
      }
      auto key = std::pair(s.id, std::move(at));
      if (auto known = reduced.find(key); known != reduced.end()) return known->second;
      return reduced[key] = reduce(*this, node);
    }
  }
  return 0;
}

int64_t count(Env& env, const kernel::Tensor& tensor) {
  int64_t n = 1;
  for (Expr d : tensor.dims) n *= env.integer(d);
  return n;
}

Elements evaluate(Env& env, const kernel::Output& output) {
  Elements result(static_cast<size_t>(count(env, output.tensor)));
  Expr offset = fuse::element_offset(env.scalars->sym(), output.tensor.dims, output.tensor.order, output.index);
  each_index(env, output.index, output.tensor.dims,
             [&] { result[static_cast<size_t>(env.integer(offset))] = env.value(output.body); });
  return result;
}

}  // namespace dlcb::testing
