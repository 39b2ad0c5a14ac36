// What must be true of every graph between passes. A fault here is a fault of ours, never of the user's model.
#include <unordered_set>

#include "graph/graph.h"

namespace dlcb::graph {
namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& g) : g_(g) {}

  std::vector<std::string> run() {
    values();
    for (uint32_t n = 0; n < g_.node_count(); ++n)
      if (g_.node({n}).op) node({n});
    for (ValueId v : g_.outputs) known(v, "a graph output");
    if (g_.outputs.size() != g_.output_names.size()) fault("the outputs and their names differ in number");
    for (const Constraint& c : g_.constraints) {
      if (!c.condition.valid()) fault("a constraint has no condition");
      if (c.node.valid() && c.node.id >= g_.node_count()) fault("a constraint names a node that does not exist");
    }
    for (const HostRead& r : g_.host_reads) known(r.value, "a host read");
    return std::move(faults_);
  }

 private:
  void fault(std::string text) { faults_.push_back(std::move(text)); }
  std::string name(ValueId v) const { return "'" + g_.value(v).name + "'"; }

  bool known(ValueId v, const std::string& user) {
    bool made = v.valid() && v.id < g_.value_count() && defined_.contains(v.id);
    if (!made)
      fault(user + " uses " +
            (v.valid() && v.id < g_.value_count() ? name(v) + ", which nothing before it makes" : "an invalid value"));
    return made;
  }

  void values() {
    std::unordered_set<std::string> names;
    for (uint32_t i = 0; i < g_.value_count(); ++i) {
      const Value& v = g_.value({i});
      if (!names.insert(v.name).second) fault("two values are called '" + v.name + "'");
      for (sym::Expr d : v.dims)
        if (!d.valid()) fault("'" + v.name + "' has an invalid dim");
      if (!v.order.empty() && v.order.size() != v.dims.size()) fault("'" + v.name + "' has an order of another rank");
      if (v.constant) defined_.insert(i);
    }
    for (ValueId v : g_.inputs) defined_.insert(v.id);
  }

  void node(NodeId id) {
    const Node& n = g_.node(id);
    std::string user = std::string(n.op->name) + (n.outputs.empty() ? "" : " " + name(n.outputs[0]));
    for (ValueId v : n.inputs)
      if (v.valid()) known(v, user);
    if (!n.predicate.valid()) fault(user + " has no predicate");
    if (n.outputs.size() != n.definition.outputs.size()) fault(user + " has other outputs than its definition");
    for (size_t i = 0; i < n.outputs.size() && i < n.definition.outputs.size(); ++i) output(n, id, i, user);
  }

  void output(const Node& n, NodeId id, size_t i, const std::string& user) {
    const Value& v = g_.value(n.outputs[i]);
    const ops::OutputDef& def = n.definition.outputs[i];
    if (v.producer != id || v.output != i) fault(name(n.outputs[i]) + " does not name its producer");
    if (v.dtype != def.dtype || v.dims.size() != def.dims.size())
      fault(name(n.outputs[i]) + " has another type than its definition");
    for (size_t d = 0; d < v.dims.size() && d < def.dims.size(); ++d) {
      if (v.dims[d] == def.dims[d] || g_.facts().prove(g_.sym().eq(v.dims[d], def.dims[d])) != sym::Tri::No) continue;
      fault(name(n.outputs[i]) + " has another size than its definition along axis " + std::to_string(d));
    }
    if (def.body.valid())
      for (ops::Scalar load : g_.scalars().loads(def.body)) known(g_.scalars().node(load).value, user + " (body)");
    defined_.insert(n.outputs[i].id);
  }

  const Graph& g_;
  std::unordered_set<uint32_t> defined_;
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> verify(const Graph& g) { return Verifier(g).run(); }

}  // namespace dlcb::graph
