#include "rewrite/batch_norm.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "graph/constant.h"
#include "graph/trace.h"
#include "graph/under_predicate.h"
#include "rewrite/channel.h"
#include "rewrite/fold.h"
#include "rewrite/simplify.h"

namespace dlcb::rewrite {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using ops::Fn;
using ops::ValueId;

std::vector<float> floats(const graph::Constant& c) {
  std::vector<float> out(c.bytes.size() / sizeof(float));
  std::memcpy(out.data(), c.bytes.data(), out.size() * sizeof(float));
  return out;
}

graph::Constant as_constant(std::vector<float> data) {
  auto owner = std::make_shared<std::vector<float>>(std::move(data));
  return {std::as_bytes(std::span<const float>(*owner)), owner};
}

// y = scale[c] * x + shift[c], collected from the nodes after a convolution.
struct Affine {
  std::vector<double> scale, shift;
  std::vector<graph::Origin> origins;
  std::vector<NodeId> nodes;  // the convolution and those folded into it
  ValueId result;             // of the last node folded
};

// The bias of a transposed convolution becomes an addition after it: no library adds one on the way.
Status detach_bias(Graph& graph, NodeId conv) {
  const Node node = graph.node(conv);
  if (node.inputs.size() < 3 || !node.inputs[2].valid()) return ok();
  const graph::Value& out = graph.value(node.outputs[0]);
  std::vector<sym::Expr> wide(out.dims.size() - 1, graph.sym().constant(1));
  wide[0] = out.dims[1];
  const graph::UnderPredicate branch(graph, node.predicate);
  graph::Trace trace(graph, "bias of a transposed convolution");
  trace.before(conv);
  const uint32_t first = graph.node_count();
  DLCB_ASSIGN(const ValueId bias, graph.add1("reshape", {node.inputs[2]}, {{"shape", wide}}, node.origins));
  DLCB_ASSIGN(const ValueId bare,
              graph.add1("conv_transpose", {node.inputs[0], node.inputs[1]}, node.attrs, node.origins));
  DLCB_ASSIGN(const ValueId sum, graph.add1("add", {bare, bias}, {}, node.origins));
  trace.after_nodes(first).done();
  graph.replace_uses(node.outputs[0], sum);
  graph.remove(conv);
  return ok();
}

class Folder {
 public:
  explicit Folder(Graph& graph) : graph_(graph), users_(graph.users()) {}

  Status fold(NodeId conv) {
    const Node& node = graph_.node(conv);
    const bool transposed = node.op->name == "conv_transpose";
    const graph::Value& w = graph_.value(node.inputs[1]);
    const auto channels = graph_.sym().as_const(graph_.value(node.outputs[0]).dims[1]);
    if (!w.constant || w.dtype != DType::F32 || !channels || (transposed && node.attrs.integer("group", 1) != 1))
      return ok();
    const bool has_bias = node.inputs.size() > 2 && node.inputs[2].valid();
    if (has_bias && !graph_.value(node.inputs[2]).constant) return ok();
    Affine affine{
        std::vector<double>(*channels, 1), std::vector<double>(*channels, 0), node.origins, {conv}, node.outputs[0]};
    while (absorb_next(affine)) {
    }
    return affine.result == node.outputs[0] ? ok() : replace(conv, affine, transposed, has_bias);
  }

 private:
  bool absorb_next(Affine& affine) {
    const NodeId next = sole_user(graph_, users_, affine.result);
    if (!next.valid()) return false;
    const Node& node = graph_.node(next);
    if (node.op->name == "batch_norm" ? !absorb_norm(node, affine) : !absorb_arithmetic(node, affine)) return false;
    for (const graph::Origin& o : node.origins) {
      if (std::find(affine.origins.begin(), affine.origins.end(), o) == affine.origins.end())
        affine.origins.push_back(o);
    }
    affine.nodes.push_back(next);
    affine.result = node.outputs[0];
    return true;
  }

  bool absorb_norm(const Node& node, Affine& affine) {
    std::vector<float> parts[4];  // scale, bias, mean, variance
    for (int i = 0; i < 4; ++i) {
      const graph::Value& v = graph_.value(node.inputs[i + 1]);
      if (!v.constant || v.dtype != DType::F32) return false;
      parts[i] = floats(*v.constant);
      if (parts[i].size() != affine.scale.size()) return false;
    }
    const double epsilon = node.attrs.real("epsilon", 1e-5);
    for (size_t c = 0; c < affine.scale.size(); ++c) {
      const double s = parts[0][c] / std::sqrt(parts[3][c] + epsilon);
      affine.scale[c] *= s;
      affine.shift[c] = (affine.shift[c] - parts[2][c]) * s + parts[1][c];
    }
    return true;
  }

  // One number for all channels: x * a, x / a, x + a, x - a.
  bool absorb_number(const Node& node, Affine& affine) {
    if (node.op->kind != ops::OpKind::Define) return false;
    const ops::OutputDef& def = node.definition.outputs[0];
    const ops::ScalarNode& body = graph_.scalars().node(def.body);
    if (body.kind != ops::ScalarKind::Binary || def.dtype != DType::F32 || def.dims != graph_.value(affine.result).dims)
      return false;
    const bool commutes = body.fn == Fn::Mul || body.fn == Fn::Add;
    for (int side : {0, 1}) {
      const ops::ScalarNode& x = graph_.scalars().node(body.operands[side]);
      const ops::ScalarNode& a = graph_.scalars().node(body.operands[1 - side]);
      if (x.kind != ops::ScalarKind::Load || x.value != affine.result || x.coords != def.index) continue;
      if (a.kind != ops::ScalarKind::ConstF || (side == 1 && !commutes)) continue;
      if (body.fn == Fn::Mul || body.fn == Fn::Div) {
        const double factor = body.fn == Fn::Mul ? a.f : 1 / a.f;
        for (double& s : affine.scale) s *= factor;
        for (double& s : affine.shift) s *= factor;
        return true;
      }
      if (body.fn != Fn::Add && body.fn != Fn::Sub) return false;
      for (double& s : affine.shift) s += body.fn == Fn::Add ? a.f : -a.f;
      return true;
    }
    return false;
  }

  bool absorb_arithmetic(const Node& node, Affine& affine) {
    if (absorb_number(node, affine)) return true;
    for (Fn fn : {Fn::Mul, Fn::Add}) {
      const ValueId c = per_channel_operand(graph_, node, fn, affine.result, 1);
      if (!c.valid() || graph_.value(c).dtype != DType::F32) continue;
      const std::vector<float> values = floats(*graph_.value(c).constant);
      for (size_t i = 0; i < values.size(); ++i) {
        if (fn == Fn::Mul) affine.scale[i] *= values[i];
        affine.shift[i] = fn == Fn::Mul ? affine.shift[i] * values[i] : affine.shift[i] + values[i];
      }
      return true;
    }
    return false;
  }

  Status replace(NodeId conv, const Affine& affine, bool transposed, bool has_bias) {
    const std::vector<ValueId> inputs = graph_.node(conv).inputs;
    const graph::Value w = graph_.value(inputs[1]);
    const size_t channels = affine.scale.size();
    std::vector<float> bias(channels, 0);
    if (has_bias) bias = floats(*graph_.value(inputs[2]).constant);
    for (size_t c = 0; c < channels; ++c) bias[c] = static_cast<float>(bias[c] * affine.scale[c] + affine.shift[c]);

    const bool unscaled = std::all_of(affine.scale.begin(), affine.scale.end(), [](double s) { return s == 1; });
    const ValueId new_w = unscaled ? inputs[1] : scaled_weights(w, affine.scale, transposed);
    std::vector<int64_t> bias_dims(transposed ? w.dims.size() - 1 : 1, 1);  // of an addition, or of an operand
    bias_dims[0] = static_cast<int64_t>(channels);
    const ValueId new_b = graph_.add_constant(w.name + ".bias", DType::F32, bias_dims, as_constant(std::move(bias)));
    const graph::UnderPredicate branch(graph_, graph_.node(conv).predicate);
    graph::Trace trace(graph_, "per-channel scale and shift");
    for (const NodeId n : affine.nodes) trace.before(n);
    const uint32_t first = graph_.node_count();
    std::vector<ValueId> operands{inputs[0], new_w};
    if (!transposed) operands.push_back(new_b);
    DLCB_ASSIGN(ValueId made,
                graph_.add1(graph_.node(conv).op->name, operands, graph_.node(conv).attrs, affine.origins));
    if (transposed) {
      DLCB_ASSIGN(made, graph_.add1("add", {made, new_b}, {}, affine.origins));
    }
    trace.after_nodes(first).done();
    graph_.replace_uses(affine.result, made);
    return ok();
  }

  // Weights are [out, ...], or [in, out, ...] of a transposed convolution: `inner` elements share an output channel.
  ValueId scaled_weights(const graph::Value& w, const std::vector<double>& scale, bool transposed) {
    std::vector<float> weights = floats(*w.constant);
    const std::vector<int64_t> dims = *graph::literal_dims(graph_.sym(), w.dims);
    const size_t outer = scale.size() * (transposed ? dims[0] : 1), inner = outer == 0 ? 1 : weights.size() / outer;
    for (size_t i = 0; i < weights.size(); ++i)
      weights[i] = static_cast<float>(weights[i] * scale[i / inner % scale.size()]);
    return graph_.add_constant(w.name + ".folded", DType::F32, dims, as_constant(std::move(weights)));
  }

  Graph& graph_;
  std::vector<std::vector<NodeId>> users_;
};

}  // namespace

Status fold_channel_scales(Graph& graph) {
  const uint32_t added = graph.node_count();
  for (uint32_t n = 0; n < added; ++n) {
    if (graph.node(NodeId{n}).op && graph.node(NodeId{n}).op->name == "conv_transpose")
      DLCB_TRY(detach_bias(graph, NodeId{n}));
  }
  DLCB_TRY(fold_constants(graph, added));  // the biases that got other dims
  Folder folder(graph);
  const uint32_t nodes = graph.node_count();
  for (uint32_t n = 0; n < nodes; ++n) {
    const Node& node = graph.node(NodeId{n});
    if (node.op && (node.op->name == "conv" || node.op->name == "conv_transpose")) DLCB_TRY(folder.fold(NodeId{n}));
  }
  remove_dead(graph);
  graph.sort_topologically();
  return ok();
}

}  // namespace dlcb::rewrite
