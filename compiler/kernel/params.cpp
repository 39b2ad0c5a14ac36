// Numbering of kernel parameters.
#include "kernel/params.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "base/text.h"
#include "kernel/ctext.h"

namespace dlcb::kernel {

using sym::Expr;

Params::Params(sym::Store& sym, const Region& region, const GenerateOptions& options)
    : sym_(sym), region_(region), options_(options) {}

std::string Params::input(size_t index) {
  std::string name = fmt::format("x{}", index);
  const Tensor& t = region_.inputs[index];
  if (names_.emplace(index << 8 | 100, name).second) {
    pointers_.push_back({Arg::Pointer, t.value, {}});
    pointer_decls_.push_back(fmt::format("const {}* __restrict__ {}", memory_type(t.dtype), name));
  }
  return name;
}

std::string Params::output(size_t index) {
  std::string name = fmt::format("y{}", index);
  const Tensor& t = region_.outputs[index].tensor;
  if (names_.emplace(index << 8 | 101, name).second) {
    pointers_.push_back({Arg::Pointer, t.value, {}});
    pointer_decls_.push_back(fmt::format("{}* __restrict__ {}", memory_type(t.dtype), name));
  }
  return name;
}

bool Params::literal(Expr value) const {
  auto c = sym_.as_const(value);
  return c && (options_.literal_dims || (*c >= -kLiteralLimit && *c <= kLiteralLimit));
}

std::string Params::number(Arg::Kind kind, Expr value, std::string_view prefix) {
  auto [at, is_new] = names_.emplace(uint64_t{value.id} << 8 | kind, "");
  if (is_new) {
    at->second = fmt::format("{}{}", prefix, numbers_.size());
    numbers_.push_back({kind, {}, value});
    number_decls_.push_back(fmt::format("{} {}",
                                        kind == Arg::I32   ? "i32"
                                        : kind == Arg::I64 ? "i64"
                                                           : "u32",
                                        at->second));
  }
  return at->second;
}

std::string Params::integer(Expr value) {
  if (literal(value)) return fmt::format("{}", *sym_.as_const(value));
  return number(Arg::I32, value, "p");
}

std::string Params::argument(Expr value) {
  return options_.literal_dims ? integer(value) : number(Arg::I32, value, "p");
}

std::string Params::real(float value) {
  const float doubled = value * 2;
  const bool structural =
      !std::isfinite(value) || (std::abs(doubled) <= 2 * kLiteralLimit && doubled == std::rint(doubled));
  if (structural || options_.literal_dims) return float_text(DType::F32, value);
  // The slot of an i32 argument holds the float's bits.
  Expr bits = sym_.constant(std::bit_cast<int32_t>(value));
  auto [at, is_new] = names_.emplace(uint64_t{bits.id} << 8 | 102, "");
  if (is_new) {
    at->second = fmt::format("f{}", numbers_.size());
    numbers_.push_back({Arg::I32, {}, bits});
    number_decls_.push_back(fmt::format("float {}", at->second));
  }
  return at->second;
}

std::string Params::divide(const std::string& n, Expr divisor) {
  if (literal(divisor) && *sym_.as_const(divisor) > 0)
    return fmt::format("i32(u32({}) / {}u)", n, *sym_.as_const(divisor));
  return multiply_shift(n, divisor);
}

std::string Params::divide_by_argument(const std::string& n, Expr divisor) {
  return options_.literal_dims ? divide(n, divisor) : multiply_shift(n, divisor);
}

std::string Params::multiply_shift(const std::string& n, Expr divisor) {
  Expr at_least_1 = sym_.max(divisor, sym_.constant(1));
  std::string mul = number(Arg::MagicMul, at_least_1, "mul"), shift = number(Arg::MagicShift, at_least_1, "shift");
  return fmt::format("i32(mdiv(u32({}), {}, {}))", n, mul, shift);
}

std::string Params::signature() const {
  std::vector<std::string> all = pointer_decls_;
  all.insert(all.end(), number_decls_.begin(), number_decls_.end());
  return join(all, ", ");
}

std::vector<Arg> Params::args() const {
  std::vector<Arg> all = pointers_;
  all.insert(all.end(), numbers_.begin(), numbers_.end());
  return all;
}

std::vector<Arg::Kind> Params::kinds() const {
  std::vector<Arg::Kind> all;
  for (const Arg& a : args()) all.push_back(a.kind);
  return all;
}

}  // namespace dlcb::kernel
