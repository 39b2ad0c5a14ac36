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

// Which kernels share a program: a function of the kernels alone, so that plans can name entries before anything is
// compiled.
struct ModuleLayout {
  struct Module {
    std::string source;                // without the prelude
    Effort effort = Effort::High;      // of all its kernels
    std::vector<std::string> entries;  // as in the source
  };
  std::vector<Module> modules;
};

// Names must be unique.
ModuleLayout arrange_modules(std::span<const KernelText> kernels);

struct EntryFacts {
  std::string name;
  uint32_t registers = 0, shared_bytes = 0, stack_bytes = 0, instructions = 0, max_threads = 0;  // of the first target
  bool has_calls = false;  // calls a subroutine of the device compiler (64-bit division, ...)
};

struct Modules {
  std::vector<std::vector<std::vector<char>>> cubins;  // [target][module]
  std::vector<EntryFacts> entries;                     // of one module after the other, as in the layout
  int compiled = 0, cached = 0;                        // programs
  int unkept = 0;                                      // of those compiled: the cache could not take them
};

struct CompileSettings {
  std::vector<Target> targets;
  int threads = 0;  // 0: as many as the machine has
  const Cache* cache = nullptr;
};

// An empty layout needs no NVRTC.
Result<Modules> compile_modules(const ModuleLayout& layout, const CompileSettings& settings);

}  // namespace dlcb::cuda
