// Small integer tensors as lists of expressions: how Shape -> Gather -> Concat -> Reshape chains become dims.
#pragma once
#include "graph/graph.h"

namespace dlcb::graph {

// The one element of a tensor that has exactly one and is a constant or a known expression.
std::optional<ops::Scalar> single_element(const Graph& g, ValueId v);

// The number of elements if all dims are literal and it is at most kMaxElements.
std::optional<int64_t> small_count(const sym::Store& store, std::span<const sym::Expr> dims);

}  // namespace dlcb::graph
