// Attention, as exporters write it out: two products with a softmax between them, scales in any of five places, a mask,
// keys transposed through reshapes. As one operator it has one scale, and its keys are stored like its queries.
#pragma once
#include "rewrite/match.h"

namespace dlcb::rewrite {

struct AttentionMatch {
  ops::ValueId q, k, v, mask;    // mask: invalid if there is none
  bool transposed_keys = false;  // `k` lies as [.., size, keys]
  double scale = 1;
  bool nan_is_zero = false;
  std::vector<const graph::Node*> nodes;  // the tree, for origins
};

// `root` is the product with the values: softmax(a q (b k^T) c + mask) v with numbers a, b, c. No match where an inner
// value is wanted elsewhere, or where the operands' ranks differ.
std::optional<AttentionMatch> match_attention(const graph::Graph& graph, const Match& match, const graph::Node& root);

}  // namespace dlcb::rewrite
