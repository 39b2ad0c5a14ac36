// What the schedules share: one iteration space for all outputs, splitting a flat index into coordinates, and putting a
// kernel together.
#pragma once
#include <string>
#include <vector>

#include "kernel/emitter.h"

namespace dlcb::kernel {

// One thread, some elements; `loops` are those of the largest output, collapsed. `region` has been unified.
Kernel generate_pointwise(Lowered& region, std::vector<Loop> loops, const GenerateOptions& options);

// Rewrites every output to the index symbols of the one with the largest space (returned through `reference`): dims are
// matched in order, dims of 1 become coordinate 0. False when some output does not fit.
bool unify_outputs(ops::ScalarStore& scalars, const sym::Facts& facts, Region& region, size_t* reference);

// Loops over an output in its physical order, outermost first.
std::vector<Loop> loops_of(const Output& output);
sym::Expr extent_of(sym::Store& sym, std::span<const Loop> loops);
// The linear index over the loops as an expression of their symbols.
sym::Expr linear(sym::Store& sym, std::span<const Loop> loops);

// For each loop, whether its coordinate is needed: by a plain index, or by an offset that is not `flat` plus something
// invariant. Loads in `computed` are left out: their values are there already.
std::vector<bool> needed_loops(Lowered& region, std::span<const Loop> loops, sym::Expr flat,
                               std::span<const ops::Scalar> computed = {});

// Splits flat indices (i32 names, one per value) into the coordinates of the loops. Result [loop][value]; "" where not
// needed.
std::vector<std::vector<std::string>> split_index(Emitter& e, Params& params, const std::vector<std::string>& flat,
                                                  std::span<const Loop> loops, const std::vector<bool>& needed);

// Rough instructions per element of all bodies; transcendental functions count 8.
int body_cost(Lowered& region);
// Some body holds a window (a small reduction that a thread computes by itself).
bool has_window(Lowered& region);

// Appends the function (or finds the equal one already there) and a variant that launches it.
struct Launch {
  sym::Expr when;  // invalid: the emitter's conditions alone
  sym::Expr grid[3], block[3];
  sym::Expr shared_bytes;  // invalid: 0
  uint32_t max_threads = 256;
  bool syncs = false;
};
// `count` blocks along y and, because y ends at 65535, z. Their index is kTallIndex; a few of them may be past the end.
void set_tall_grid(sym::Store& sym, sym::Expr count, Launch& launch);
constexpr const char* kTallIndex = "(blockIdx.y + blockIdx.z * gridDim.y)";
void add_variant(Kernel& kernel, Lowered& region, const Emitter& e, const Params& params, Launch launch);
// The last variant always applies: its condition is dropped.
void close_variants(sym::Store& sym, Kernel& kernel);
// True if a variant that surely applies is already there: no further one can be chosen.
bool complete(Lowered& region, const Kernel& kernel);

}  // namespace dlcb::kernel
