// What the host program checks before anything is launched. The list says each thing once, in the model's own terms,
// and leaves out what the others imply.
#pragma once
#include <string>
#include <vector>

#include "graph/graph.h"

namespace dlcb::shape {

enum class GuardKind : uint8_t { Model = 0, Range = 1, InputDim = 2, SizeLimit = 3 };  // numbers as in program.fbs

struct Shown {  // quoted in the message with its value
  std::string text;
  sym::Expr value;
};

struct Guard {
  GuardKind kind = GuardKind::Model;
  // A 0/1 expression. InputDim and Range guards have none, because what they check is taken for granted in expressions:
  // dim `axis` of input `input`, as called, must be `expected`, or must lie in `bounds`.
  sym::Expr condition, expected;
  sym::Bounds bounds;
  std::string text;
  std::vector<Shown> shown;
  int input = -1, axis = -1;  // the input dim to blame, -1: none in particular (axis -1 with an input: its contents)
  std::string why;
  std::vector<graph::Origin> origins;
};

// Input dims first (a dim is its symbol's source, or is checked), then user ranges, then the model's constraints.
// EmptyRange if no value that the user allows satisfies the constraints on one symbol.
Result<std::vector<Guard>> guards(const graph::Graph& g);

}  // namespace dlcb::shape
