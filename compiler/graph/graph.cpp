// Values, names, uses and in-place edits of the tensor graph. Adding nodes, which is where shapes are checked, is in
// add.cpp.
#include "graph/graph.h"

#include <queue>

namespace dlcb::graph {

Graph::Graph(sym::Store& sym, ops::ScalarStore& scalars) : sym_(&sym), scalars_(&scalars), facts_(sym) {}

std::string Graph::unique_name(std::string_view hint) {
  std::string name(hint.empty() ? "v" : hint);
  if (names_.insert(name).second) return name;
  uint32_t& suffix = next_suffix_[name];
  std::string candidate;
  do candidate = name + "." + std::to_string(++suffix);
  while (!names_.insert(candidate).second);
  return candidate;
}

ValueId Graph::new_value(std::string_view hint) {
  ValueId id{value_count()};
  values_.emplace_back().name = unique_name(hint);
  return id;
}

ValueId Graph::add_input(std::string name, DType dtype, std::vector<sym::Expr> dims) {
  ValueId id = new_value(name);
  values_[id.id].dtype = dtype;
  values_[id.id].dims = std::move(dims);
  inputs.push_back(id);
  return id;
}

ValueId Graph::add_constant(std::string name, DType dtype, std::vector<int64_t> dims, Constant data) {
  ValueId id = new_value(name);
  Value& v = values_[id.id];
  v.dtype = dtype;
  int64_t count = 1;
  for (int64_t dim : dims) {
    v.dims.push_back(sym_->constant(dim));
    count *= dim;
  }
  DLCB_CHECK(data.bytes.size() == static_cast<size_t>(count) * size_of(dtype),
             "constant '" + v.name + "' has a wrong byte count");
  v.constant = std::move(data);
  return id;
}

void Graph::add_output(std::string name, ValueId value) {
  outputs.push_back(value);
  output_names.push_back(std::move(name));
}

void Graph::rename(ValueId value, std::string_view name) {
  if (values_[value.id].name == name) return;
  names_.erase(values_[value.id].name);
  values_[value.id].name = unique_name(name);
}

ops::Operand Graph::operand(ValueId v) const {
  if (!v.valid()) return {};
  return {v, values_[v.id].dtype, values_[v.id].dims};
}

sym::Expr Graph::predicate() const { return branches_.empty() ? sym_->constant(1) : branches_.back().condition; }

void Graph::push_predicate(sym::Expr condition) {
  Branch branch{sym_->logical_and(predicate(), condition), facts()};
  branch.facts.assume(condition);
  branches_.push_back(std::move(branch));
}

void Graph::pop_predicate() {
  DLCB_CHECK(!branches_.empty(), "no branch to leave");
  branches_.pop_back();
}

void Graph::declare_range(sym::Expr symbol, sym::Bounds bounds) {
  sym_->restrict(symbol, bounds);
  ranges.push_back({symbol, bounds});
}

void Graph::reset_facts() {
  DLCB_CHECK(branches_.empty(), "facts cannot change inside a branch");
  facts_ = sym::Facts(*sym_);
  recorded_.clear();
  for (const Eliminated& e : eliminated) facts_.assume(sym_->eq(e.symbol, e.value));
  for (const Constraint& c : constraints) {
    facts_.assume(c.condition);
    recorded_.insert(c.condition.id);
  }
}

std::optional<DimSource> Graph::source(sym::Expr symbol) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto& dims = value(inputs[i]).dims;
    for (size_t axis = 0; axis < dims.size(); ++axis)
      if (dims[axis] == symbol) return DimSource{symbol, static_cast<int>(i), static_cast<int>(axis)};
  }
  return std::nullopt;
}

std::vector<std::vector<NodeId>> Graph::users() const {
  std::vector<std::vector<NodeId>> result(values_.size());
  for (uint32_t n = 0; n < nodes_.size(); ++n) {
    if (!nodes_[n].op) continue;
    for (ValueId v : nodes_[n].inputs)
      if (v.valid()) result[v.id].push_back({n});
  }
  return result;
}

bool Graph::is_output(ValueId v) const {
  for (ValueId o : outputs)
    if (o == v) return true;
  return false;
}

void Graph::replace_operand(NodeId user, ValueId from, ValueId to) {
  Node& n = nodes_[user.id];
  bool uses = false;
  for (ValueId& v : n.inputs)
    if (v == from) v = to, uses = true;
  if (!n.op || !uses) return;
  auto make = [&](std::span<const sym::Expr> coords) {
    return scalars_->load(values_[to.id].dtype, to, {coords.begin(), coords.end()});
  };
  for (ops::OutputDef& out : n.definition.outputs)
    if (out.body.valid()) out.body = scalars_->inline_load(out.body, from, make);
}

void Graph::replace_uses(ValueId from, ValueId to) {
  for (uint32_t n = 0; n < nodes_.size(); ++n) replace_operand({n}, from, to);
  for (ValueId& v : outputs)
    if (v == from) v = to;
  for (HostRead& read : host_reads)
    if (read.value == from) read.value = to;
}

void Graph::remove(NodeId n) {
  Node& node = nodes_[n.id];
  for (ValueId v : node.outputs) values_[v.id].producer = {};
  node = Node{};
}

void Graph::sort_topologically() {
  std::vector<uint32_t> missing(nodes_.size(), 0), order;
  std::vector<std::vector<NodeId>> uses = users();
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;  // lowest old index first: a stable order
  for (uint32_t n = 0; n < nodes_.size(); ++n) {
    if (!nodes_[n].op) continue;
    for (ValueId v : nodes_[n].inputs) missing[n] += v.valid() && values_[v.id].producer.valid();
    if (missing[n] == 0) ready.push(n);
  }
  while (!ready.empty()) {
    uint32_t n = ready.top();
    ready.pop();
    order.push_back(n);
    for (ValueId v : nodes_[n].outputs)
      for (NodeId user : uses[v.id])
        if (--missing[user.id] == 0) ready.push(user.id);
  }
  std::vector<NodeId> moved(nodes_.size());
  std::vector<Node> sorted;
  sorted.reserve(order.size());
  for (uint32_t n : order) {
    moved[n] = {static_cast<uint32_t>(sorted.size())};
    sorted.push_back(std::move(nodes_[n]));
    nodes_[n].op = nullptr;
  }
  for (const Node& n : nodes_) DLCB_CHECK(!n.op, "the graph has a cycle");
  nodes_ = std::move(sorted);
  for (Value& v : values_)
    if (v.producer.valid()) v.producer = moved[v.producer.id];
  for (Constraint& c : constraints)
    if (c.node.valid()) c.node = moved[c.node.id];
}

std::string dim_name(std::string_view input, int axis) { return std::string(input) + "." + std::to_string(axis); }

Location location(const Graph& g, std::span<const Origin> origins, std::string detail) {
  Location where{g.file, "", "", std::move(detail)};
  if (origins.empty()) return where;
  where.op = origins[0].op;
  where.node = origins[0].node.empty() ? origins[0].output : origins[0].node;
  return where;
}

}  // namespace dlcb::graph
