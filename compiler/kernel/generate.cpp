// Choice of the schedule. classify() is called for every candidate of fusion and looks at structure alone; generate()
// makes the same choice and writes the text.
#include <fmt/format.h>

#include <algorithm>

#include "fuse/address.h"
#include "kernel/contraction.h"
#include "kernel/limits.h"
#include "kernel/reductions.h"
#include "kernel/split.h"
#include "kernel/transpose.h"

namespace dlcb::kernel {

using ops::Scalar;
using sym::Expr;

Expr pointer_alignment(sym::Store& store, ops::ValueId value) {
  return store.param(fmt::format("align.{}", value.id), {1, 256});
}

namespace {

struct Choice {
  Schedule schedule = Schedule::None;
  Region region;       // unified
  size_t largest = 0;  // output
  std::optional<Reductions> reductions;
  Scalar contraction;  // the sum of a Contraction
};

// Whether some load is contiguous along another index than the output is; find_turn() looks closer.
bool may_turn(ops::ScalarStore& scalars, const Region& region, size_t largest) {
  sym::Store& sym = scalars.sym();
  const Output& o = region.outputs[largest];
  if (o.index.size() < 2) return false;
  const Expr inner = o.tensor.order.empty() ? o.index.back() : o.index[o.tensor.order.back()];
  for (const Output& each : region.outputs) {
    for (Scalar load : scalars.loads(each.body)) {
      const ops::ScalarNode& node = scalars.node(load);
      auto tensor = std::ranges::find_if(region.inputs, [&](const Tensor& t) { return t.value == node.value; });
      if (tensor == region.inputs.end() || node.coords.size() < 2) continue;
      Expr last = tensor->order.empty() ? node.coords.back() : node.coords[tensor->order.back()];
      const bool reads_inner = std::ranges::any_of(node.coords, [&](Expr c) { return sym.contains(c, inner); });
      if (reads_inner && !sym.contains(last, inner) && sym.has_symbol_of(last, sym::SymbolKind::Index)) return true;
    }
  }
  return false;
}

Choice choose(ops::ScalarStore& scalars, const sym::Facts& facts, const Region& region) {
  Choice c;
  c.region = region;
  if (region.outputs.empty() || !unify_outputs(scalars, facts, c.region, &c.largest)) return c;
  std::vector<Scalar> reduces;
  for (const Output& o : c.region.outputs) collect_reduces(scalars, o.body, reduces);
  if (reduces.empty()) {
    c.schedule = may_turn(scalars, c.region, c.largest) ? Schedule::Transpose : Schedule::Pointwise;
    return c;
  }
  if (std::ranges::any_of(reduces,
                          [&](Scalar s) { return is_inside_window(scalars, c.region.outputs[c.largest], s); }) ||
      std::ranges::any_of(c.region.outputs, [&](const Output& o) { return is_guarded(scalars, o); }))
    return c;
  const bool contraction = std::ranges::any_of(reduces, [&](Scalar s) { return is_contraction(scalars, s); });
  if (contraction) {
    if (reduces.size() == 1 && c.region.outputs.size() == 1) c.schedule = Schedule::Contraction;
    c.contraction = reduces[0];
    return c;
  }
  c.reductions = find_reductions(scalars, facts, c.region, c.largest);
  if (c.reductions)
    c.schedule = c.reductions->along_rows ? Schedule::RowReduce : Schedule::ColumnReduce;
  else if (reduces.size() == 1 && c.region.outputs.size() == 1)
    c.schedule = Schedule::Contraction;
  return c;
}

// A product with a few rows or columns only: a tile would be mostly empty, so it is computed as a reduction.
bool is_thin(Lowered& region, const Contraction& c) {
  constexpr int64_t kThin = 8;
  return region.facts.bounds(extent_of(region.sym, c.rows)).hi <= kThin ||
         region.facts.bounds(extent_of(region.sym, c.columns)).hi <= kThin;
}

using Spaces = std::vector<std::vector<Loop>>;  // see add_limits()

Kernel reduce_whole(Lowered& region, const Reductions& r, const GenerateOptions& options) {
  std::vector<Expr> symbols;
  for (const Loop& l : r.reduced) symbols.push_back(l.symbol);
  for (const Reduction& one : r.all) region.set_operand(one.node, one.operand, symbols);
  Kernel kernel = r.along_rows ? generate_row_reduce(region, r, options) : generate_column_reduce(region, r, options);
  close_variants(region.sym, kernel);
  skip_empty_outputs(region, kernel);
  return kernel;
}

// Both launches of reductions in parts.
Kernel reduce_parts(Lowered& region, const Split& split, const GenerateOptions& options) {
  Lowered first(region.scalars, region.facts, split.first), last(region.scalars, region.facts, split.last);
  Kernel kernel = reduce_whole(first, split.first_reductions, options);
  const Kernel combining = reduce_whole(last, split.last_reductions, options);
  DLCB_CHECK(combining.variants.size() == 1, "parts are combined by one variant");
  kernel.combine = CombineParts{split.cut.when, combining.variants[0], {}};
  for (const Output& o : split.first.outputs) {
    if (!workspace_number(o.tensor.value)) continue;
    const Expr results = fuse::element_count(region.sym, o.tensor.dims);
    kernel.combine->workspaces.push_back({o.tensor.dtype, region.sym.mul(split.cut.parts, results)});
  }
  for (const Function& f : combining.functions) {
    if (std::ranges::find(kernel.functions, f.name, &Function::name) == kernel.functions.end())
      kernel.functions.push_back(f);
  }
  return kernel;
}

Kernel reduce(Lowered& region, const Reductions& r, const GenerateOptions& options, Spaces& spaces) {
  spaces = {r.kept, r.reduced};
  const std::optional<Split> split = split_reductions(region, r, options.split_from);
  return split ? reduce_parts(region, *split, options) : reduce_whole(region, r, options);
}

Kernel pointwise(Lowered& region, const Choice& c, const GenerateOptions& options, Spaces& spaces) {
  std::vector<Loop> loops = loops_of(c.region.outputs[c.largest]);
  spaces = {loops};
  region.collapse(loops);
  if (c.schedule == Schedule::Transpose) {
    if (auto turn = find_turn(region, loops)) return generate_transpose(region, *turn, options);
  }
  return generate_pointwise(region, std::move(loops), options);
}

Kernel write(Lowered& region, const Choice& c, const GenerateOptions& options, Spaces& spaces) {
  if (c.reductions) return reduce(region, *c.reductions, options, spaces);
  if (!c.contraction.valid()) return pointwise(region, c, options, spaces);
  std::optional<Contraction> product = find_contraction(region, c.contraction);
  if (product && !is_thin(region, *product)) {
    spaces = {product->batch, product->rows, product->columns, product->summed};
    return generate_contraction(region, *product, options);
  }
  if (auto r = find_reductions(region.scalars, region.facts, c.region, 0)) return reduce(region, *r, options, spaces);
  return pointwise(region, c, options, spaces);
}

}  // namespace

fuse::Classification classify(ops::ScalarStore& scalars, const sym::Facts& facts, const Region& region) {
  const Choice c = choose(scalars, facts, region);
  if (c.reductions) return {c.schedule, extent_of(scalars.sym(), c.reductions->kept)};
  if (c.schedule != Schedule::Contraction) return {c.schedule, {}};
  return {c.schedule, fuse::element_count(scalars.sym(), c.region.outputs[c.largest].tensor.dims)};
}

Result<Kernel> generate(ops::ScalarStore& scalars, const sym::Facts& facts, const Region& region,
                        const GenerateOptions& options) {
  Choice c = choose(scalars, facts, region);
  DLCB_CHECK(c.schedule != Schedule::None, "no schedule for region " + region.name);
  Lowered lowered(scalars, facts, c.region);
  Spaces spaces;
  Kernel kernel = write(lowered, c, options, spaces);
  kernel.schedule = c.schedule;
  close_variants(scalars.sym(), kernel);
  add_limits(lowered, spaces, kernel);
  return kernel;
}

}  // namespace dlcb::kernel
