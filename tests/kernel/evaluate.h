// The meaning of a region by its definition, one element at a time: what generated kernels are compared with.
#pragma once
#include <map>
#include <vector>

#include "kernel/region.h"

namespace dlcb::testing {

// Elements in the tensor's physical order; halves rounded, integers exact up to 2^53.
using Elements = std::vector<double>;

struct Env {
  ops::ScalarStore* scalars;
  const kernel::Region* region;
  std::map<uint32_t, int64_t> symbols;                                  // dims and, while evaluating, indices
  std::map<uint32_t, Elements> tensors;                                 // by value id
  std::map<std::pair<uint32_t, std::vector<int64_t>>, double> reduced;  // reductions by their free symbols' values
  int64_t integer(sym::Expr e);
  double value(ops::Scalar s);
};

// All elements of an output.
Elements evaluate(Env& env, const kernel::Output& output);
int64_t count(Env& env, const kernel::Tensor& tensor);

}  // namespace dlcb::testing
