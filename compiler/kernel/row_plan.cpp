// Lane counts are powers of two, above 32 whole warps. Slack (slots of lanes past the end of the row) is what costs
// most.
#include "kernel/row_plan.h"

#include <algorithm>

namespace dlcb::kernel {

using ops::Scalar;
using sym::Expr;

namespace {

int64_t round_lanes(int64_t needed) {
  return needed <= 4 ? 4 : needed <= 8 ? 8 : needed <= 16 ? 16 : (needed + 31) / 32 * 32;
}

}  // namespace

size_t widest_element(Lowered& region, const Reductions& r) {
  size_t widest = 1;
  auto along = [&](Expr offset) {
    return std::ranges::any_of(r.reduced, [&](const Loop& l) { return region.depends(offset, l.symbol); });
  };
  for (Scalar load : region.loads()) {
    if (along(region.site(load).offset)) widest = std::max(widest, size_of(region.scalars.dtype(load)));
  }
  for (size_t i = 0; i < region.region.outputs.size(); i++) {
    if (along(region.store_offset(i))) widest = std::max(widest, size_of(region.region.outputs[i].tensor.dtype));
  }
  return widest;
}

int row_width(Lowered& region, const Reductions& r, bool heavy) {
  if (r.reduced.size() != 1) return 1;
  const bool any = std::ranges::any_of(region.loads(), [&](Scalar load) {
    Expr slope, rest;
    return region.depends(region.site(load).offset, r.reduced[0].symbol) &&
           affine(region, region.site(load).offset, r.reduced[0].symbol, &slope, &rest) &&
           region.sym.is_const(slope, 1);
  });
  return any ? std::min(static_cast<int>(16 / widest_element(region, r)), heavy ? 4 : 8) : 1;
}

// Least slack, then rows inside one warp (no barriers), then few registers.
RowPlan plan_of_length(int64_t length, int width, int most) {
  RowPlan best;
  best.width = width;
  best.fixed = true;
  best.max_lanes = kMostLanes + 1;
  double least = 1e30;
  for (int k = 1; k <= most; k++) {
    const int64_t slots = int64_t{k} * width;
    const int64_t lanes = round_lanes(std::max<int64_t>(1, (length + slots - 1) / slots));
    if (lanes > kMostLanes) continue;
    const double cost = static_cast<double>(lanes * slots) / static_cast<double>(std::max<int64_t>(length, 1)) +
                        (lanes > 32 ? 0.25 : 0) + (lanes > 256 ? 0.05 : 0) + 0.02 * k;
    if (cost >= least) continue;
    least = cost;
    best.vectors = k;
    best.max_lanes = lanes;
  }
  best.exact = best.max_lanes * best.elements() == length;
  return best;
}

// Always the fewest lanes: what is not the work of an element is then shared by the most.
std::optional<RowPlan> complete_staged(Lowered& region, Expr columns, RowPlan plan) {
  plan.staged = true;
  plan.min_lanes = 1;
  const int64_t most = plan.elements();
  if (region.facts.bounds(columns).lo >= plan.max_lanes * most) return {};
  const auto length = region.sym.as_const(columns);
  if (!length) return plan;
  plan.mode = RowPlan::Registers;
  plan.fixed = true;
  const int64_t covered = *length + (plan.width > 1 ? *length % 2 : 0);
  for (plan.max_lanes = 1; covered > plan.max_lanes * most;) plan.max_lanes *= 2;
  const int64_t step = plan.max_lanes * plan.width;
  plan.vectors = static_cast<int>(std::max<int64_t>(1, (covered + step - 1) / step));
  plan.exact = plan.width == 1 && step * plan.vectors == covered;
  return plan;
}

// Short of a choice the fewest lanes, which keep the most in registers; more of them where that leaves less slack. Only
// a choice among few is worth its host program.
Expr lanes_of(sym::Store& sym, Expr columns, const RowPlan& plan) {
  auto c = [&](int64_t v) { return sym.constant(v); };
  if (plan.fixed) return c(plan.max_lanes);
  if (plan.staged) {
    Expr lanes = c(plan.max_lanes);
    for (int64_t few = plan.max_lanes / 2; few >= plan.min_lanes; few /= 2)
      lanes = sym.select(sym.le(columns, c(few * plan.elements())), c(few), lanes);
    return lanes;
  }
  const Expr vectors = sym.ceildiv(columns, c(plan.width));
  Expr best, least;
  for (int k = plan.vectors; k >= 1; k--) {
    Expr needed = sym.ceildiv(vectors, c(k));
    Expr lanes = sym.mul(sym.ceildiv(needed, c(32)), c(32));
    for (int small : {16, 8, 4}) {
      if (plan.paired && small < 16) break;  // with fewer, a row's accesses are less than two sectors
      lanes = sym.select(sym.le(needed, c(small)), c(small), lanes);
    }
    Expr slots = sym.mul(lanes, sym.ceildiv(vectors, lanes));
    if (!best.valid()) {
      best = lanes;
      least = slots;
      if (k > 4) break;
      continue;
    }
    Expr better = sym.logical_and(sym.lt(slots, least), sym.le(lanes, c(plan.max_lanes)));
    best = sym.select(better, lanes, best);
    least = sym.min(slots, least);
  }
  return best;
}

}  // namespace dlcb::kernel
