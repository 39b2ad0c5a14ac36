// How much it costs to compute an element again, in units of a simple instruction; decides recomputation against a pass
// over memory.
#pragma once
#include <span>

#include "fuse/region.h"
#include "ops/scalar.h"

namespace dlcb::fuse {

struct Cost {
  int instructions = 0;  // of the body, shared subexpressions once, loads not counted
  bool reduces = false;  // holds a Reduce
};

Cost cost_of(const ops::ScalarStore& scalars, ops::Scalar body);

// Distinct loads; beside one of as many elements as the body has, broadcast ones do not count.
int full_loads(const ops::ScalarStore& scalars, ops::Scalar body);

// A single load at other coordinates, a constant or an index: never worth a tensor in memory.
bool is_view(const ops::ScalarStore& scalars, ops::Scalar body);

// Instructions that one evaluation of the body executes: as above, those of a reduction once for each of its terms.
// INT64_MAX where their number is not literal.
int64_t executed_instructions(const ops::ScalarStore& scalars, ops::Scalar body);

// How often an element of `value` may be needed at most by the reductions of `body` that load it: the terms of a
// reduction times those of the reductions around it; 1 outside; INT64_MAX where it is not literal. Of `Overlapping`
// only those terms count that need the same element for several results: the taps of a window that moves by less than
// its size, but neither the steps along a row nor the taps of a tile.
enum class Reductions : uint8_t { All, Overlapping };
int64_t repetitions(const ops::ScalarStore& scalars, ops::Scalar body, ops::ValueId value, Reductions which);

// Whether each load of `value` reads an element at most once: every dim of the output with more than one element moves
// a coordinate of its own.
bool reads_once(const ops::ScalarStore& scalars, std::span<const Output> outputs, ops::ValueId value);

}  // namespace dlcb::fuse
