// How a dim reaches the running model: written into the code, passed to kernels by name, or computed per call.
#pragma once
#include "sym/expr.h"

namespace dlcb::shape {

enum class DimClass : uint8_t { Literal, Named, Residual };

inline DimClass classify(const sym::Store& store, sym::Expr dim) {
  if (store.kind(dim) == sym::Kind::Const) return DimClass::Literal;
  return store.kind(dim) == sym::Kind::Symbol ? DimClass::Named : DimClass::Residual;
}

}  // namespace dlcb::shape
