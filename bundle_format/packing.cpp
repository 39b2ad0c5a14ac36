// See packing.h. Quadratic in the number of buffers, which is a few hundred.
#include "bundle_format/packing.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "bundle_format/version.h"

namespace dlcb::bundle {
namespace {

constexpr uint64_t kTooMuch = uint64_t{1} << 62;

uint64_t round_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

Packing pack(std::span<const Life> buffers) {
  Packing result;
  result.offsets.assign(buffers.size(), 0);
  uint64_t total = 0;
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].size == 0) continue;
    order.push_back(i);
    total += round_up(std::min(buffers[i].size, kTooMuch), kDataAlignment);
    result.overflow = total >= kTooMuch;
    if (result.overflow) return result;
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return buffers[a].size > buffers[b].size; });

  std::vector<uint32_t> placed;  // by offset
  for (uint32_t i : order) {
    const uint64_t size = round_up(buffers[i].size, kDataAlignment);
    uint64_t offset = 0;
    for (uint32_t other : placed) {
      if (buffers[other].last < buffers[i].first || buffers[i].last < buffers[other].first) continue;
      if (result.offsets[other] >= offset + size) break;  // the gap before `other` is large enough
      offset = std::max(offset, result.offsets[other] + round_up(buffers[other].size, kDataAlignment));
    }
    result.offsets[i] = offset;
    result.peak = std::max(result.peak, offset + size);
    const auto at = std::upper_bound(placed.begin(), placed.end(), offset,
                                     [&](uint64_t value, uint32_t other) { return value < result.offsets[other]; });
    placed.insert(at, i);
  }
  return result;
}

uint64_t arena_capacity(uint64_t peak) {
  if (peak == 0) return 0;
  return round_up(peak, std::max<uint64_t>(kDataAlignment, std::bit_floor(peak) / 8));
}

}  // namespace dlcb::bundle
