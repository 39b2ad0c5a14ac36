// Choice of the schedule. classify() is called for every candidate of fusion and looks at structure alone; generate()
// makes the same choice and writes the text.
#include <fmt/format.h>

#include <algorithm>

#include "kernel/reductions.h"

namespace dlcb::kernel {

using ops::Scalar;
using sym::Expr;

Expr pointer_alignment(sym::Store& store, ops::ValueId value) {
  const std::string name = fmt::format("align.{}", value.id);
  if (auto known = store.find_symbol(name)) return *known;
  return store.symbol(name, sym::SymbolKind::Param, {1, 256});
}

namespace {

struct Choice {
  Schedule schedule = Schedule::None;
  Region region;  // unified
  std::optional<Reductions> reductions;
};

Choice choose(ops::ScalarStore& scalars, const sym::Facts& facts, const Region& region) {
  Choice c;
  c.region = region;
  size_t reference = 0;
  if (region.outputs.empty() || !unify_outputs(scalars, facts, c.region, &reference)) return c;
  std::vector<Scalar> reduces;
  for (const Output& o : c.region.outputs) collect_reduces(scalars, o.body, reduces);
  if (reduces.empty()) {
    c.schedule = Schedule::Pointwise;
    return c;
  }
  const bool contraction = std::ranges::any_of(reduces, [&](Scalar s) { return is_contraction(scalars, s); });
  if (contraction) {
    if (reduces.size() == 1 && c.region.outputs.size() == 1) c.schedule = Schedule::Contraction;
    return c;
  }
  c.reductions = find_reductions(scalars, facts, c.region, reference);
  if (c.reductions) c.schedule = c.reductions->along_rows ? Schedule::RowReduce : Schedule::ColumnReduce;
  else if (reduces.size() == 1 && c.region.outputs.size() == 1) c.schedule = Schedule::Contraction;
  return c;
}

}  // namespace

Schedule classify(ops::ScalarStore& scalars, const sym::Facts& facts, const Region& region) {
  return choose(scalars, facts, region).schedule;
}

Result<Kernel> generate(ops::ScalarStore& scalars, const sym::Facts& facts, const Region& region, const GenerateOptions& options) {
  Choice c = choose(scalars, facts, region);
  DLCB_CHECK(c.schedule != Schedule::None, "no schedule for region " + region.name);
  Lowered lowered(scalars, facts, c.region);
  if (c.reductions && (c.schedule == Schedule::RowReduce || c.schedule == Schedule::ColumnReduce)) {
    std::vector<Expr> symbols;
    for (const Loop& l : c.reductions->reduced) symbols.push_back(l.symbol);
    for (const Reduction& r : c.reductions->all) lowered.set_operand(r.node, r.operand, symbols);
  }
  Kernel kernel;
  switch (c.schedule) {
    case Schedule::RowReduce: kernel = generate_row_reduce(lowered, *c.reductions, options); break;
    default: kernel = generate_pointwise(lowered, options); break;
  }
  kernel.schedule = c.schedule;
  close_variants(scalars.sym(), kernel);
  add_limits(lowered, kernel);
  return kernel;
}

}  // namespace dlcb::kernel
