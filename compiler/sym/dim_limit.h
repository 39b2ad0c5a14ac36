// That no dim is larger than the stub admits (base/limits.h) is not among the bounds of symbols: every expression would
// carry it along, and hardly a question is about it. Those that are learn it here.
#pragma once
#include <vector>

#include "base/limits.h"
#include "sym/expr.h"

namespace dlcb::sym {

// For the dims in e.
inline void assume_dim_limit(Facts& facts, Expr e) {
  Store& store = facts.store();
  const std::vector<Expr> symbols(store.symbols(e).begin(), store.symbols(e).end());
  for (Expr symbol : symbols)
    if (store.symbol_kind(symbol) == SymbolKind::Dim && store.bounds(symbol).hi > kLargestDim)
      facts.assume(store.le(symbol, store.constant(kLargestDim)));
}

}  // namespace dlcb::sym
