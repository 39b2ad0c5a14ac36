// The CUDA prelude, and every name in it, compile under NVRTC for each architecture family. Needs libnvrtc, not a GPU; passes
// with a note where there is none.
#include <dlfcn.h>

#include <string>
#include <vector>

#include "catch.h"
#include "device_kernels.h"

namespace dlcb {
extern const char kKernelPrelude[];  // compiler/kernel/prelude.cuh, embedded at build time
}

namespace {

struct Nvrtc {
  void* library = nullptr;
  int (*create)(void**, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*compile)(void*, int, const char* const*) = nullptr;
  int (*log_size)(void*, size_t*) = nullptr;
  int (*log)(void*, char*) = nullptr;
  int (*destroy)(void**) = nullptr;

  Nvrtc() {
    for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"})
      if (!library) library = dlopen(name, RTLD_NOW);
    if (!library) return;
    find(create, "nvrtcCreateProgram");
    find(compile, "nvrtcCompileProgram");
    find(log_size, "nvrtcGetProgramLogSize");
    find(log, "nvrtcGetProgramLog");
    find(destroy, "nvrtcDestroyProgram");
  }
  template <class F>
  void find(F& f, const char* name) {
    f = reinterpret_cast<F>(dlsym(library, name));
    REQUIRE(f != nullptr);
  }
  // What the compiler says; "" when it accepts the text without a warning.
  std::string messages(const std::string& text, const std::string& arch) {
    const std::string flag = "--gpu-architecture=" + arch;
    const char* options[] = {"--minimal", flag.c_str()};
    void* program = nullptr;
    REQUIRE(create(&program, text.c_str(), "kernels.cu", 0, nullptr, nullptr) == 0);
    const int rc = compile(program, 2, options);
    size_t size = 0;
    log_size(program, &size);
    std::string said(size, '\0');
    log(program, said.data());
    destroy(&program);
    while (!said.empty() && (said.back() == '\0' || said.back() == '\n')) said.pop_back();
    return rc && said.empty() ? "error " + std::to_string(rc) : said;
  }
};

}  // namespace

TEST_CASE("the CUDA prelude compiles for every architecture family") {
  Nvrtc nvrtc;
  if (!nvrtc.library) {
    WARN("no libnvrtc: the CUDA prelude was not compiled");
    return;
  }
  for (const char* arch : {"sm_75", "sm_80", "sm_90", "sm_100", "sm_120"}) {
    INFO(arch);
    CHECK(nvrtc.messages(std::string(dlcb::kKernelPrelude) + dlcb::testing::kEveryName, arch) == "");
    CHECK(nvrtc.messages(std::string(dlcb::kKernelPrelude) + dlcb::testing::kReductions, arch) == "");
  }
}
