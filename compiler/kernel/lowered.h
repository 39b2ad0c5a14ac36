// A region as schedules see it: every load and store has become one linear element offset, iteration dims can be
// merged, and it is known on which loop symbols an expression depends (through data-dependent coordinates too).
#pragma once
#include <functional>
#include <unordered_map>
#include <vector>

#include "kernel/region.h"

namespace dlcb::kernel {

// One loop: 0 <= symbol < extent.
struct Loop {
  sym::Expr symbol, extent;
};

class Lowered {
 public:
  Lowered(ops::ScalarStore& scalars, const sym::Facts& facts, const Region& region);

  struct Site {
    size_t input;      // index into region.inputs
    sym::Expr offset;  // in elements
    bool safe;         // inside its tensor whatever guards say: may be executed speculatively
  };
  const Site& site(ops::Scalar load);
  sym::Expr store_offset(size_t output) const { return stores_[output]; }
  ops::Scalar body(size_t output) const { return bodies_[output]; }
  void set_body(size_t output, ops::Scalar body) { bodies_[output] = body; }

  // Index symbols that the expression depends on, bindings followed, reduction indices excluded; sorted by id.
  const std::vector<sym::Expr>& symbols(sym::Expr e);
  const std::vector<sym::Expr>& symbols(ops::Scalar s);
  bool depends(sym::Expr e, sym::Expr symbol);
  bool depends(ops::Scalar s, sym::Expr symbol);
  // Changes during a launch: depends on an index symbol or on loaded data. All else is a kernel parameter.
  bool variant(sym::Expr e);
  // Reaches a load that only its guard keeps inside the tensor.
  bool unsafe(ops::Scalar s);
  bool unsafe(sym::Expr e);

  // A reduction that the schedule computes: its operand over `symbols` (shared by all such reductions) instead of its
  // own bound indices. From now on the Reduce node stands for the reduced value of that operand.
  void set_operand(ops::Scalar reduce, ops::Scalar operand, std::span<const sym::Expr> symbols);
  // What a Reduce node reduces: set_operand()'s, or its own.
  ops::Scalar operand(ops::Scalar reduce) const;

  // Every load reachable from any body, and every integer expression used other than as a load's coordinates.
  std::vector<ops::Scalar> loads();
  std::vector<sym::Expr> plain_indices();

  // Replaces index symbols in offsets and store offsets (only legal for symbols that plain_indices() do not contain).
  void replace(const std::unordered_map<uint32_t, sym::Expr>& by_symbol_id);
  // Merges adjacent loops (outermost first) wherever all offsets allow; loops of extent 1 go away.
  void collapse(std::vector<Loop>& loops);

  ops::ScalarStore& scalars;
  sym::Store& sym;
  const sym::Facts& facts;
  const Region& region;

 private:
  bool mergeable(const Loop& outer, const Loop& inner, std::span<const sym::Expr> offsets,
                 std::span<const sym::Expr> plain);
  std::vector<sym::Expr> all_offsets();
  void visit(const std::function<void(ops::Scalar, const ops::ScalarNode&)>& see);

  std::vector<sym::Expr> stores_;
  std::vector<ops::Scalar> bodies_;
  std::unordered_map<uint32_t, sym::Expr> replaced_;
  std::unordered_map<uint32_t, Site> sites_;                             // by load
  std::unordered_map<uint32_t, std::vector<sym::Expr>> expr_symbols_;    // by expression
  std::unordered_map<uint32_t, std::vector<sym::Expr>> scalar_symbols_;  // by scalar
  std::unordered_map<uint32_t, bool> unsafe_;
  std::unordered_map<uint32_t, ops::Scalar> operands_;  // by reduce; see set_operand
  std::vector<sym::Expr> reduced_;
};

// e = coefficient * symbol + rest with neither depending on symbol; false if e is not of that form.
bool affine(Lowered& region, sym::Expr e, sym::Expr symbol, sym::Expr* coefficient, sym::Expr* rest);

// A sum of products: atoms vary during the launch, the coefficient does not.
struct Monomial {
  std::vector<sym::Expr> atoms;  // sorted by id; empty: the invariant part
  sym::Expr coefficient;
};
std::vector<Monomial> monomials(Lowered& region, sym::Expr e);

}  // namespace dlcb::kernel
