// See region.h.
#include "fuse/region.h"

#include <unordered_set>

namespace dlcb::fuse {

std::vector<ops::ValueId> loaded_values(const ops::ScalarStore& scalars, std::span<const Output> outputs) {
  std::vector<ops::ValueId> values;
  std::unordered_set<uint32_t> seen;
  for (const Output& o : outputs) {
    for (ops::Scalar load : scalars.loads(o.body)) {
      const ops::ValueId v = scalars.node(load).value;
      if (seen.insert(v.id).second) values.push_back(v);
    }
  }
  return values;
}

}  // namespace dlcb::fuse
