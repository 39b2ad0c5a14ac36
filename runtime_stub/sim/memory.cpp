#include "memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "runtime_stub/include/dlcb.h"

namespace dlcb::sim {
namespace {
constexpr size_t kAlignment = 256;
// Poisoning large arenas on every allocation would cost more than running small models.
constexpr size_t kPoisonLimit = 64 << 20;
}  // namespace

Memory::~Memory() {
  for (auto& [begin, bytes] : extents_) std::free(reinterpret_cast<void*>(begin));
}

rt::Error Memory::allocate(size_t bytes, rt::Ptr* out) {
  *out = 0;
  void* p = nullptr;  // exactly this size, so that AddressSanitizer sees the first byte beyond
  if (posix_memalign(&p, kAlignment, std::max<size_t>(bytes, 1)))
    return {DLCB_OUT_OF_MEMORY, "out of memory: " + std::to_string(bytes) + " bytes"};
  std::memset(p, 0xff, std::min(bytes, kPoisonLimit));
  std::lock_guard lock(mutex_);
  *out = reinterpret_cast<rt::Ptr>(p);
  extents_[*out] = std::max<size_t>(bytes, 1);
  return {};
}

void Memory::free(rt::Ptr p) {
  if (!p) return;
  {
    std::lock_guard lock(mutex_);
    if (extents_.erase(p) == 0) return;
  }
  std::free(reinterpret_cast<void*>(p));
}

std::vector<Extent> Memory::reachable(std::span<const uint64_t> values) const {
  std::lock_guard lock(mutex_);
  std::vector<Extent> found;
  for (uint64_t value : values) {
    auto it = extents_.upper_bound(value);
    if (it == extents_.begin()) continue;
    --it;
    if (value - it->first >= it->second) continue;
    const bool known = std::any_of(found.begin(), found.end(), [&](const Extent& e) { return e.begin == it->first; });
    if (!known) found.push_back({it->first, it->second});
  }
  return found;
}

}  // namespace dlcb::sim
