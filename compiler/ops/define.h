// What an operator's definition is built with: operands and attributes by name, shape requirements, broadcasting, and
// loads that stay inside their tensors. The index notation (notation.h) is built on the same calls, so both say the
// same things.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/op.h"

namespace dlcb::ops {

// One use, one definition, one thread. References live as long as the call to define().
class DefineContext {
 public:
  DefineContext(const OpDef& op, ScalarStore& scalars, const sym::Facts& facts, std::span<const Operand> operands,
                const Attrs& attrs);

  const OpDef& op;
  ScalarStore& scalars;
  sym::Store& sym;
  std::span<const Operand> operands;
  const Attrs& attrs;
  Definition definition;

  // What is known, the requirements made so far included.
  const sym::Facts& facts() const { return own_facts_ ? *own_facts_ : *base_facts_; }

  // Position of an operand in `operands`, -1 if it is absent. The name must be one of the declaration's.
  int position(std::string_view operand) const;
  bool has(std::string_view operand) const { return position(operand) >= 0; }
  const Operand& operand(std::string_view name) const { return operands[position(name)]; }
  std::span<const sym::Expr> dims(int position) const { return operands[position].dims; }
  int rank(int position) const { return static_cast<int>(operands[position].dims.size()); }
  // An axis attribute or element, negative counting from the end, as 0 <= axis < rank; BadAttribute otherwise.
  Result<int> axis(int64_t value, int rank) const;
  // An integer list attribute of axes: normalised, sorted; error for repeated ones.
  Result<std::vector<int>> axes(std::string_view attr, int rank) const;

  sym::Expr constant(int64_t v) const { return sym.constant(v); }
  sym::Expr simplify(sym::Expr e) const { return facts().simplify(e); }
  bool proves(sym::Expr condition) const { return facts().proves(condition); }
  sym::Expr product(std::span<const sym::Expr> factors) const { return sym.mul(factors); }

  // Adds a shape condition unless it is proved, and assumes it. A condition that is disproved stays in the list: the
  // caller reports it, since it knows where both sides come from.
  void require(sym::Expr condition, std::string why, int operand = -1, int axis = -1);
  void require_equal(sym::Expr a, sym::Expr b, std::string why, int operand = -1, int axis = -1);
  Diagnostic fail(DiagKind kind, std::vector<std::string> args, int operand = -1, int axis = -1) const;

  // One Index symbol per dim.
  std::vector<sym::Expr> indices(std::span<const sym::Expr> dims);
  void output(DType dtype, std::vector<sym::Expr> dims, std::vector<sym::Expr> index, Scalar body);

  // numpy broadcasting of one dim: equal or 1. Where neither is proved, the extent is select(a == 1, b, a) and the
  // coordinate is i * ne(a, 1), so one kernel serves both cases with a stride that the host computes.
  sym::Expr broadcast_extent(sym::Expr a, sym::Expr b, int operand, int axis);
  sym::Expr broadcast_coordinate(sym::Expr i, sym::Expr dim, sym::Expr extent) const;
  // Right-aligned shapes of several operands.
  std::vector<sym::Expr> broadcast_dims(std::span<const int> positions);
  Scalar load_broadcast(int position, std::span<const sym::Expr> index, std::span<const sym::Expr> extents);

  Scalar load(int position, std::vector<sym::Expr> coords) const;
  // `outside` where a coordinate is not inside its dim; what is proved inside is not tested.
  Scalar load_or(int position, std::vector<sym::Expr> coords, Scalar outside) const;
  // The condition under which all coordinates are inside; constant 1 if proved.
  sym::Expr inside(std::span<const sym::Expr> coords, std::span<const sym::Expr> dims) const;
  // An integer read from data as a coordinate of a dim: negative counts from the end, and values outside the dim go to
  // its nearest element, because a wrong index must not read foreign memory. Recorded, for a caller that knows the
  // data.
  sym::Expr gathered(Scalar integer, sym::Expr dim);
  // An empty dim has no nearest element: it may only be gathered from where there are no indices.
  void require_gatherable(sym::Expr dim, std::span<const sym::Expr> index_dims, int operand, int axis);

 private:
  const sym::Facts* base_facts_;
  std::optional<sym::Facts> own_facts_;
};

// An operand list as declared: "x, w, bias?" or "xs..".
struct OperandSpec {
  std::string name;
  bool optional = false, variadic = false;
};
std::vector<OperandSpec> operand_specs(const OpDef& op);

}  // namespace dlcb::ops
