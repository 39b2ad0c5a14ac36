// The CPU reference: evaluates definitions on concrete data. It serves constant folding and tests. Floats are computed
// in double and rounded to each node's dtype; reductions accumulate in double and round once.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "ops/op.h"

namespace dlcb::ops {

// Dense, row-major, little-endian. Owns its bytes.
struct Tensor {
  DType dtype = DType::F32;
  std::vector<int64_t> dims;
  std::vector<std::byte> bytes;

  static Tensor zeros(DType dtype, std::vector<int64_t> dims);
  int64_t size() const;  // elements
  // Any dtype; integers of more than 53 bits lose digits through double, and floats are truncated by integer().
  double real(int64_t element) const;
  int64_t integer(int64_t element) const;
  void set_real(int64_t element, double v);
  void set_integer(int64_t element, int64_t v);
};

// A tensor that somebody else owns (a constant of the model).
struct TensorView {
  DType dtype = DType::F32;
  std::span<const int64_t> dims;
  std::span<const std::byte> bytes;
  TensorView() = default;
  TensorView(DType t, std::span<const int64_t> d, std::span<const std::byte> b) : dtype(t), dims(d), bytes(b) {}
  TensorView(const Tensor& t) : dtype(t.dtype), dims(t.dims), bytes(t.bytes) {}
};

struct ReferenceInputs {
  std::function<std::optional<TensorView>(ValueId)> tensor;  // every value that the bodies load
  std::function<std::optional<int64_t>(sym::Expr)> symbol;   // free symbols other than the output indices
};

// One tensor per output. UnknownShape if a tensor or symbol is missing. A Load outside its tensor gives 0 (only lanes
// that a Select discards may do that).
Result<std::vector<Tensor>> evaluate(const ScalarStore& scalars, const Definition& definition,
                                     const ReferenceInputs& inputs);
Result<Tensor> evaluate(const ScalarStore& scalars, const OutputDef& output, const ReferenceInputs& inputs);

// What evaluate() would cost, in steps on one element (some 10 ns each): output elements times operations, those of a
// reduction as often as it is run through. Infinite where no bound is known, or where evaluate() would fail.
double evaluation_steps(const ScalarStore& scalars, const OutputDef& output, const ReferenceInputs& inputs);

}  // namespace dlcb::ops
