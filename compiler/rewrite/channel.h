// Recognises a pointwise node that combines a tensor with another operand, such as one constant number per channel,
// however it is spelled.
#pragma once
#include "graph/graph.h"

namespace dlcb::rewrite {

// If `node` computes fn(v, e) or fn(e, v) element by element, in the shape and type of v: e. Else invalid.
ops::Scalar other_operand(const graph::Graph& graph, const graph::Node& node, ops::Fn fn, ops::ValueId v);

// If `node` computes fn(v, c) (either side, same shape and type as v), where c is a constant with one element per index
// of dim `axis` and none along the others: c. Else invalid.
ops::ValueId per_channel_operand(const graph::Graph& graph, const graph::Node& node, ops::Fn fn, ops::ValueId v,
                                 size_t axis);

// The only node that uses v, if v is used once and is neither an output nor read by the host.
graph::NodeId sole_user(const graph::Graph& graph, const std::vector<std::vector<graph::NodeId>>& users,
                        ops::ValueId v);

}  // namespace dlcb::rewrite
