// Where each intermediate buffer lies in the arena. Buffers whose lives do not overlap share memory; sizes are known
// only when a shape is, so this runs in the stub for each new shape (and in the inspector, which prints the peak
// beforehand).
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dlcb::bundle {

struct Life {
  uint64_t size = 0;             // bytes; 0 takes no room
  uint32_t first = 0, last = 0;  // steps, inclusive
};

struct Packing {
  std::vector<uint64_t> offsets;  // multiples of 256, one for each buffer
  uint64_t peak = 0;              // bytes, a multiple of 256
  bool overflow = false;          // the sum of sizes reaches 2^62: nothing can be allocated
};

// Largest first, each at the lowest gap among those alive at the same time; ties by position. Deterministic.
Packing pack(std::span<const Life> buffers);

// Bytes that the stub allocates for a peak: rounded up so that a growing arena is reallocated at most eight times for
// each doubling, at most one eighth above the peak (256 bytes for tiny ones).
uint64_t arena_capacity(uint64_t peak);

}  // namespace dlcb::bundle
