// For texts that hold many expressions, or expressions as parts of something else (graph/, ops/, fuse/).
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/shared_text.h"
#include "sym/expr.h"

namespace dlcb::sym {

// Precedence as in Python, weakest first.
enum Level : int { kOr, kAnd, kNot, kCompare, kAdd, kMul, kUnary, kAtom };

// What a node's text is made of: its operands, except that a != b, which is not (a == b), is made of a and b.
std::span<const Expr> written_operands(const Store& store, Expr e);

// One node around its operands' texts, whose keys are their ids. Lists of operands end with "..." after `limit`
// characters.
SharedText::Piece write(const Store& store, Expr e, const SharedText::Operand& operand, size_t limit = SIZE_MAX);

// Texts of expressions; the key of an expression is its id.
SharedText shared_text(const Store& store);

}  // namespace dlcb::sym
