// The constraints that were met while the graph was built say more together than one by one. This pass finds what they
// force: symbols that are functions of others or constants disappear from all dims, what follows from the rest is
// dropped, and what is left is in the simplest form known. Afterwards no constraint is provable from the ones before
// it.
#pragma once
#include <string>
#include <vector>

#include "graph/graph.h"

namespace dlcb::shape {

struct SolveOptions {
  // Symbols that the user named as dynamic (--input x=f32[N,3,H,W]); one that is forced to a constant is DimForced.
  std::vector<std::string> dynamic;
};

struct SolveReport {
  std::vector<Note> notes;  // what was forced equal to what, and by which operator
};

// Errors: ShapeContradiction, DimForced, EmptyRange.
Result<SolveReport> solve(graph::Graph& g, const SolveOptions& options = {});

}  // namespace dlcb::shape
