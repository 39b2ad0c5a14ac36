// NVRTC, opened at run time: compiles kernel text to a cubin for tests.
#pragma once
#include <dlfcn.h>

#include <cstdint>
#include <string>
#include <vector>

namespace dlcb {
extern const char kKernelPrelude[];  // compiler/kernel/prelude.cuh, embedded at build time
}

namespace dlcb::testing {

class Nvrtc {
 public:
  Nvrtc() {
    void* library = nullptr;
    for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"})
      if (!library) library = dlopen(name, RTLD_NOW);
    available_ = library != nullptr;
    if (!library) return;
    find(library, create_, "nvrtcCreateProgram");
    find(library, compile_, "nvrtcCompileProgram");
    find(library, log_size_, "nvrtcGetProgramLogSize");
    find(library, log_, "nvrtcGetProgramLog");
    find(library, cubin_size_, "nvrtcGetCUBINSize");
    find(library, cubin_, "nvrtcGetCUBIN");
    find(library, destroy_, "nvrtcDestroyProgram");
  }
  bool available() const { return available_; }

  // Compiles the prelude and `text`. Returns what the compiler says: "" when it accepts the text without a warning.
  std::string compile(const std::string& text, const std::string& arch, std::vector<uint8_t>* cubin = nullptr) const {
    const std::string whole = kKernelPrelude + text, flag = "--gpu-architecture=" + arch;
    const char* options[] = {"--minimal", flag.c_str()};
    void* program = nullptr;
    if (create_(&program, whole.c_str(), "kernels.cu", 0, nullptr, nullptr)) return "nvrtcCreateProgram failed";
    const int rc = compile_(program, 2, options);
    size_t size = 0;
    log_size_(program, &size);
    std::string said(size, '\0');
    log_(program, said.data());
    while (!said.empty() && (said.back() == '\0' || said.back() == '\n')) said.pop_back();
    if (rc && said.empty()) said = "error " + std::to_string(rc);
    if (!rc && cubin) {
      cubin_size_(program, &size);
      cubin->resize(size);
      cubin_(program, reinterpret_cast<char*>(cubin->data()));
    }
    destroy_(&program);
    return said;
  }

 private:
  template <class F>
  void find(void* library, F& f, const char* name) {
    f = reinterpret_cast<F>(dlsym(library, name));
    available_ = available_ && f;
  }
  bool available_ = false;
  int (*create_)(void**, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*compile_)(void*, int, const char* const*) = nullptr;
  int (*log_size_)(void*, size_t*) = nullptr;
  int (*log_)(void*, char*) = nullptr;
  int (*cubin_size_)(void*, size_t*) = nullptr;
  int (*cubin_)(void*, char*) = nullptr;
  int (*destroy_)(void**) = nullptr;
};

}  // namespace dlcb::testing
