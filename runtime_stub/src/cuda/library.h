// A vendor library opened on first need. Nothing of the CUDA toolkit is needed to build this folder: the few functions,
// types and enum values in use are declared here by us (driver.h, cublaslt_api.h, cudnn_api.h).
#pragma once
#include <dlfcn.h>

#include <initializer_list>
#include <string>

#include "runtime_stub/include/dlcb.h"
#include "runtime_stub/src/device.h"

namespace dlcb::rt {

class Library {
 public:
  // The first of these names that the loader finds; stays loaded for the life of the process, as the driver demands.
  Error open(std::initializer_list<const char*> names) {
    std::string reasons;
    for (const char* name : names) {
      handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (handle_) {
        name_ = name;
        return {};
      }
      const char* why = dlerror();
      reasons += std::string(reasons.empty() ? "" : "; ") + (why ? why : name);
    }
    return {DLCB_MISSING_LIBRARY, "cannot open " + std::string(*names.begin()) + ": " + reasons};
  }
  template <class F>
  Error find(const char* symbol, F* out) const {
    *out = reinterpret_cast<F>(dlsym(handle_, symbol));
    if (*out) return {};
    return {DLCB_MISSING_LIBRARY, name_ + " has no " + symbol + " (too old)"};
  }

 private:
  void* handle_ = nullptr;
  std::string name_;
};

}  // namespace dlcb::rt
