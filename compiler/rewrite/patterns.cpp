#include "rewrite/patterns.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "graph/trace.h"
#include "graph/under_predicate.h"
#include "rewrite/attention.h"
#include "rewrite/match.h"
#include "rewrite/simplify.h"

namespace dlcb::rewrite {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using ops::Attrs;
using ops::ValueId;

// What replaces a matched tree: one operator on the tree's leaves.
struct Replacement {
  std::string_view op;
  std::vector<ValueId> inputs;
  Attrs attrs;
  std::vector<const Node*> nodes;  // the tree, for origins
};

class Patterns {
 public:
  explicit Patterns(Graph& graph) : graph_(graph), match_(graph) {}

  std::optional<Replacement> find(const Node& root) {
    const std::string_view name = root.op->name;
    if (name == "mul") {
      if (auto r = gelu(root)) return r;
      if (auto r = swish(root)) return r;
      return {};
    }
    if (name == "div") {
      if (auto r = softmax(root)) return r;
      if (auto r = hard_swish(root)) return r;
      return normalised(root);
    }
    return {};
  }

  std::optional<Replacement> find_large(const Node& root) {
    if (root.op->name == "matmul") return attention(root);
    return {};
  }

 private:
  // x * 0.5 * (1 + erf(x / sqrt 2)), in any order of the factors.
  std::optional<Replacement> gelu(const Node& root) {
    std::vector<ValueId> factors;
    std::vector<const Node*> nodes;
    double scale = 1;
    collect_factors(root, factors, nodes, scale);
    if (factors.size() != 2 || std::abs(scale - 0.5) > 1e-6) return {};
    for (int side : {0, 1}) {
      const Node* add = match_.made_by(factors[side], "add");
      if (!add) continue;
      const auto rest = match_.other_than(*add, 1.0);
      const Node* erf = rest ? match_.made_by(*rest, "erf") : nullptr;
      if (!erf) continue;
      const ValueId x = factors[1 - side];
      if (!is_scaled(erf->inputs[0], x, std::numbers::sqrt2 / 2)) continue;
      nodes.push_back(add);
      nodes.push_back(erf);
      return Replacement{"gelu", {x}, {}, nodes};
    }
    return {};
  }

  void collect_factors(const Node& mul, std::vector<ValueId>& factors, std::vector<const Node*>& nodes, double& scale) {
    nodes.push_back(&mul);
    for (ValueId v : mul.inputs) {
      const Node* inner = match_.made_by(v, "mul");
      if (const auto n = match_.number(v)) {
        scale *= *n;
      } else if (inner && match_.used_once(v) && factors.size() < 3) {
        collect_factors(*inner, factors, nodes, scale);
      } else {
        factors.push_back(v);
      }
    }
  }

  // v == x * factor, written as a product or a quotient.
  bool is_scaled(ValueId v, ValueId x, double factor) {
    if (const Node* mul = match_.made_by(v, "mul")) return match_.other_than(*mul, factor) == x;
    const Node* div = match_.made_by(v, "div");
    return div && div->inputs[0] == x && match_.number(div->inputs[1]) &&
           std::abs(*match_.number(div->inputs[1]) * factor - 1) < 1e-5;
  }

  // x * sigmoid(x)
  std::optional<Replacement> swish(const Node& root) {
    for (int side : {0, 1}) {
      const ValueId x = root.inputs[1 - side];
      if (const Node* s = match_.made_by(root.inputs[side], "sigmoid"); s && s->inputs[0] == x) {
        return Replacement{"silu", {x}, {}, {s, &root}};
      }
    }
    return {};
  }

  // x * clip(x + 3, 0, 6) / 6
  std::optional<Replacement> hard_swish(const Node& root) {
    const auto six = match_.number(root.inputs[1]);
    const Node* mul = match_.made_by(root.inputs[0], "mul");
    if (!six || *six != 6 || !mul) return {};
    for (int side : {0, 1}) {
      const Node* clip = match_.made_by(mul->inputs[side], "clip");
      if (!clip || clip->attrs.real("min", -1) != 0 || clip->attrs.real("max", -1) != 6) continue;
      const Node* add = match_.made_by(clip->inputs[0], "add");
      if (add && match_.other_than(*add, 3.0) == mul->inputs[1 - side]) {
        return Replacement{"hard_swish", {mul->inputs[1 - side]}, {}, {add, clip, mul, &root}};
      }
    }
    return {};
  }

  // exp(x - max(x)) / sum(exp(x - max(x))) over one axis
  std::optional<Replacement> softmax(const Node& root) {
    const Node* exp = match_.made_by(root.inputs[0], "exp");
    const Node* sum = match_.made_by(root.inputs[1], "reduce_sum");
    if (!exp || !sum || sum->inputs[0] != exp->outputs[0] || !keeps_dims(*sum)) return {};
    const Node* sub = match_.made_by(exp->inputs[0], "sub");
    const Node* max = sub ? match_.made_by(sub->inputs[1], "reduce_max") : nullptr;
    const auto axes = sum->attrs.integers("axes");
    if (!max || !keeps_dims(*max) || max->inputs[0] != sub->inputs[0] || axes.size() != 1 ||
        max->attrs.integers("axes") != axes)
      return {};
    return Replacement{"softmax", {sub->inputs[0]}, Attrs{{"axis", axes[0]}}, {max, sub, exp, sum, &root}};
  }

  // (x - mean(x)) / sqrt(mean((x - mean(x))^2) + eps) over the last axis, without the affine part
  std::optional<Replacement> normalised(const Node& root) {
    const Node* sub = match_.made_by(root.inputs[0], "sub");
    const Node* sqrt = match_.made_by(root.inputs[1], "sqrt");
    const Node* add = sqrt ? match_.made_by(sqrt->inputs[0], "add") : nullptr;
    if (!sub || !add) return {};
    for (int side : {0, 1}) {
      const auto eps = match_.number(add->inputs[1 - side]);
      const Node* variance = match_.made_by(add->inputs[side], "reduce_mean");
      const Node* mean = match_.made_by(sub->inputs[1], "reduce_mean");
      if (!eps || !variance || !mean || !keeps_dims(*variance) || !keeps_dims(*mean) ||
          mean->inputs[0] != sub->inputs[0] || !is_square(variance->inputs[0], sub->outputs[0]))
        continue;
      const auto axes = mean->attrs.integers("axes");
      const auto rank = static_cast<int64_t>(graph_.value(sub->inputs[0]).dims.size());
      if (axes.size() != 1 || variance->attrs.integers("axes") != axes || (axes[0] != -1 && axes[0] != rank - 1))
        continue;
      return Replacement{"layer_norm",
                         {sub->inputs[0]},
                         Attrs{{"axis", int64_t{-1}}, {"epsilon", *eps}},
                         {mean, sub, variance, add, sqrt, &root}};
    }
    return {};
  }

  std::optional<Replacement> attention(const Node& root) {
    const auto m = match_attention(graph_, match_, root);
    if (!m) return {};
    Replacement r{"attention", {m->q, m->k, m->v}, Attrs{{"scale", m->scale}}, m->nodes};
    if (m->mask.valid()) r.inputs.push_back(m->mask);
    if (m->transposed_keys) r.attrs.set("transposed_keys", int64_t{1});
    if (m->nan_is_zero) r.attrs.set("nan_is_zero", int64_t{1});
    return r;
  }

  // Without kept dims a square tensor broadcasts along another axis than the one reduced.
  static bool keeps_dims(const Node& reduce) { return reduce.attrs.integer("keepdims", 1) == 1; }

  bool is_square(ValueId v, ValueId x) {
    if (const Node* mul = match_.made_by(v, "mul")) return mul->inputs[0] == x && mul->inputs[1] == x;
    const Node* pow = match_.made_by(v, "pow");
    return pow && pow->inputs[0] == x && match_.number(pow->inputs[1]) == 2.0;
  }

  Graph& graph_;
  Match match_;
};

// What stands on other patterns (attention on softmax) is looked for when those are in place.
enum class Round { Small, Large };

Status replace_all(Graph& graph, Round round) {
  Patterns patterns(graph);
  const uint32_t nodes = graph.node_count();
  for (uint32_t n = 0; n < nodes; ++n) {
    if (!graph.node(NodeId{n}).op) continue;
    const Node& root = graph.node(NodeId{n});
    const auto found = round == Round::Small ? patterns.find(root) : patterns.find_large(root);
    if (!found) continue;
    graph::Trace trace(graph, found->op);
    std::vector<graph::Origin> origins;
    std::vector<NodeId> matched;
    for (const Node* node : found->nodes) {
      origins.insert(origins.end(), node->origins.begin(), node->origins.end());
      matched.push_back(graph.value(node->outputs[0]).producer);
    }
    std::sort(matched.begin(), matched.end());
    for (const NodeId m : matched) trace.before(m);
    const ValueId old = graph.node(NodeId{n}).outputs[0];
    const graph::UnderPredicate branch(graph, graph.node(NodeId{n}).predicate);
    DLCB_ASSIGN(const ValueId made, graph.add1(found->op, found->inputs, found->attrs, std::move(origins)));
    if (graph.value(made).dims != graph.value(old).dims) continue;  // a number of higher rank gave the tree more dims
    trace.after(graph.value(made).producer).done();
    graph.replace_uses(old, made);
    graph.remove(NodeId{n});
  }
  remove_dead(graph);
  graph.sort_topologically();
  return ok();
}

}  // namespace

Status recognise_patterns(Graph& graph) {
  DLCB_TRY(replace_all(graph, Round::Small));
  return replace_all(graph, Round::Large);
}

}  // namespace dlcb::rewrite
