// Where an element lies: row-major or permuted dense storage turned into a linear expression of coordinates.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace dlcb::fuse {

// Product of dims; 1 for rank 0.
sym::Expr element_count(sym::Store& store, std::span<const sym::Expr> dims);

// Stride in elements of each logical dim of a dense tensor stored in physical order `order` (empty: row-major).
std::vector<sym::Expr> dense_strides(sym::Store& store, std::span<const sym::Expr> dims,
                                     std::span<const uint8_t> order);

// Linear element offset of a coordinate.
sym::Expr element_offset(sym::Store& store, std::span<const sym::Expr> dims, std::span<const uint8_t> order,
                         std::span<const sym::Expr> coords);

// The factor of `symbol` in an expression that is linear in it (0 if it does not occur); nothing if it is not linear.
std::optional<sym::Expr> linear_coefficient(sym::Store& store, sym::Expr e, sym::Expr symbol);

bool is_row_major(std::span<const uint8_t> order);

}  // namespace dlcb::fuse
