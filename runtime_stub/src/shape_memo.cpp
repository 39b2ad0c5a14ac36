// See shape_memo.h.
#include "runtime_stub/src/shape_memo.h"

#include <algorithm>

namespace dlcb::rt {
namespace {

uint64_t hash_of(std::span<const int64_t> key) {
  uint64_t h = key.size() + 1;
  for (int64_t v : key) h = (h ^ (h >> 29) ^ static_cast<uint64_t>(v)) * 0x9e3779b97f4a7c15u;
  return h ^ (h >> 32);
}

}  // namespace

Stage* ShapeMemo::find(std::span<const int64_t> key) {
  const auto [begin, end] = by_hash_.equal_range(hash_of(key));
  for (auto it = begin; it != end; ++it) {
    if (!std::ranges::equal(it->second->key, key)) continue;
    entries_.splice(entries_.begin(), entries_, it->second);
    return it->second->stage.get();
  }
  return nullptr;
}

Stage* ShapeMemo::insert(std::span<const int64_t> key, std::unique_ptr<Stage> stage) {
  if (entries_.size() >= capacity_) {
    const Place victim = std::prev(entries_.end());
    const auto [begin, end] = by_hash_.equal_range(victim->hash);
    by_hash_.erase(std::find_if(begin, end, [&](const auto& entry) { return entry.second == victim; }));
    entries_.erase(victim);
  }
  stage->id = next_id_++;
  entries_.push_front({{key.begin(), key.end()}, hash_of(key), std::move(stage)});
  by_hash_.emplace(entries_.front().hash, entries_.begin());
  return entries_.front().stage.get();
}

}  // namespace dlcb::rt
