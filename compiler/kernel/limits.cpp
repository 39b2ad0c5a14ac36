// See limits.h. The bound is 2^31 - 2^16: what rounds a size up to whole tiles, vectors or blocks stays in range too.
#include "kernel/limits.h"

#include <algorithm>
#include <unordered_map>
#include <cmath>

#include "fuse/address.h"
#include "kernel/schedule.h"

namespace dlcb::kernel {

using sym::Expr;
using sym::Kind;

namespace {

// No output has an element.
Expr no_output(Lowered& region) {
  sym::Store& sym = region.sym;
  Expr none = sym.constant(1);
  for (const Output& o : region.region.outputs)
    none = sym.logical_and(none, sym.eq(fuse::element_count(sym, o.tensor.dims), sym.constant(0)));
  return none;
}

class Limits {
 public:
  Limits(Lowered& region, Kernel& kernel)
      : region_(region),
        sym_(region.sym),
        kernel_(kernel),
        limit_(region.sym.constant((int64_t{1} << 31) - (1 << 16))) {}

  void tensor(const Tensor& t) { add(sym_.lt(fuse::element_count(sym_, t.dims), limit_), false); }

  void space(std::span<const Loop> loops) {
    const Region& r = region_.region;
    const bool covered = std::ranges::any_of(r.inputs, [&](const Tensor& t) { return covers(t, loops); }) ||
                         std::ranges::any_of(r.outputs, [&](const Output& o) { return covers(o.tensor, loops); });
    if (!covered) add(sym_.lt(extent_of(sym_, loops), limit_), true);
  }

  // A value made of coordinates. Comparisons are left out: they are of places inside the tensors and windows around
  // them.
  void value(Expr e) {
    if (!region_.variant(e) || is_boolean(e)) return;
    add(sym_.lt(magnitude(e), limit_), true);
  }

 private:
  void add(Expr fits, bool when_launched) {
    if (region_.facts.proves(fits)) return;
    if (when_launched) fits = sym_.logical_or(fits, no_output(region_));
    if (std::ranges::find(kernel_.limits, fits) == kernel_.limits.end()) kernel_.limits.push_back(fits);
  }

  bool same(Expr a, Expr b) const { return a == b || region_.facts.equal(a, b); }

  // The loops are dims of the tensor, and its other dims are at least 1 whenever the kernel is launched.
  bool covers(const Tensor& t, std::span<const Loop> loops) const {
    std::vector<Expr> rest = t.dims;
    for (const Loop& l : loops) {
      if (sym_.is_const(l.extent, 1)) continue;
      const auto at = std::ranges::find_if(rest, [&](Expr d) { return same(d, l.extent); });
      if (at == rest.end()) return false;
      rest.erase(at);
    }
    return std::ranges::all_of(rest, [&](Expr d) {
      return region_.facts.bounds(d).lo >= 1 || std::ranges::all_of(region_.region.outputs, [&](const Output& o) {
               return std::ranges::any_of(o.tensor.dims, [&](Expr other) { return same(d, other); });
             });
    });
  }

  bool is_boolean(Expr e) const {
    const sym::Bounds b = sym_.bounds(e);
    return b.lo >= 0 && b.hi <= 1;
  }

  // At least the absolute value of the expression and of all that is computed on the way to it.
  Expr magnitude(Expr e) {
    if (const auto known = magnitudes_.find(e.id); known != magnitudes_.end()) return known->second;
    const Expr made = make_magnitude(e);
    magnitudes_.emplace(e.id, made);
    return made;
  }
  Expr make_magnitude(Expr e) {
    const std::vector<Expr> operands(sym_.operands(e).begin(), sym_.operands(e).end());
    const Kind kind = sym_.kind(e);
    if (!region_.variant(e)) return sym_.max(e, sym_.neg(e));
    if (is_boolean(e)) return sym_.constant(1);
    if (kind == Kind::Symbol) {
      const Expr extent = sym_.index_extent(e);
      return extent.valid() ? extent : sym_.constant(0);  // read from a tensor: its user keeps it in range
    }
    if (kind == Kind::Sum) {
      const std::vector<int64_t> factors(sym_.coefficients(e).begin(), sym_.coefficients(e).end());
      Expr sum = magnitude_of(sym_.sum_constant(e));
      for (size_t i = 0; i < operands.size(); i++)
        sum = sym_.add(sum, sym_.mul(magnitude_of(factors[i]), magnitude(operands[i])));
      return sum;
    }
    Expr all = kind == Kind::Product ? sym_.constant(1) : sym_.constant(0);
    for (Expr operand : operands)
      all = kind == Kind::Product ? sym_.mul(all, magnitude(operand)) : sym_.max(all, magnitude(operand));
    const bool scaled = kind == Kind::FloorScale || kind == Kind::CeilScale;
    if (scaled) all = sym_.max(all, sym_.ceil_scale(all, std::abs(sym_.scale(e))));
    return all;
  }
  Expr magnitude_of(int64_t v) { return sym_.constant(v < 0 ? -std::max(v, -sym::kMax) : v); }

  Lowered& region_;
  sym::Store& sym_;
  Kernel& kernel_;
  const Expr limit_;
  std::unordered_map<uint32_t, Expr> magnitudes_;  // operands are shared: each is looked at once
};

}  // namespace

void add_limits(Lowered& region, std::span<const std::vector<Loop>> spaces, Kernel& kernel) {
  Limits limits(region, kernel);
  for (const Tensor& t : region.region.inputs) limits.tensor(t);
  for (const Output& o : region.region.outputs) limits.tensor(o.tensor);
  for (const std::vector<Loop>& loops : spaces) limits.space(loops);
  for (Expr e : region.plain_indices()) limits.value(e);
}

void skip_empty_outputs(Lowered& region, Kernel& kernel) {
  sym::Store& sym = region.sym;
  const Expr none = region.facts.simplify(no_output(region));
  for (Variant& v : kernel.variants) v.grid[0] = sym.select(none, sym.constant(0), v.grid[0]);
}

}  // namespace dlcb::kernel
