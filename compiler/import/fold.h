// Operands that must be numbers at compile time (Resize scales, Clip bounds) are often small constant expressions in
// the model: Cast of a Constant, a Concat of them. Scalar expressions fold themselves, so substituting positions and
// operand elements into an operator's body is all that it takes.
#pragma once
#include <optional>

#include "graph/graph.h"

namespace dlcb::importer {

constexpr int64_t kMaxFolded = 256;  // elements

// The data of a constant, or of a small value computed from constants alone; nothing when an input, a symbolic dim, a
// reduction or too much data is involved.
std::optional<graph::Constant> fold_constant(graph::Graph& graph, graph::ValueId value);

}  // namespace dlcb::importer
