// Operators that exporters write out as many small ones are put together again, so that one definition with its
// numerics and its library call serves both spellings: softmax, layer norm, GELU, hard-swish, SiLU, attention.
#pragma once
#include "graph/graph.h"

namespace dlcb::rewrite {

Status recognise_patterns(graph::Graph& graph);

}  // namespace dlcb::rewrite
