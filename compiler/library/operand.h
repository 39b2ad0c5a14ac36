// How a library may read a tensor that is only a view (transpose, reshape, slice) of another: in place, through
// strides.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace dlcb::library {

// Element address = sum of strides[i] * index[i] into `source`, with no offset.
struct StridedOperand {
  ops::ValueId source;
  std::vector<sym::Expr> strides;  // one per given index symbol
};

// Every way to read `value` at `coords` (expressions linear in `indices`), from the value itself (first) down through
// the views that it is made of (last); only those that are linear in all indices and start at the tensor's first
// element. A view that holds more elements than `value` is passed over.
std::vector<StridedOperand> strided_readings(graph::Graph& graph, ops::ValueId value, std::span<const sym::Expr> coords,
                                             std::span<const sym::Expr> indices);

}  // namespace dlcb::library
