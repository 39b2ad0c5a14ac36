// Rebuilding a graph node by node, so that a pass can leave out, replace or insert what it likes and every definition
// is made for the operands it then has.
#include "graph/graph.h"
#include "graph/under_predicate.h"

namespace dlcb::graph {

Graph Graph::begin_copy(const Graph& old, std::vector<ValueId>& map) {
  Graph g(*old.sym_, *old.scalars_);
  g.facts_ = old.facts_;
  g.file = old.file;
  g.digest = old.digest;
  g.on_rewrite = old.on_rewrite;
  g.eliminated = old.eliminated;
  g.ranges = old.ranges;
  g.constraints = old.constraints;
  g.recorded_ = old.recorded_;
  g.carried_constraints_ = g.constraints.size();
  map.assign(old.values_.size(), ValueId{});
  std::vector<std::vector<NodeId>> users = old.users();
  auto carry = [&](ValueId v) {
    map[v.id] = g.new_value(old.values_[v.id].name);
    std::string name = g.values_[map[v.id].id].name;
    g.values_[map[v.id].id] = old.values_[v.id];
    g.values_[map[v.id].id].name = std::move(name);
  };
  for (ValueId v : old.inputs) {
    carry(v);
    g.inputs.push_back(map[v.id]);
  }
  for (uint32_t v = 0; v < old.values_.size(); ++v) {
    const Value& value = old.values_[v];
    if (value.constant && !map[v].valid() && (!users[v].empty() || old.is_output({v}))) carry({v});
  }
  return g;
}

Result<std::vector<ValueId>> Graph::copy_node(const Graph& old, NodeId n, std::vector<ValueId>& map) {
  const Node& node = old.nodes_[n.id];
  std::vector<ValueId> operands;
  operands.reserve(node.inputs.size());
  for (ValueId v : node.inputs) operands.push_back(v.valid() ? map[v.id] : v);
  std::vector<std::string> names;
  for (ValueId v : node.outputs) names.push_back(old.values_[v.id].name);

  auto made = [&] {
    const UnderPredicate branch(*this, node.predicate);
    return add(*node.op, std::move(operands), node.attrs, node.origins, std::move(names));
  }();
  if (!made) return made;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const Value& before = old.values_[node.outputs[i].id];
    Value& now = values_[made->at(i).id];
    now.order = before.order;
    if (!now.elements) {
      now.elements = before.elements;
      now.fits = before.fits;
    }
    map[node.outputs[i].id] = made->at(i);
  }
  return made;
}

void Graph::finish_copy(const Graph& old, std::span<const ValueId> map) {
  for (size_t i = 0; i < old.outputs.size(); ++i) add_output(old.output_names[i], map[old.outputs[i].id]);
  for (const HostRead& read : old.host_reads)
    if (map[read.value.id].valid()) host_reads.push_back({read.symbol, map[read.value.id], read.element});
  for (size_t i = 0; i < carried_constraints_; ++i) {
    NodeId& node = constraints[i].node;
    if (!node.valid()) continue;
    const Node& before = old.nodes_[node.id];
    ValueId now = before.outputs.empty() ? ValueId{} : map[before.outputs[0].id];
    node = now.valid() ? values_[now.id].producer : NodeId{};
  }
  carried_constraints_ = 0;
}

}  // namespace dlcb::graph
