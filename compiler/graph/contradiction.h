// The message for a shape requirement that can never hold: what was required, what the operands look like, and where
// each side's dims and the constraints about them come from.
#pragma once
#include "graph/graph.h"

namespace dlcb::graph {

// `op` and `operands` describe the node being added (operands empty: not tied to a node). EmptyRange where a range that
// the user declared takes part, else ShapeContradiction.
Diagnostic contradiction(const Graph& g, const ops::Requirement& requirement, std::string_view op,
                         std::span<const ValueId> operands, std::span<const Origin> origins);

// EmptyRange: what the constraints allow of a symbol ("only T >= 7 can", "kernel is longer than the input") and what
// the user allows do not meet.
Diagnostic no_value_left(const Graph& g, sym::Expr symbol, std::string allowed, const Constraint& because);

// "f32[N, 3, H]"
std::string type_text(const sym::Store& store, DType dtype, std::span<const sym::Expr> dims);

// One note per symbol ("'T' is dim 1 of input 'speech'"), in order of appearance.
std::vector<Note> symbol_notes(const Graph& g, std::span<const sym::Expr> symbols);

}  // namespace dlcb::graph
