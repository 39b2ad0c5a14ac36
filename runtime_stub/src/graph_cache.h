// Replays a shape's launches as one device graph. A graph holds addresses, so it is cached for a shape together with
// the addresses it was captured with. The first sight of such a pair runs directly, the second captures, later ones
// replay. Callers whose pointers never repeat therefore never pay for a capture, and when more pairs are in turn than
// the cache holds, capturing pauses rather than evicting graphs that nobody replays.
#pragma once
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "runtime_stub/src/device.h"

namespace dlcb::rt {

// Used by one thread at a time. Graphs are freed by clear() and the destructor.
class GraphCache {
 public:
  GraphCache(std::shared_ptr<Device> device, size_t capacity) : device_(std::move(device)), capacity_(capacity) {}
  ~GraphCache() { clear(); }
  GraphCache(const GraphCache&) = delete;
  GraphCache& operator=(const GraphCache&) = delete;

  // Runs `launch_all`, or the graph of an earlier run, for a shape (any number that identifies it) at these addresses.
  Error run(uint64_t shape, std::span<const Ptr> addresses, void* stream, const std::function<Error()>& launch_all);
  void clear();  // when memory that graphs refer to has moved
  size_t size() const { return graphs_.size(); }

 private:
  struct Graph {
    uint64_t hash, shape;
    std::vector<Ptr> addresses;
    void* handle;
    uint64_t replays;
  };
  using Place = std::list<Graph>::iterator;

  Place find(uint64_t hash, uint64_t shape, std::span<const Ptr> addresses);
  bool seen_before(uint64_t hash);
  bool make_room();
  Error capture(Graph graph, void* stream, const std::function<Error()>& launch_all);

  std::shared_ptr<Device> device_;
  size_t capacity_;
  std::list<Graph> graphs_;  // most recently used first
  std::unordered_multimap<uint64_t, Place> by_hash_;
  std::vector<uint64_t> seen_ = std::vector<uint64_t>(256, 0);  // by hash modulo its size: the last hash seen there
  int wasted_ = 0;                                              // graphs evicted in a row that were never replayed
  int paused_ = 0;                                              // runs until captures are tried again
  bool broken_ = false;                                         // the device refused a capture
};

}  // namespace dlcb::rt
