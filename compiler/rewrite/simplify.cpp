#include "rewrite/simplify.h"

#include <algorithm>
#include <unordered_map>

#include "graph/trace.h"

namespace dlcb::rewrite {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Trace;
using ops::ValueId;

// The operand whose elements a node returns unchanged, in the same shape. Follows from the definition, so it finds
// identities, casts to the same type, reshapes to the same dims, whole slices and concatenations of one alike.
ValueId renamed(const Graph& graph, const Node& node) {
  if (node.op->kind != ops::OpKind::Define || node.outputs.size() != 1) return {};
  const ops::OutputDef& def = node.definition.outputs[0];
  const ops::ScalarNode& body = graph.scalars().node(def.body);
  if (body.kind != ops::ScalarKind::Load || body.dtype != def.dtype) return {};
  const graph::Value& source = graph.value(body.value);
  if (source.dims.size() != def.dims.size()) return {};
  for (size_t i = 0; i < def.dims.size(); ++i) {
    const bool only_element = graph.sym().is_const(body.coords[i], 0) && graph.sym().is_const(def.dims[i], 1);
    if (body.coords[i] != def.index[i] && !only_element) return {};
    if (!graph.facts().equal(source.dims[i], def.dims[i])) return {};
  }
  return body.value;
}

uint64_t shallow_hash(const Node& node) {
  uint64_t h = reinterpret_cast<uintptr_t>(node.op);
  for (ValueId v : node.inputs) h = h * 0x9e3779b97f4a7c15ull + v.id + 1;
  return h ^ (h >> 29);
}

bool same_computation(const Node& a, const Node& b) {
  return a.op == b.op && a.inputs == b.inputs && a.attrs == b.attrs && a.predicate == b.predicate &&
         a.outputs.size() == b.outputs.size();
}

}  // namespace

void remove_dead(Graph& graph) {
  std::vector<bool> needed(graph.node_count(), false);
  std::vector<NodeId> work;
  auto need = [&](ValueId v) {
    const NodeId producer = v.valid() ? graph.value(v).producer : NodeId{};
    if (!producer.valid() || needed[producer.id]) return;
    needed[producer.id] = true;
    work.push_back(producer);
  };
  for (ValueId v : graph.outputs) need(v);
  for (const graph::HostRead& read : graph.host_reads) need(read.value);
  while (!work.empty()) {
    const NodeId n = work.back();
    work.pop_back();
    for (ValueId v : graph.node(n).inputs) need(v);
  }
  for (uint32_t n = 0; n < graph.node_count(); ++n) {
    if (!graph.node(NodeId{n}).op || needed[n]) continue;
    Trace(graph, "unused node").before(NodeId{n}).done();
    graph.remove(NodeId{n});
  }
}

Status simplify(Graph& graph) {
  remove_dead(graph);
  std::unordered_multimap<uint64_t, NodeId> seen;
  for (uint32_t n = 0; n < graph.node_count(); ++n) {
    if (!graph.node(NodeId{n}).op) continue;
    if (const ValueId source = renamed(graph, graph.node(NodeId{n})); source.valid()) {
      Trace(graph, "renaming node").before(NodeId{n}).after(source).done();
      graph.replace_uses(graph.node(NodeId{n}).outputs[0], source);
      graph.remove(NodeId{n});
      continue;
    }
    const Node& node = graph.node(NodeId{n});
    const uint64_t key = shallow_hash(node);
    const auto [first, last] = seen.equal_range(key);
    const auto twin =
        std::find_if(first, last, [&](const auto& entry) { return same_computation(graph.node(entry.second), node); });
    if (twin == last) {
      seen.emplace(key, NodeId{n});
      continue;
    }
    Trace(graph, "repeated node").before(NodeId{n}).after(twin->second).done();
    const std::vector<ValueId> mine = node.outputs, theirs = graph.node(twin->second).outputs;
    for (size_t o = 0; o < mine.size(); ++o) graph.replace_uses(mine[o], theirs[o]);
    graph.remove(NodeId{n});
  }
  remove_dead(graph);
  return ok();
}

}  // namespace dlcb::rewrite
