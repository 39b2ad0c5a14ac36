// The inside of ScalarStore, shared by its constructors (scalar.cpp) and its rewriting (scalar_rewrite.cpp).
#pragma once
#include <deque>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "ops/scalar.h"

namespace dlcb::ops {

struct ScalarStore::Impl {
  struct Known {
    uint64_t hash = 0;
    uint32_t height = 0;          // reductions nested inside, at most
    std::vector<sym::Expr> free;  // sorted by id
  };
  std::deque<ScalarNode> nodes;  // a deque: references from node() stay valid
  std::vector<Known> known;      // by scalar id
  std::unordered_multimap<uint64_t, uint32_t> by_hash;

  std::unordered_map<uint32_t, sym::Expr> symbol_of;  // scalar id -> its Data symbol
  std::unordered_map<uint32_t, Scalar> binding_of;    // Data symbol id -> scalar

  // Bound indices. Canonical ones are keyed by (height, position, extent); stand-ins (height 0) are used while a binder
  // is being renamed and never occur in a finished expression.
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, sym::Expr> bound;
  std::unordered_map<uint32_t, BoundIndex> bound_index_of;  // by symbol id; height 0 for stand-ins

  sym::Expr bound_index(sym::Store& sym, uint32_t height, uint32_t position, sym::Expr extent);
  // Free symbols of an expression, those of its data bindings included; sorted by id, may repeat.
  void add_free(const sym::Store& sym, sym::Expr e, std::vector<sym::Expr>& out) const;
  uint32_t height_of(const sym::Store& sym, sym::Expr e) const;  // of the bindings in e
  Scalar intern(const sym::Store& sym, ScalarNode node);
};

bool has_symbol(std::span<const sym::Expr> sorted, sym::Expr symbol);

}  // namespace dlcb::ops
