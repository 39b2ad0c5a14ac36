// The whole table, joined and sorted once.
#include <algorithm>

#include "base/diagnostic.h"
#include "ops/table/table.h"

namespace dlcb::ops {
namespace {

std::vector<OpDef> join() {
  std::vector<OpDef> all;
  for (auto family : {pointwise_ops, activation_ops, elementwise_ops, structure_ops, indexing_ops, reduction_ops,
                      contraction_ops, pooling_ops, resize_ops, composite_ops}) {
    const auto ops = family();
    all.insert(all.end(), ops.begin(), ops.end());
  }
  std::sort(all.begin(), all.end(), [](const OpDef& a, const OpDef& b) { return a.name < b.name; });
  for (size_t i = 1; i < all.size(); ++i)
    DLCB_CHECK(all[i - 1].name != all[i].name, "operator declared twice: " + std::string(all[i].name));
  return all;
}

}  // namespace

std::span<const OpDef> all_ops() {
  static const std::vector<OpDef> all = join();
  return all;
}

const OpDef* find_op(std::string_view name) {
  const auto all = all_ops();
  auto at =
      std::lower_bound(all.begin(), all.end(), name, [](const OpDef& o, std::string_view n) { return o.name < n; });
  return at != all.end() && at->name == name ? &*at : nullptr;
}

const OpDef& op(std::string_view name) {
  const OpDef* found = find_op(name);
  DLCB_CHECK(found, "no operator named " + std::string(name));
  return *found;
}

}  // namespace dlcb::ops
