// Storage order of every tensor. Convolutions and pooling run channels last, whatever N, H and W are; the choice looks
// only at operator kinds, so it is the same for static and dynamic models. A layout is a property of a value: no
// transpose node is inserted, consumers just read through other strides. Where a caller's tensor must be row-major a
// copy is made.
#pragma once
#include "graph/graph.h"

namespace dlcb::rewrite {

Status assign_layouts(graph::Graph& graph);

}  // namespace dlcb::rewrite
