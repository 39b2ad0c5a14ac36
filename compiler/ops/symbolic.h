// Symbolic evaluation of small tensors: what a shape computation yields, as expressions. A float in such a computation
// is an expression times a number, so that floor(cast(N) * 0.5) becomes floor_scale(N, 0.5).
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "ops/op.h"

namespace dlcb::ops {

// An element that is known: for integers and bools the expression; for floats expression * scale / divisor, where one of
// both is 1 and the result is rounded to the element's type. Expressions are over unbounded integers: `fits` says where
// every integer on the way fits the type that the model computes it in, so that the expression is what the model
// computes; invalid: always.
struct Element {
  sym::Expr expr;
  double scale = 1;
  int64_t divisor = 1;
  sym::Expr fits = {};
  friend bool operator==(const Element&, const Element&) = default;
};

// The elements of one output, row-major, or nothing where they cannot be expressed: extents that are not literal, more
// than max_elements, a load at a coordinate or from an operand that is not known. elements_of: row-major elements of a
// loaded value, or nullptr.
std::optional<std::vector<Element>> evaluate_symbolic(
    ScalarStore& scalars, const sym::Facts& facts, const OutputDef& output, std::span<const Operand> operands,
    const std::function<const std::vector<Element>*(ValueId)>& elements_of, int64_t max_elements = 1024);

}  // namespace dlcb::ops
