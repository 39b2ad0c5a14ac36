// See row_tensors.h.
#include "kernel/row_tensors.h"

#include <algorithm>

namespace dlcb::kernel {

using ops::Scalar;
using ops::ScalarKind;

RowTensors::RowTensors(Lowered& region, const Reductions& r, const std::function<bool(DType)>& takes) {
  std::vector<Loop> loops = r.kept;
  loops.insert(loops.end(), r.reduced.begin(), r.reduced.end());
  flat = linear(region.sym, loops);
  for (Scalar load : region.loads()) {
    const Lowered::Site site = region.site(load);
    const bool known = std::ranges::find(inputs, site.input) != inputs.end();
    if (site.offset == flat && !known && takes(region.scalars.dtype(load))) inputs.push_back(site.input);
  }
  for (size_t i = 0; i < region.region.outputs.size(); i++) {
    if (region.store_offset(i) == flat && takes(region.region.outputs[i].tensor.dtype)) outputs.push_back(i);
  }
}

bool RowTensors::holds(Lowered& region, Scalar load) const {
  const Lowered::Site site = region.site(load);
  return site.offset == flat && std::ranges::find(inputs, site.input) != inputs.end();
}

bool RowTensors::holds(size_t output) const { return std::ranges::find(outputs, output) != outputs.end(); }

std::vector<Scalar> row_loads(Lowered& region, const Reductions& r, const std::vector<Scalar>& needs) {
  auto depends = [&](Scalar s, const std::vector<Loop>& loops) {
    return std::ranges::any_of(loops, [&](const Loop& l) { return region.depends(s, l.symbol); });
  };
  std::vector<Scalar> loads, work(needs.rbegin(), needs.rend());
  std::vector<uint32_t> seen;
  while (!work.empty()) {
    Scalar s = work.back();
    work.pop_back();
    if (std::ranges::find(seen, s.id) != seen.end()) continue;
    seen.push_back(s.id);
    const ops::ScalarNode& node = region.scalars.node(s);
    if (node.kind == ScalarKind::Reduce) continue;
    const bool of_row = depends(s, r.reduced) && (r.kept.empty() || depends(s, r.kept));
    if (node.kind == ScalarKind::Load && of_row && !region.unsafe(s)) loads.push_back(s);
    work.insert(work.end(), node.operands.rbegin(), node.operands.rend());
  }
  return loads;
}

}  // namespace dlcb::kernel
