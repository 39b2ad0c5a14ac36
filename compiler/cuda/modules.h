// Turns a model's kernel functions into cubins: few programs (each costs NVRTC a fixed 40 ms), a partition that depends
// on the functions alone (so bundles are the same at any thread count), compiled side by side, through the on-disk
// cache.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cuda/cache.h"
#include "cuda/nvrtc.h"

namespace dlcb::cuda {

struct KernelText {
  std::string name;  // extern "C" symbol
  std::string text;  // CUDA C++ without the prelude
  Effort effort = Effort::High;
};

struct EntryFacts {
  std::string name;
  uint32_t module = 0;
  uint32_t registers = 0, shared_bytes = 0, stack_bytes = 0, instructions = 0, max_threads = 0;  // of the first target
};

struct Modules {
  std::vector<std::string> sources;                    // one per module, without the prelude
  std::vector<std::vector<std::vector<char>>> cubins;  // [target][module]
  std::vector<EntryFacts> entries;                     // sorted by module, then as in the source
  int compiled = 0, cached = 0;                        // programs
};

struct CompileSettings {
  std::vector<Target> targets;
  int threads = 0;  // 0: as many as the machine has
  const Cache* cache = nullptr;
};

// Names must be unique. No kernels: no modules, and NVRTC is not needed.
Result<Modules> compile_modules(std::span<const KernelText> kernels, const CompileSettings& settings);

}  // namespace dlcb::cuda
