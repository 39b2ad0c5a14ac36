#include "graph/expand.h"

#include "graph/trace.h"
#include "graph/under_predicate.h"
#include "ops/expand.h"

namespace dlcb::graph {
namespace {

class NodeBuilder final : public ops::GraphBuilder {
 public:
  NodeBuilder(Graph& g, const std::vector<Origin>& origins, std::string hint)
      : g_(g), origins_(origins), hint_(std::move(hint)) {}

  Result<std::vector<ValueId>> emit(std::string_view op, std::vector<ValueId> inputs, ops::Attrs attrs) override {
    return g_.add(ops::op(op), std::move(inputs), std::move(attrs), origins_, {hint_ + "." + std::string(op)});
  }
  ops::Operand operand(ValueId v) const override { return g_.operand(v); }
  sym::Store& sym() override { return g_.sym(); }
  const sym::Facts& facts() const override { return g_.facts(); }
  Status require(sym::Expr condition, std::string why, int operand, int axis) override {
    return g_.require(condition, std::move(why), origins_, operand, axis);
  }

 private:
  Graph& g_;
  const std::vector<Origin>& origins_;
  std::string hint_;
};

}  // namespace

Status expand_node(Graph& g, NodeId id) {
  const Node node = g.node(id);  // a copy: adding nodes moves the original
  DLCB_CHECK(node.op && node.op->kind == ops::OpKind::Expands, "only an operator made of others can be expanded");
  std::vector<ops::Operand> operands;
  for (ValueId v : node.inputs) operands.push_back(g.operand(v));

  Trace trace(g, "expansion");
  trace.before(id);
  const uint32_t first = g.node_count();
  NodeBuilder builder(g, node.origins, g.value(node.outputs.at(0)).name);
  auto made = [&] {
    const UnderPredicate branch(g, node.predicate);
    return node.op->expand(builder, operands, node.attrs);
  }();
  if (!made) return std::move(made.error());
  DLCB_CHECK(made->size() == node.outputs.size(), "an expansion must make every output of its operator");

  g.remove(id);
  for (size_t i = 0; i < made->size(); ++i) {
    ValueId now = made->at(i), before = node.outputs[i];
    bool passed_through = false;  // an expansion may return an operand; that keeps its own name
    for (ValueId v : node.inputs) passed_through |= v == now;
    if (!passed_through) {
      g.value(now).order = g.value(before).order;
      std::swap(g.value(now).name, g.value(before).name);
    }
    g.replace_uses(before, now);
  }
  trace.after_nodes(first).done();
  return ok();
}

}  // namespace dlcb::graph
