// What a region reads and writes along rows. Most tensors are rows side by side: the element of a row in a column lies
// at row * length + column. Rows of any length then begin where the one before ends, and what is said about their
// alignment holds for all such tensors.
#pragma once
#include <functional>

#include "kernel/reductions.h"

namespace dlcb::kernel {

struct RowTensors {
  // Inputs and outputs that are rows side by side, of elements that `takes` accepts; `r` has one reduced loop.
  RowTensors(Lowered& region, const Reductions& r, const std::function<bool(DType)>& takes);

  bool holds(Lowered& region, ops::Scalar load) const;
  bool holds(size_t output) const;

  sym::Expr flat;  // the offset of an element
  std::vector<size_t> inputs, outputs;
};

// Loads of the rows, from whatever tensors, that `needs` surely execute; those of finished reductions are left out.
// What all rows share comes from the cache and can wait.
std::vector<ops::Scalar> row_loads(Lowered& region, const Reductions& r, const std::vector<ops::Scalar>& needs);

}  // namespace dlcb::kernel
