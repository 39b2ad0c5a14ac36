// See graph_cache.h.
#include "runtime_stub/src/graph_cache.h"

#include <algorithm>

namespace dlcb::rt {
namespace {

constexpr int kWasteAllowed = 4, kPauseRuns = 1000;

uint64_t hash_of(uint64_t shape, std::span<const Ptr> addresses) {
  uint64_t h = shape * 0x9e3779b97f4a7c15u + 1;
  for (Ptr p : addresses) h = (h ^ (h >> 29) ^ p) * 0xbf58476d1ce4e5b9u;
  return h ^ (h >> 32);
}

}  // namespace

GraphCache::Place GraphCache::find(uint64_t hash, uint64_t shape, std::span<const Ptr> addresses) {
  const auto [begin, end] = by_hash_.equal_range(hash);
  for (auto it = begin; it != end; ++it)
    if (it->second->shape == shape && std::ranges::equal(it->second->addresses, addresses)) return it->second;
  return graphs_.end();
}

bool GraphCache::seen_before(uint64_t hash) {
  uint64_t& slot = seen_[hash % seen_.size()];
  const bool seen = slot == hash;
  slot = hash;
  return seen;
}

bool GraphCache::make_room() {
  if (graphs_.size() < capacity_) return true;
  if (capacity_ == 0) return false;
  const Graph& victim = graphs_.back();
  wasted_ = victim.replays > 1 ? 0 : wasted_ + 1;  // the capture itself ends with one replay
  if (wasted_ > kWasteAllowed) {
    wasted_ = 0;
    paused_ = kPauseRuns;
    return false;
  }
  const auto [begin, end] = by_hash_.equal_range(victim.hash);
  by_hash_.erase(std::find_if(begin, end, [&](const auto& entry) { return &*entry.second == &victim; }));
  device_->free_graph(victim.handle);
  graphs_.pop_back();
  return true;
}

Error GraphCache::capture(Graph graph, void* stream, const std::function<Error()>& launch_all) {
  if (device_->begin_capture(stream)) {
    broken_ = true;
    return launch_all();
  }
  const Error launched = launch_all();
  const Error ended = device_->end_capture(stream, &graph.handle);
  if (launched || ended || !graph.handle) {  // something that cannot be captured: run it, and do not try again
    broken_ = true;
    if (!ended && graph.handle) device_->free_graph(graph.handle);
    return launch_all();
  }
  graphs_.push_front(std::move(graph));
  by_hash_.emplace(graphs_.front().hash, graphs_.begin());
  graphs_.front().replays = 1;
  return device_->replay(graphs_.front().handle, stream);
}

Error GraphCache::run(uint64_t shape, std::span<const Ptr> addresses, void* stream,
                      const std::function<Error()>& launch_all) {
  if (broken_ || capacity_ == 0) return launch_all();
  const uint64_t hash = hash_of(shape, addresses);
  if (const Place found = find(hash, shape, addresses); found != graphs_.end()) {
    graphs_.splice(graphs_.begin(), graphs_, found);
    ++found->replays;
    return device_->replay(found->handle, stream);
  }
  if (paused_ > 0) {
    --paused_;
    return launch_all();
  }
  if (!seen_before(hash) || !make_room()) return launch_all();
  return capture({hash, shape, {addresses.begin(), addresses.end()}, nullptr, 0}, stream, launch_all);
}

void GraphCache::clear() {
  for (const Graph& graph : graphs_) device_->free_graph(graph.handle);
  graphs_.clear();
  by_hash_.clear();
}

}  // namespace dlcb::rt
