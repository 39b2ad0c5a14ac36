// Adding nodes. Every shape requirement of the new node meets what is already known: proved ones vanish, impossible
// ones are reported with the chain of origins, the rest become constraints and are assumed from here on.
#include "graph/constant.h"
#include "graph/contradiction.h"
#include "graph/elements.h"
#include "graph/graph.h"

namespace dlcb::graph {
namespace {

// A wrong operand count, rank or type, as found by the operator's definition, has no place yet.
Diagnostic locate(Diagnostic d, const Graph& g, const ops::OpDef& op, std::span<const ValueId> inputs,
                  std::span<const Origin> origins) {
  if (d.where.op.empty() && d.where.node.empty()) {
    std::string detail = std::move(d.where.detail);
    d.where = location(g, origins, std::move(detail));
    if (d.where.op.empty()) d.where.op = op.name;
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].valid()) continue;
    const Value& v = g.value(inputs[i]);
    d.notes.push_back(
        {"operand " + std::to_string(i) + " '" + v.name + "' is " + type_text(g.sym(), v.dtype, v.dims), {}});
  }
  return d;
}

// A literal element of a tensor that a load may read and that is no index into `extent` elements.
std::optional<int64_t> index_outside(const sym::Store& store, const Value& v, std::span<const sym::Expr> coords,
                                     int64_t extent) {
  const auto outside = [&](std::optional<int64_t> i) { return i && (*i < -extent || *i >= extent); };
  const auto dims = literal_dims(store, v.dims);
  if (!dims || (!v.constant && (!v.elements || v.fits.valid()))) return std::nullopt;
  int64_t count = 1;
  for (const int64_t d : *dims) count *= d;
  for (int64_t flat = 0; flat < count; ++flat) {
    const auto element = v.constant ? integer_element(v.dtype, v.constant->bytes, flat)
                                    : store.as_const((*v.elements)[static_cast<size_t>(flat)]);
    if (!outside(element)) continue;
    bool read = true;  // a literal coordinate reads one place of its axis alone
    int64_t rest = flat;
    for (size_t axis = dims->size(); axis-- > 0; rest /= (*dims)[axis]) {
      const auto at = store.as_const(coords[axis]);
      read = read && (!at || *at == rest % (*dims)[axis]);
    }
    if (read) return element;
  }
  return std::nullopt;
}

}  // namespace

std::string rank_text(size_t rank) {
  return "a tensor of rank " + std::to_string(rank) + " is more than the " + std::to_string(kMaxRank) +
         " dims that are supported";
}

void Graph::add_constraint(Constraint constraint) {
  facts_.assume(constraint.condition);
  for (Branch& b : branches_) b.facts.assume(constraint.condition);
  if (recorded_.insert(constraint.condition.id).second) constraints.push_back(std::move(constraint));
}

Status Graph::record(const ops::Requirement& r, NodeId node, std::span<const ValueId> operands, std::string_view op,
                     std::span<const Origin> origins) {
  if (sym_->kind(r.condition) == sym::Kind::And) {
    std::vector<sym::Expr> parts(sym_->operands(r.condition).begin(), sym_->operands(r.condition).end());
    for (sym::Expr part : parts) DLCB_TRY(record({part, r.why, r.operand, r.axis}, node, operands, op, origins));
    return ok();
  }
  sym::Tri known = facts().prove(r.condition);
  if (known == sym::Tri::Yes) return ok();
  sym::Expr condition = r.condition;
  if (!branches_.empty()) {
    condition = sym_->logical_or(sym_->logical_not(predicate()), r.condition);
    sym::Tri outside = facts_.prove(condition);
    if (outside == sym::Tri::Yes) return ok();
    known = outside;  // a branch that cannot be right may still never be taken
  }
  if (known == sym::Tri::No) return contradiction(*this, r, op, operands, origins);
  if (!branches_.empty()) branches_.back().facts.assume(r.condition);
  add_constraint({condition, r.why, node, r.operand, r.axis, {origins.begin(), origins.end()}});
  return ok();
}

Status Graph::require(sym::Expr condition, std::string why, std::vector<Origin> origins, int operand, int axis) {
  return record({condition, std::move(why), operand, axis}, {}, {}, {}, origins);
}

// Indices that are literal, into a dim that is literal, are checked here; those known only when the model runs are
// clamped by the operator.
Status Graph::check_data_indices(const ops::Definition& definition, NodeId node, std::span<const ValueId> operands,
                                 std::string_view op, std::span<const Origin> origins) {
  for (const ops::DataIndex& index : definition.data_indices) {
    const auto extent = sym_->as_const(index.extent);
    const ops::ScalarNode& read = scalars_->node(index.integer);
    if (!extent || read.kind != ops::ScalarKind::Load) continue;
    const auto bad = index_outside(*sym_, value(read.value), read.coords, *extent);
    if (!bad) continue;
    const std::string why = "index " + std::to_string(*bad) + " must lie within a dim of " + std::to_string(*extent);
    DLCB_TRY(record({sym_->constant(0), why, -1, -1}, node, operands, op, origins));
  }
  return ok();
}

// A load of a one-element tensor is that element wherever it is read, so scalars cost no memory access and no operand.
void Graph::inline_single_elements(ops::Definition& definition, std::span<const ValueId> operands) {
  for (ValueId v : operands) {
    if (!v.valid()) continue;
    std::optional<ops::Scalar> element = single_element(*this, v);
    if (!element) continue;
    for (ops::OutputDef& out : definition.outputs)
      if (out.body.valid())
        out.body = scalars_->inline_load(out.body, v, [&](std::span<const sym::Expr>) { return *element; });
  }
}

Result<std::vector<ValueId>> Graph::add(const ops::OpDef& op, std::vector<ValueId> inputs, ops::Attrs attrs,
                                        std::vector<Origin> origins, std::vector<std::string> names) {
  std::vector<ops::Operand> operands;
  operands.reserve(inputs.size());
  for (ValueId v : inputs) operands.push_back(operand(v));
  auto definition = ops::define(op, *scalars_, facts(), operands, attrs);
  if (!definition) return locate(std::move(definition.error()), *this, op, inputs, origins);
  for (const ops::OutputDef& out : definition->outputs)
    if (out.dims.size() > kMaxRank)
      return diag(DiagKind::RankMismatch, {rank_text(out.dims.size())}, location(*this, origins));
  NodeId id{node_count()};
  for (const ops::Requirement& r : definition->requirements) DLCB_TRY(record(r, id, inputs, op.name, origins));
  DLCB_TRY(check_data_indices(*definition, id, inputs, op.name, origins));
  inline_single_elements(*definition, inputs);

  std::vector<ValueId> made;
  for (uint32_t i = 0; i < definition->outputs.size(); ++i) {
    const ops::OutputDef& out = definition->outputs[i];
    std::string_view hint = i < names.size() && !names[i].empty() ? std::string_view(names[i]) : op.name;
    ValueId v = new_value(hint);
    Value& value = values_[v.id];
    value.dtype = out.dtype;
    value.dims = out.dims;
    value.producer = id;
    value.output = i;
    derive_elements(v, out, operands);
    made.push_back(v);
  }
  nodes_.push_back(
      {&op, std::move(inputs), made, std::move(attrs), *std::move(definition), std::move(origins), predicate()});
  return made;
}

Result<ValueId> Graph::add1(std::string_view name, std::vector<ValueId> inputs, ops::Attrs attrs,
                            std::vector<Origin> origins, std::string output_name) {
  std::vector<std::string> names;
  names.push_back(std::move(output_name));
  DLCB_ASSIGN(auto made, add(ops::op(name), std::move(inputs), std::move(attrs), std::move(origins), std::move(names)));
  return made.at(0);
}

}  // namespace dlcb::graph
