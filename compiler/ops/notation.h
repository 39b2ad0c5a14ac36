// The index notation (docs/notation.md): operators as text such as
//   out[b.., m, n] = sum[k] a[b?.., m, k] * w[b?.., k, n]
// parsed once, instantiated for the ranks, extents and attributes at hand.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ops/define.h"

namespace dlcb::ops {

namespace notation {

struct Axis;

// One grammar serves integer expressions (coordinates, extents) and element expressions; the evaluator tells them
// apart.
struct Node {
  enum Kind : uint8_t { Number, Name, Extent, Load, Call, Infix, Reduce } kind = Number;
  std::string text;  // name, operator or reduction
  double number = 0;
  std::vector<Node> args;  // Call, Infix; Load: the value outside, if guarded; Reduce: the body
  std::vector<Axis> axes;  // Load: coordinates; Reduce: letters
};

// A plain axis is a letter alone: it defines the letter's extent. `group` stands for any number of axes, `broadcast`
// for an axis that is equal or 1.
struct Axis {
  bool plain = false, group = false, broadcast = false;
  Node expr;  // a Name when plain
};

struct Clause {
  enum Kind : uint8_t { Extent, Pattern, Require, Rank } kind = Extent;
  std::string name;  // letter or operand; Require: why
  Node expr;
  std::vector<Axis> axes;  // Pattern
};

struct Rule {
  std::vector<Axis> out;
  Node body;
  std::vector<Clause> clauses;
  std::vector<std::string> groups, letters;
};

// Faults in the text are faults of ours (InternalError).
Rule parse(std::string_view text);
// The same rule for the same text; thread-safe.
const Rule& parsed(std::string_view text);

}  // namespace notation

// Adds the output that `text` describes to ctx.definition. `attrs` are those the text may name (usually ctx.attrs).
Status instantiate(DefineContext& ctx, std::string_view text, const Attrs& attrs);

}  // namespace dlcb::ops
