// Writes the bundle: manifest.json, program.fb, kernel sources, cubins for each target, weights.bin. The bytes depend
// on the model, flags and version alone.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cuda/modules.h"
#include "plan/plan.h"

namespace dlcb::emit {

struct EmitInput {
  const plan::Plan* plan;
  const cuda::Modules* modules;
  std::span<const cuda::Target> targets;
  std::string model_digest;  // hash of the model file
  std::string producer;      // "dlcb 0.1.0"
  bool strip_sources = false;
};

struct EmitResult {
  uint64_t bundle_bytes = 0, code_bytes = 0;
};

// Written beside `path` and renamed when whole.
Result<EmitResult> write_bundle(const EmitInput& input, const std::string& path);

}  // namespace dlcb::emit
