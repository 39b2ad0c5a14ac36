#include "rewrite/attention.h"

#include <cmath>
#include <limits>
#include <numeric>

namespace dlcb::rewrite {
namespace {

using graph::Graph;
using graph::Node;
using ops::ValueId;

class AttentionMatcher {
 public:
  AttentionMatcher(const Graph& graph, const Match& match) : graph_(graph), match_(match) {}

  std::optional<AttentionMatch> run(const Node& root) {
    found_.v = root.inputs[1];
    const Node* softmax = weights(root.inputs[0]);
    if (!softmax || !over_last_axis(*softmax)) return {};
    const Node* product = scores(softmax->inputs[0]);
    if (!product) return {};
    take(root);
    found_.q = unscaled(product->inputs[0]);
    keys(unscaled(product->inputs[1]));
    const size_t rank = rank_of(root.outputs[0]);
    if (rank < 2 || rank_of(found_.q) != rank || rank_of(found_.k) != rank || rank_of(found_.v) != rank) return {};
    if (found_.mask.valid() && rank_of(found_.mask) > rank) return {};
    const DType type = graph_.value(found_.q).dtype;
    if (!is_float(type) || graph_.value(softmax->outputs[0]).dtype != type) return {};
    return found_;
  }

 private:
  size_t rank_of(ValueId v) const { return graph_.value(v).dims.size(); }
  void take(const Node& node) { found_.nodes.push_back(&node); }

  // The node `op` that makes v, if nobody else looks at v.
  const Node* inner(ValueId v, std::string_view op) {
    const Node* node = match_.made_by(v, op);
    if (!node || !match_.used_once(v)) return nullptr;
    take(*node);
    return node;
  }

  bool over_last_axis(const Node& softmax) const {
    const int64_t axis = softmax.attrs.integer("axis", -1);
    return axis == -1 || axis == static_cast<int64_t>(rank_of(softmax.inputs[0])) - 1;
  }

  // The softmax that makes v, also behind select(is_nan(softmax), 0, softmax).
  const Node* weights(ValueId v) {
    if (const Node* select = inner(v, "select")) {
      const Node* is_nan = inner(select->inputs[0], "is_nan");
      const ValueId kept = select->inputs[2];
      if (!is_nan || is_nan->inputs[0] != kept || match_.number(select->inputs[1]) != 0.0) return nullptr;
      found_.nan_is_zero = true;
      const Node* softmax = match_.made_by(kept, "softmax");
      if (!softmax || match_.users(kept) != 2) return nullptr;
      take(*softmax);
      return softmax;
    }
    return inner(v, "softmax");
  }

  // The product behind a mask and a scale.
  const Node* scores(ValueId v) {
    if (const Node* add = inner(v, "add")) {
      for (int side : {0, 1}) {
        const size_t before = found_.nodes.size();
        const double scale = found_.scale;
        if (const Node* product = scaled_product(add->inputs[side])) {
          found_.mask = add->inputs[1 - side];
          return product;
        }
        found_.nodes.resize(before);
        found_.scale = scale;
      }
      return nullptr;
    }
    if (const Node* select = inner(v, "select")) {
      if (match_.number(select->inputs[2]) != -std::numeric_limits<double>::infinity()) return nullptr;
      found_.mask = select->inputs[0];
      return scaled_product(select->inputs[1]);
    }
    return scaled_product(v);
  }

  const Node* scaled_product(ValueId v) { return inner(unscaled(v), "matmul"); }

  // v without a factor or divisor that is a number, which goes into the scale.
  ValueId unscaled(ValueId v) {
    const Node* mul = match_.made_by(v, "mul");
    const Node* div = match_.made_by(v, "div");
    const Node* node = mul ? mul : div;
    if (!node || !match_.used_once(v)) return v;
    for (int side : {1, 0}) {
      const auto factor = match_.number(node->inputs[side]);
      if (!factor || (div && side == 0)) continue;
      const ValueId rest = node->inputs[1 - side];
      if (!std::isfinite(*factor) || *factor == 0 || rank_of(rest) != rank_of(v)) return v;
      take(*node);
      found_.scale *= div ? 1 / *factor : *factor;
      return rest;
    }
    return v;
  }

  bool swaps_last_two(const Node& transpose) const {
    const std::vector<int64_t> perm = transpose.attrs.integers("perm");
    std::vector<int64_t> wanted(perm.size());
    std::iota(wanted.begin(), wanted.end(), 0);
    if (wanted.size() < 2) return false;
    std::swap(wanted.back(), wanted[wanted.size() - 2]);
    return perm == wanted;
  }

  bool same_dims(ValueId a, ValueId b, size_t a_begin, size_t b_begin, size_t count) const {
    for (size_t i = 0; i < count; ++i) {
      if (graph_.value(a).dims[a_begin + i] != graph_.value(b).dims[b_begin + i]) return false;
    }
    return true;
  }

  // `turned` is k^T. Leading dims are often merged for the transpose and split again: the keys are what went in.
  void keys(ValueId turned) {
    found_.k = turned;
    found_.transposed_keys = true;
    const Node* split = match_.made_by(turned, "reshape");
    const ValueId middle = split ? split->inputs[0] : turned;
    const Node* transpose = match_.made_by(middle, "transpose");
    if (!transpose || !swaps_last_two(*transpose)) return;
    const Node* merge = split ? match_.made_by(transpose->inputs[0], "reshape") : nullptr;
    if (split && !merge) return;
    const ValueId source = merge ? merge->inputs[0] : transpose->inputs[0];
    const size_t rank = rank_of(turned), inner_rank = rank_of(middle);
    if (rank_of(source) != rank || rank < 2 || inner_rank < 2) return;
    const bool regroups_only = same_dims(turned, middle, rank - 2, inner_rank - 2, 2) &&
                               same_dims(source, transpose->inputs[0], rank - 2, inner_rank - 2, 2) &&
                               same_dims(source, turned, 0, 0, rank - 2);
    if (!regroups_only) return;
    found_.k = source;
    found_.transposed_keys = false;
    if (split) take(*split);
    take(*transpose);
    if (merge) take(*merge);
  }

  const Graph& graph_;
  const Match& match_;
  AttentionMatch found_;
};

}  // namespace

std::optional<AttentionMatch> match_attention(const Graph& graph, const Match& match, const Node& root) {
  return AttentionMatcher(graph, match).run(root);
}

}  // namespace dlcb::rewrite
