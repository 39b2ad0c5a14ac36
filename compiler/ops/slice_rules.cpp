#include "ops/slice_rules.h"

#include <algorithm>
#include <vector>

namespace dlcb::ops {
namespace {

using sym::Expr;
constexpr int64_t kFar = (int64_t{1} << 31) - 1;

class Clamp {
 public:
  Clamp(const sym::Facts& facts, Expr dim) : facts_(facts), s_(facts.store()), dim_(dim) {}

  // A bound as an element number between low and high, where high is dim (or dim - 1 walking backwards).
  Expr bound(Expr e, Expr low, Expr high) {
    if (auto c = s_.as_const(e)) {
      if (*c >= kFar) return high;
      if (*c <= -kFar) return low;
    }
    const sym::Tri negative = facts_.prove(s_.lt(e, s_.constant(0)));
    const Expr from_end = s_.add(e, dim_);
    if (negative == sym::Tri::Yes) return at_most(at_least(from_end, low), high);
    const Expr counted = negative == sym::Tri::No ? e : s_.select(s_.lt(e, s_.constant(0)), from_end, e);
    return at_most(at_least(counted, low), high);
  }

  Expr at_least(Expr e, Expr low) {
    return facts_.proves(s_.le(low, e)) ? e : facts_.proves(s_.le(e, low)) ? low : s_.max(e, low);
  }
  Expr at_most(Expr e, Expr high) {
    return facts_.proves(s_.le(e, high)) ? e : facts_.proves(s_.le(high, e)) ? high : s_.min(e, high);
  }

 private:
  const sym::Facts& facts_;
  sym::Store& s_;
  Expr dim_;
};

}  // namespace

SliceRange clamp_slice(const sym::Facts& facts, Expr start, Expr end, int64_t step, Expr dim) {
  sym::Store& s = facts.store();
  Clamp clamp(facts, dim);
  const Expr zero = s.constant(0), before = s.constant(-1), last = s.sub(dim, s.constant(1));
  Expr span;
  if (step > 0) {
    start = clamp.bound(start, zero, dim);
    span = s.sub(clamp.bound(end, zero, dim), start);
  } else {
    start = clamp.bound(start, before, last);
    span = s.sub(start, clamp.bound(end, before, last));
  }
  const int64_t stride = step > 0 ? step : -step;
  Expr extent = clamp.at_least(stride == 1 ? span : s.ceildiv(span, s.constant(stride)), zero);
  return {facts.simplify(start), facts.simplify(extent)};
}

Expr inferred_dim(const sym::Facts& facts, std::span<const Expr> in, std::span<const Expr> others) {
  sym::Store& s = facts.store();
  std::vector<Expr> top(in.begin(), in.end()), bottom;
  for (Expr d : others) {
    auto same = std::find_if(top.begin(), top.end(), [&](Expr t) { return t == d || facts.equal(t, d); });
    if (same != top.end())
      top.erase(same);
    else
      bottom.push_back(d);
  }
  const Expr product = s.mul(top), divisor = s.mul(bottom);
  if (bottom.empty()) return product;
  const Expr rest = facts.simplify(s.floordiv(product, divisor));
  if (s.kind(rest) != sym::Kind::Select) return rest;
  // Where the other dims are 0, any size keeps the number of elements: no case of its own for it, so that [n*h, s] as
  // [n, h, -1] is [n, h, s] for n = 0 as well.
  sym::Facts given = facts;
  given.assume(s.ne(divisor, s.constant(0)));
  const Expr general = given.simplify(rest);
  return facts.bounds(general).lo >= 0 ? general : rest;
}

}  // namespace dlcb::ops
