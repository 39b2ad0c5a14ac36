// What fusion hands to kernel generation: tensors in memory and, for each output, one scalar expression over its
// indices in which every Load names one of `inputs`. Everything else (schedule, coordinates, vector widths, launch
// sizes) is decided here.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "fuse/region.h"

namespace dlcb::kernel {

using fuse::Output;
using fuse::Region;
using fuse::Schedule;
using fuse::Tensor;

// The Param symbol that stands for the alignment in bytes (a power of two <= 256) of a caller's tensor.
sym::Expr pointer_alignment(sym::Store& store, ops::ValueId value);

// Decides the schedule without generating text; fusion calls it for every candidate, so it must be fast.
fuse::Classification classify(ops::ScalarStore& scalars, const sym::Facts& facts, const Region& region);

struct Arg {
  enum Kind : uint8_t { Pointer, I32, I64, MagicMul, MagicShift } kind;
  ops::ValueId tensor;  // Pointer
  sym::Expr value;      // I32, I64: the value; MagicMul/Shift: the divisor
};

struct Variant {
  sym::Expr when;  // boolean over dims and pointer alignments; the last variant's is constant 1
  std::string entry;
  sym::Expr grid[3], block[3];
  sym::Expr shared_bytes;
  std::vector<Arg> args;
};

// One entry point. `text` is complete but for the prelude and depends only on structure (names are p0, x0, ...), so
// equal kernels of different layers have equal text. `name` is derived from the text's content hash.
struct Function {
  std::string name;
  std::string text;
  uint32_t max_threads = 0;
  bool syncs = false;
  std::vector<Arg::Kind> params;
};

// A tensor that a kernel's first launch writes and its second one reads; no value of the graph has such an id.
constexpr ops::ValueId workspace(uint32_t number) { return {(uint32_t{1} << 31) + number}; }
inline std::optional<uint32_t> workspace_number(ops::ValueId v) {
  return v.valid() && v.id >> 31 ? std::optional(v.id - (uint32_t{1} << 31)) : std::nullopt;
}

// A second launch: outputs from partial results of reductions; see split.h.
struct CombineParts {
  sym::Expr when;  // else the first launch has written the outputs
  Variant variant;
  struct Workspace {
    DType dtype;
    sym::Expr elements;
  };
  std::vector<Workspace> workspaces;  // by number
};

struct Kernel {
  Schedule schedule = Schedule::None;
  std::vector<Function> functions;  // of both launches
  std::vector<Variant> variants;
  std::optional<CombineParts> combine;
  std::vector<sym::Expr>
      limits;  // must hold for a launch (32-bit indexing); plan makes a guard of each that is not proved
};

constexpr int64_t kSplitFrom = 2048;

struct GenerateOptions {
  bool literal_dims =
      false;  // bake constants in (used by tests that compare instruction counts); default: sizes are parameters
  int64_t split_from = kSplitFrom;  // reduced elements of a column from which split.h looks at it; 0: never
};

// Generates the kernels of a region. Deterministic: equal structure gives equal text. A grid extent of 0 means that
// there is nothing to launch. DLCB_CHECK fails for regions that classify() answers with None.
Result<Kernel> generate(ops::ScalarStore& scalars, const sym::Facts& facts, const Region& region,
                        const GenerateOptions& options = {});

}  // namespace dlcb::kernel
