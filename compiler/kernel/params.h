// The parameters of one kernel: tensors as pointers and every integer that does not change during a launch, numbered in
// the order in which the text first needs them, so that layers that differ only in sizes share one text.
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kernel/region.h"

namespace dlcb::kernel {

class Params {
 public:
  Params(sym::Store& sym, const Region& region, const GenerateOptions& options);

  std::string input(size_t index);   // "x0"
  std::string output(size_t index);  // "y0"
  // The value's name ("p0"), or a literal for small constants: window extents and strides keep their structure.
  std::string integer(sym::Expr value);
  // The same, but a small constant is no literal either: what only tunes a launch must not tell layers apart.
  std::string argument(sym::Expr value);
  // (n / divisor) as text for a non-negative n < 2^31; `n` is an i32 expression. A divisor of 0 is never executed.
  std::string divide(const std::string& n, sym::Expr divisor);
  std::string divide_by_argument(const std::string& n, sym::Expr divisor);

  // A float constant as a parameter ("f0"), so that layers that differ in learned scalars share text; constants that
  // shape the code (0, 1, 0.5, small integers, infinities) stay literals.
  std::string real(float value);

  std::string signature() const;  // "const float* __restrict__ x0, float* __restrict__ y0, i32 p0"
  std::vector<Arg> args() const;
  std::vector<Arg::Kind> kinds() const;  // of the args

 private:
  bool literal(sym::Expr value) const;
  std::string multiply_shift(const std::string& n, sym::Expr divisor);
  std::string number(Arg::Kind kind, sym::Expr value, std::string_view prefix);

  sym::Store& sym_;
  const Region& region_;
  GenerateOptions options_;
  std::vector<Arg> pointers_, numbers_;
  std::vector<std::string> pointer_decls_, number_decls_;
  std::unordered_map<uint64_t, std::string> names_;
};

// Constants up to this stay literals: windows, strides, small factors.
constexpr int64_t kLiteralLimit = 16;

}  // namespace dlcb::kernel
