// Kernel modules as host code: compiles prelude + module text with the host's C++ compiler into shared objects, which
// are kept by content hash in a folder. Safe between threads and processes: files are written beside and renamed into
// place. A file carries its own digest at its end (the loader ignores trailing bytes); one that is damaged or foreign
// is rebuilt.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "abi.h"
#include "runtime_stub/src/device.h"

namespace dlcb::sim {

// A loaded shared object. Kernels found in it live as long as it does.
class Module {
 public:
  explicit Module(void* handle) : handle_(handle) {}
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  const dlcb_sim_kernel* find(const std::string& entry) const;  // null when absent

 private:
  void* handle_;
};

// Loads one module for each text, compiling those not in `folder` (created when missing; empty: a default below the
// user's cache folder), several at a time. Environment: CXX names the compiler (default: c++, g++ or clang++ from
// PATH); DLCB_SIM_ASAN=1 instruments kernels when the process runs under AddressSanitizer. Errors: DLCB_MISSING_LIBRARY
// without a compiler, DLCB_DEVICE_ERROR when a text does not compile (which need not be the text's fault) and for the
// folder.
rt::Error load_modules(const std::vector<std::string_view>& texts, std::string folder,
                       std::vector<std::shared_ptr<Module>>* out);

}  // namespace dlcb::sim
