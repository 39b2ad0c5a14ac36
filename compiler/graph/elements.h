// Small integer tensors as lists of expressions: how Shape -> Gather -> Concat -> Reshape chains become dims.
#pragma once
#include "graph/graph.h"

namespace dlcb::graph {

// The elements of an output that is about to be made, or nothing: not a small integer tensor of literal size, or its
// elements depend on tensor contents that are not known as expressions.
std::optional<std::vector<sym::Expr>> derive_elements(const Graph& g, const ops::OutputDef& out, std::span<const ValueId> operands);

// The one element of a tensor that has exactly one and is a constant or a known expression.
std::optional<ops::Scalar> single_element(const Graph& g, ValueId v);

// The number of elements if all dims are literal and it is at most kMaxElements.
std::optional<int64_t> small_count(const sym::Store& store, std::span<const sym::Expr> dims);

}  // namespace dlcb::graph
