// Plans and algorithms kept by the sizes of the call they serve; the least recently used one goes when the cache is
// full.
#pragma once
#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>
#include <utility>

namespace dlcb::rt {

template <size_t N, class Value>
class LruCache {
 public:
  using Key = std::array<int64_t, N>;
  explicit LruCache(size_t capacity) : capacity_(capacity) {}

  // Null when absent. Valid until the next insert.
  Value* find(const Key& key) {
    auto it = index_.find(key);
    if (it == index_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, it->second);
    return entries_.front().second.get();
  }
  Value* insert(const Key& key, std::unique_ptr<Value> value) {
    if (entries_.size() >= capacity_) {
      index_.erase(entries_.back().first);
      entries_.pop_back();
    }
    entries_.emplace_front(key, std::move(value));
    index_[key] = entries_.begin();
    return entries_.front().second.get();
  }

 private:
  struct Hash {
    size_t operator()(const Key& key) const {
      uint64_t h = 0x9e3779b97f4a7c15ull;
      for (int64_t v : key) h = (h ^ uint64_t(v)) * 0x9fb21c651e98df25ull, h ^= h >> 32;
      return h;
    }
  };
  using Entries = std::list<std::pair<Key, std::unique_ptr<Value>>>;
  size_t capacity_;
  Entries entries_;
  std::unordered_map<Key, typename Entries::iterator, Hash> index_;
};

// The largest power of two up to `most` that divides an address.
inline int64_t alignment_of(uint64_t address, int64_t most) {
  const uint64_t bits = address | uint64_t(most);
  return int64_t(bits & (~bits + 1));
}

}  // namespace dlcb::rt
