#include "library/epilogue.h"

#include <cmath>
#include <optional>

#include "fuse/address.h"
#include "rewrite/channel.h"

namespace dlcb::library {
namespace {

using graph::Graph;
using graph::Node;
using ops::ScalarKind;
using ops::ScalarNode;
using ops::ValueId;

// The number that `scalar` always is: written in place, or loaded from a node that makes nothing else. Not 0: with that
// factor a library leaves NaN and infinity unseen.
std::optional<double> literal_factor(const Graph& graph, ops::Scalar scalar) {
  const ScalarNode* node = &graph.scalars().node(scalar);
  if (node->kind == ScalarKind::Load) {
    const graph::Value& v = graph.value(node->value);
    if (!v.producer.valid() || graph.node(v.producer).op->kind != ops::OpKind::Define) return std::nullopt;
    node = &graph.scalars().node(graph.node(v.producer).definition.outputs[v.output].body);
  }
  if (node->kind != ScalarKind::ConstF || node->f == 0 || !std::isfinite(node->f)) return std::nullopt;
  return node->f;
}

}  // namespace

bool has_epilogue(Graph& graph, const fuse::Claim& claim) {
  if (const auto* conv = std::get_if<fuse::ConvCall>(&claim.call)) return !conv->transposed;
  const sym::Expr k = std::get<fuse::MatmulCall>(claim.call).k;
  return graph.facts().proves(graph.sym().le(graph.sym().constant(1), k));
}

EpilogueMatcher::EpilogueMatcher(Graph& graph, const Users& users, fuse::Claim& claim)
    : graph_(graph), users_(users), claim_(claim), call_(claim.epilogue()) {}

// The only user of the result, if it runs whenever the call does and keeps the storage order.
const Node* EpilogueMatcher::next(std::string_view op) const {
  const graph::NodeId user = rewrite::sole_user(graph_, users_, call_.out);
  if (!user.valid() || call_.activation != fuse::Activation::None) return nullptr;
  const Node& node = graph_.node(user);
  const bool together = node.predicate == graph_.node(claim_.nodes.front()).predicate;
  const bool in_order = graph_.value(node.outputs[0]).order == graph_.value(call_.out).order;
  return together && in_order && node.op->name == op ? &node : nullptr;
}

void EpilogueMatcher::absorb(const Node& node) {
  call_.out = node.outputs[0];
  claim_.nodes.push_back(graph_.value(call_.out).producer);
}

void EpilogueMatcher::take_scale() {
  auto* matmul = std::get_if<fuse::MatmulCall>(&claim_.call);
  const Node* mul = matmul && claim_.nodes.size() == 1 ? next("mul") : nullptr;
  if (!mul) return;
  const ops::Scalar factor = rewrite::other_operand(graph_, *mul, ops::Fn::Mul, call_.out);
  const auto number = factor.valid() ? literal_factor(graph_, factor) : std::nullopt;
  if (!number) return;
  matmul->alpha = *number;
  absorb(*mul);
}

void EpilogueMatcher::take_bias() {
  const Node* add = call_.bias.valid() ? nullptr : next("add");
  if (!add) return;
  const bool columns = std::holds_alternative<fuse::MatmulCall>(claim_.call);
  const size_t axis = columns ? graph_.value(call_.out).dims.size() - 1 : 1;
  const ValueId bias = rewrite::per_channel_operand(graph_, *add, ops::Fn::Add, call_.out, axis);
  if (!bias.valid()) return;
  call_.bias = bias;
  absorb(*add);
}

void EpilogueMatcher::take_relu() {
  const Node* relu = next("relu");
  if (!relu) return;
  absorb(*relu);
  call_.activation = fuse::Activation::Relu;
}

bool EpilogueMatcher::take_residual() {
  const Node* add = call_.residual.valid() ? nullptr : next("add");
  if (!add) return false;
  const ops::Scalar operand = rewrite::other_operand(graph_, *add, ops::Fn::Add, call_.out);
  if (!operand.valid()) return false;
  const ScalarNode& load = graph_.scalars().node(operand);
  if (load.kind != ScalarKind::Load) return false;
  const graph::Value& sum = graph_.value(add->outputs[0]);
  const graph::Value& residual = graph_.value(load.value);
  const ops::OutputDef& def = add->definition.outputs[0];
  sym::Store& sym = graph_.sym();
  // Broadcasting would make fewer elements of it, a view could make more.
  if (!graph_.facts().equal(fuse::element_count(sym, residual.dims), fuse::element_count(sym, sum.dims))) return false;
  if (!graph_.facts().equal(fuse::element_offset(sym, residual.dims, residual.order, load.coords),
                            fuse::element_offset(sym, sum.dims, sum.order, def.index)))
    return false;
  call_.residual = load.value;
  absorb(*add);
  return true;
}

}  // namespace dlcb::library
