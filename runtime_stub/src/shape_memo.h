// Stages by what they were resolved from (dims, alignments, values read by the host), least recently used first out.
// The bound keeps a server that sees ever new shapes from growing.
#pragma once
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "runtime_stub/src/stage.h"

namespace dlcb::rt {

class ShapeMemo {
 public:
  explicit ShapeMemo(size_t capacity) : capacity_(capacity) {}
  // nullptr if there is none. Stays valid while fewer than `capacity` others are inserted.
  Stage* find(std::span<const int64_t> key);
  Stage* insert(std::span<const int64_t> key, std::unique_ptr<Stage> stage);
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::vector<int64_t> key;
    uint64_t hash;
    std::unique_ptr<Stage> stage;
  };
  using Place = std::list<Entry>::iterator;

  size_t capacity_;
  uint64_t next_id_ = 1;
  std::list<Entry> entries_;  // most recently used first
  std::unordered_multimap<uint64_t, Place> by_hash_;
};

}  // namespace dlcb::rt
