#include "library/operand.h"

#include "fuse/address.h"

namespace dlcb::library {
namespace {

using graph::Graph;
using ops::ValueId;
using sym::Expr;

std::optional<StridedOperand> as_strides(Graph& graph, ValueId source, std::span<const Expr> coords,
                                         std::span<const Expr> indices) {
  sym::Store& sym = graph.sym();
  const graph::Value& value = graph.value(source);
  Expr rest = fuse::element_offset(sym, value.dims, value.order, coords);
  StridedOperand operand{source, {}};
  for (Expr index : indices) {
    const auto stride = fuse::linear_coefficient(sym, rest, index);
    if (!stride) return std::nullopt;
    operand.strides.push_back(*stride);
    rest = sym.substitute(rest, index, sym.constant(0));
  }
  if (!graph.facts().equal(rest, sym.constant(0))) return std::nullopt;
  return operand;
}

// If `value` is computed as one load of another tensor, moves to that tensor and its coordinates.
bool step_through_view(Graph& graph, ValueId& value, std::vector<Expr>& coords) {
  const graph::Value& v = graph.value(value);
  if (!v.producer.valid()) return false;
  const graph::Node& node = graph.node(v.producer);
  if (node.op->kind != ops::OpKind::Define) return false;
  const ops::OutputDef& def = node.definition.outputs[v.output];
  const ops::ScalarNode& body = graph.scalars().node(def.body);
  if (body.kind != ops::ScalarKind::Load || body.dtype != v.dtype) return false;
  const ValueId source = body.value;
  std::unordered_map<uint32_t, Expr> map;
  for (size_t i = 0; i < coords.size(); ++i) map[def.index[i].id] = coords[i];
  std::vector<Expr> inner;
  for (Expr c : std::vector<Expr>(body.coords)) inner.push_back(graph.facts().simplify(graph.sym().substitute(c, map)));
  value = source;
  coords = std::move(inner);
  return true;
}

}  // namespace

std::vector<StridedOperand> strided_readings(Graph& graph, ValueId value, std::span<const Expr> coords,
                                             std::span<const Expr> indices) {
  std::vector<StridedOperand> found;
  std::vector<Expr> at(coords.begin(), coords.end());
  const Expr wanted = fuse::element_count(graph.sym(), graph.value(value).dims);
  ValueId source = value;
  while (true) {
    auto operand = as_strides(graph, source, at, indices);
    const Expr held = fuse::element_count(graph.sym(), graph.value(source).dims);
    const bool is_view = step_through_view(graph, source, at);
    // A view is stored only for this reading: then not with elements that nobody asked for.
    if (operand && (!is_view || graph.facts().proves(graph.sym().le(held, wanted))))
      found.push_back(*std::move(operand));
    if (!is_view) return found;
  }
}

}  // namespace dlcb::library
