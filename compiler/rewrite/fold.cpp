#include "rewrite/fold.h"

#include <algorithm>

#include "graph/constant.h"
#include "graph/trace.h"
#include "ops/reference.h"
#include "rewrite/simplify.h"

namespace dlcb::rewrite {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using ops::ValueId;

constexpr double kMaxElements = 1 << 22;      // beyond, storing costs more than computing at run time
constexpr double kMaxViewElements = 1 << 14;  // a view this small is cheaper to store than to think about

// The interpreter needs some 10 ns for a step, a GPU next to nothing: what is beyond these is a kernel's or a
// library's. A weight of a convolution may cost as much as the whole model, because constant ones are laid out at
// compile time.
constexpr double kMaxNodeSteps = 1 << 21;
constexpr double kMaxModelSteps = 1 << 27;

double element_count(const std::vector<int64_t>& dims) {
  double n = 1;
  for (int64_t d : dims) n *= static_cast<double>(d);
  return n;
}

class Folder {
 public:
  explicit Folder(Graph& graph) : graph_(graph), users_(graph.users()) {}

  bool foldable(const Node& node) {
    if (node.op->kind != ops::OpKind::Define) return false;
    for (ValueId v : node.inputs) {
      if (v.valid() && !graph_.value(v).constant) return false;
    }
    for (size_t o = 0; o < node.outputs.size(); ++o) {
      const ops::OutputDef& def = node.definition.outputs[o];
      const auto dims = graph::literal_dims(graph_.sym(), def.dims);
      if (!dims || !closed(def)) return false;
      const bool view = graph_.scalars().node(def.body).kind == ops::ScalarKind::Load;
      if (element_count(*dims) > (view && !feeds_convolution(node.outputs[o]) ? kMaxViewElements : kMaxElements))
        return false;
      if (generates(def) && element_count(*dims) > kMaxViewElements) return false;
    }
    return affordable(node);
  }

  Status fold(NodeId n) {
    const std::vector<ValueId> outputs = graph_.node(n).outputs;
    graph::Trace trace(graph_, "constant operands");
    trace.before(n);
    for (size_t o = 0; o < outputs.size(); ++o) {
      const ops::OutputDef def = graph_.node(n).definition.outputs[o];
      DLCB_ASSIGN(ops::Tensor result, ops::evaluate(graph_.scalars(), def, inputs()));
      auto owner = std::make_shared<ops::Tensor>(std::move(result));
      const graph::Constant data{owner->bytes, owner};
      const ValueId folded = graph_.add_constant(graph_.value(outputs[o]).name, def.dtype, owner->dims, data);
      graph_.replace_uses(outputs[o], folded);
      trace.after(folded);
    }
    trace.done();
    graph_.remove(n);
    return ok();
  }

 private:
  // Charges what the node costs to the model's budget.
  bool affordable(const Node& node) {
    double steps = 0;
    bool weight = false;
    for (size_t o = 0; o < node.outputs.size(); ++o) {
      steps += ops::evaluation_steps(graph_.scalars(), node.definition.outputs[o], inputs());
      weight = weight || feeds_convolution(node.outputs[o]);
    }
    const bool fits = steps <= (weight ? kMaxModelSteps : kMaxNodeSteps) && spent_ + steps <= kMaxModelSteps;
    if (fits) spent_ += steps;
    return fits;
  }

  // No symbol but the output's own indices.
  bool closed(const ops::OutputDef& def) const {
    const ops::ScalarStore& scalars = graph_.scalars();
    const auto free = scalars.symbols(def.body);
    return std::all_of(free.begin(), free.end(), [&](sym::Expr s) {
      return std::find(def.index.begin(), def.index.end(), s) != def.index.end() || scalars.binding(s).valid();
    });
  }

  // Built from nothing (a filled or counted tensor): kernels make these on the fly.
  bool generates(const ops::OutputDef& def) const { return graph_.scalars().loads(def.body).empty(); }

  bool feeds_convolution(ValueId v) const {
    if (v.id >= users_.size()) return false;
    return std::any_of(users_[v.id].begin(), users_[v.id].end(), [&](NodeId n) {
      const Node& user = graph_.node(n);
      return user.op && (user.op->name == "conv" || user.op->name == "conv_transpose");
    });
  }

  ops::ReferenceInputs inputs() {
    return {[this](ValueId v) -> std::optional<ops::TensorView> {
              const graph::Value& value = graph_.value(v);
              if (!value.constant) return std::nullopt;
              const auto dims = graph::literal_dims(graph_.sym(), value.dims);
              auto [it, inserted] = dims_.try_emplace(v.id, *dims);
              return ops::TensorView(value.dtype, it->second, value.constant->bytes);
            },
            [](sym::Expr) { return std::optional<int64_t>(); }};
  }

  Graph& graph_;
  std::vector<std::vector<NodeId>> users_;
  std::unordered_map<uint32_t, std::vector<int64_t>> dims_;  // kept alive for the views
  double spent_ = 0;
};

}  // namespace

Status fold_constants(Graph& graph, uint32_t first) {
  Folder folder(graph);
  const uint32_t nodes = graph.node_count();
  for (uint32_t n = first; n < nodes; ++n) {
    if (graph.node(NodeId{n}).op && folder.foldable(graph.node(NodeId{n}))) DLCB_TRY(folder.fold(NodeId{n}));
  }
  remove_dead(graph);
  return ok();
}

}  // namespace dlcb::rewrite
