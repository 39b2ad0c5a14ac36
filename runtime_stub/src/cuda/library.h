// A vendor library opened on first need. Nothing of the CUDA toolkit is needed to build this folder: the few functions,
// types and enum values in use are declared here by us (driver.h, cublaslt_api.h, cudnn_api.h).
#pragma once
#include <dlfcn.h>

#include <span>
#include <string>
#include <utility>

#include "runtime_stub/include/dlcb.h"
#include "runtime_stub/src/device.h"

namespace dlcb::rt {

class Library {
 public:
  // The first of these names that the loader finds; stays loaded for the life of the process, as the driver demands.
  Error open(std::span<const char* const> names) {
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
    return {DLCB_MISSING_LIBRARY, "cannot open " + std::string(names[0]) + ": " + reasons};
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

// A library's functions, found once in the process. Api has kFiles, the names to open; each(find), which calls
// find(symbol, &member) for every function, with false as a third argument for those that old libraries lack, which are
// null then; and, if the library must be started, start().
template <class Api>
Error open_api(const Api** out) {
  struct Opened {
    Api api{};
    Error error;

    Opened() {
      Library library;
      error = library.open(Api::kFiles);
      if (error) return;
      api.each([&](const char* symbol, auto* function, bool needed = true) {
        if (error) return;
        Error missing = library.find(symbol, function);
        if (needed) error = std::move(missing);
      });
      if constexpr (requires { api.start(); }) {
        if (!error) error = api.start();
      }
    }
  };
  static const Opened opened;
  *out = &opened.api;
  return opened.error;
}

}  // namespace dlcb::rt
