// Writes the bundle: manifest.json, weights.bin, program.fb, kernel sources, cubins for each target. Weights are most
// of its bytes and need no compiled kernel, so they are written on a thread of their own while kernels compile. The
// bytes depend on the model, flags and version alone.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "cuda/modules.h"
#include "plan/plan.h"

namespace dlcb::emit {

struct EmitInput {
  const plan::Plan* plan;  // outlives the writer
  const cuda::ModuleLayout* layout;
  std::span<const cuda::Target> targets;
  std::string model_digest;  // hash of the model file
  std::string producer;      // "dlcb 0.1.0"
  bool strip_sources = false;
};

struct EmitResult {
  uint64_t bundle_bytes = 0, code_bytes = 0;
};

// A bundle under way: written beside `path`, renamed by finish() when whole, removed by the destructor otherwise.
// One caller at a time.
class BundleFile {
 public:
  // Writes the manifest and begins with the weights. CannotWrite.
  static Result<std::unique_ptr<BundleFile>> begin(const EmitInput& input, const std::string& path);
  // The rest; the plan's entries have their facts by now. CannotWrite, also for the weights.
  Result<EmitResult> finish(const cuda::Modules& modules);
  ~BundleFile();  // stops the writing of weights

 private:
  struct Writing;
  explicit BundleFile(std::unique_ptr<Writing> writing);
  std::unique_ptr<Writing> writing_;
};

}  // namespace dlcb::emit
