#include "cuda/nvrtc.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <future>
#include <mutex>

namespace dlcb::cuda {
namespace {

using Program = void*;

struct Nvrtc {
  int (*version)(int*, int*);
  const char* (*error_string)(int);
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*);
  int (*destroy)(Program*);
  int (*compile)(Program, int, const char* const*);
  int (*cubin_size)(Program, size_t*);
  int (*cubin)(Program, char*);
  int (*log_size)(Program, size_t*);
  int (*log)(Program, char*);
  std::string error;  // non-empty: could not be opened
};

// Names tried in order; DLCB_CUDA_PATH names a folder that holds the libraries (a toolkit's lib64 or a wheel's lib).
void* open_library(std::string& error) {
  constexpr std::array kNames = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
  constexpr std::array kFolders = {"", "/usr/local/cuda/lib64/"};
  if (const char* folder = std::getenv("DLCB_CUDA_PATH")) {
    for (const char* name : kNames) {
      if (void* lib = dlopen((std::string(folder) + "/" + name).c_str(), RTLD_LAZY | RTLD_LOCAL)) return lib;
    }
  }
  for (const char* folder : kFolders) {
    for (const char* name : kNames) {
      if (void* lib = dlopen((std::string(folder) + name).c_str(), RTLD_LAZY | RTLD_LOCAL)) return lib;
    }
  }
  error = "not found by the loader, in DLCB_CUDA_PATH or in /usr/local/cuda/lib64";
  return nullptr;
}

Nvrtc load() {
  Nvrtc n{};
  void* lib = open_library(n.error);
  if (!lib) return n;
  auto bind = [&](auto& pointer, const char* name) {
    pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(dlsym(lib, name));
    if (!pointer) n.error = fmt::format("it lacks {}", name);
  };
  bind(n.version, "nvrtcVersion");
  bind(n.error_string, "nvrtcGetErrorString");
  bind(n.create, "nvrtcCreateProgram");
  bind(n.destroy, "nvrtcDestroyProgram");
  bind(n.compile, "nvrtcCompileProgram");
  bind(n.cubin_size, "nvrtcGetCUBINSize");
  bind(n.cubin, "nvrtcGetCUBIN");
  bind(n.log_size, "nvrtcGetProgramLogSize");
  bind(n.log, "nvrtcGetProgramLog");
  return n;
}

std::shared_future<Nvrtc>& loading() {
  static std::shared_future<Nvrtc> future = std::async(std::launch::async, load).share();
  return future;
}

Result<const Nvrtc*> library() {
  const Nvrtc& n = loading().get();
  if (!n.error.empty()) return diag(DiagKind::MissingLibrary, {"libnvrtc", n.error});
  return &n;
}

std::string log_of(const Nvrtc& n, Program program) {
  size_t size = 0;
  if (n.log_size(program, &size) != 0 || size == 0) return "";
  std::string text(size, '\0');
  n.log(program, text.data());
  text.resize(size - 1);
  return text;
}

struct KnownTarget {
  int major, minor;
  bool arch_specific_form;
};
constexpr KnownTarget kTargets[] = {{7, 5, false}, {8, 0, false}, {8, 6, false}, {8, 7, false},
                                    {8, 8, false}, {8, 9, false}, {9, 0, true},  {10, 0, true},
                                    {10, 3, true}, {11, 0, true}, {12, 0, true}, {12, 1, true}};

}  // namespace

std::string Target::name() const { return fmt::format("sm_{}{}{}", major, minor, arch_specific ? "a" : ""); }

Result<Target> parse_target(std::string_view text) {
  std::string known;
  for (const KnownTarget& k : kTargets) {
    for (bool specific : {false, true}) {
      if (specific && !k.arch_specific_form) continue;
      Target t{k.major, k.minor, specific};
      if (t.name() == text) return t;
      known += (known.empty() ? "" : ", ") + t.name();
    }
  }
  return diag(DiagKind::NoTarget, {std::string(text), known});
}

NvrtcPreload::NvrtcPreload(bool wanted) : wanted_(wanted) {
  if (wanted_) loading();
}

NvrtcPreload::~NvrtcPreload() {
  if (wanted_) loading().wait();
}

Result<std::string> nvrtc_version() {
  DLCB_ASSIGN(const Nvrtc* n, library());
  int major = 0, minor = 0;
  n->version(&major, &minor);
  return fmt::format("{}.{}", major, minor);
}

Result<std::vector<char>> compile_to_cubin(const std::string& source, const Target& target, Effort effort) {
  DLCB_ASSIGN(const Nvrtc* n, library());
  Program program = nullptr;
  if (int rc = n->create(&program, source.c_str(), "dlcb.cu", 0, nullptr, nullptr); rc != 0) {
    return diag(DiagKind::KernelCompilation, {n->error_string(rc)});
  }
  const std::string arch = "--gpu-architecture=" + target.name();
  std::vector<const char*> options{"--minimal", "-w", "--std=c++17", arch.c_str()};
  int major = 0, minor = 0;
  n->version(&major, &minor);
  if (effort == Effort::Low && major >= 13) options.push_back("--Ofast-compile=mid");
  const int rc = n->compile(program, static_cast<int>(options.size()), options.data());
  if (rc != 0) {
    Diagnostic d = diag(DiagKind::KernelCompilation, {log_of(*n, program)});
    n->destroy(&program);
    return d;
  }
  size_t size = 0;
  n->cubin_size(program, &size);
  std::vector<char> cubin(size);
  n->cubin(program, cubin.data());
  n->destroy(&program);
  return cubin;
}

}  // namespace dlcb::cuda
