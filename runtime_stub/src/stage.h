// One stage of the program for one shape: registers, arena offsets and the calls to make, all resolved. Made at the
// first sight of a shape and memoised; on later sights only the addresses of inputs, outputs and arenas are filled in.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "bundle_format/eval.h"
#include "runtime_stub/src/model.h"

namespace dlcb::rt {

struct CopyCall {
  Ptr from = 0, to = 0;
  uint64_t bytes = 0;
};
struct ReadCall {
  Ptr from = 0;
  uint64_t bytes = 0;  // of one element; 0: nothing to read, the value is 0
  uint8_t dtype = 0;
  uint32_t dst = 0;
};

struct Call {
  std::variant<LaunchCall, MatmulCall, ConvCall, CopyCall, ReadCall> action;
  std::optional<LaunchCall> fallback;  // of a library call; without a value when its grid is empty or there is none
  bool has_fallback = false;
  bool use_fallback = false;  // the library has refused this call before
};

// A slot that holds an address relative to a base that differs between calls: an input, an output, or a stage's arena.
struct Patch {
  uint64_t* slot;
  uint32_t base;
  uint64_t offset;
};

// Bases are numbered inputs first, then outputs, then arenas by stage.
struct Stage {
  bundle::Registers registers;                    // after the stage's segment
  uint64_t arena_peak = 0;                        // bytes of the arena that this stage's segment sizes
  std::vector<uint64_t> offsets;                  // in their arenas, by buffer; of this and earlier stages
  std::vector<std::vector<int64_t>> output_dims;  // by output; filled for those whose dims this stage settles
  std::deque<Call> calls;                         // addresses stay put: patches point into it
  std::vector<Patch> patches;
  std::vector<Ptr> bases;  // with which the patches were last applied
  uint64_t id = 0;         // unique in its context

  void apply(std::span<const Ptr> new_bases);
};

// What a stage depends on beside the program.
struct StageInput {
  bundle::HostArgs host;
  std::span<const std::span<const int64_t>> input_dims;
  const bundle::Registers& registers;  // before the segment: constants, or the previous stage's with the values read
  std::span<const uint64_t> offsets;   // of earlier stages' buffers; empty for stage 0
};

// Runs the segment, checks input dims (stage 0) and guards, packs the arena, resolves the calls. A refusal leaves
// nothing.
Error resolve_stage(const Model& model, uint32_t stage, const StageInput& input, std::unique_ptr<Stage>* out);

}  // namespace dlcb::rt
