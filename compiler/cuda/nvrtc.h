// The CUDA run-time compiler, opened only when a kernel has to be compiled, so that dlcbc starts where no CUDA is
// installed. Declarations are our own: no toolkit header is needed to build.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"

namespace dlcb::cuda {

struct Target {
  int major = 0, minor = 0;
  bool arch_specific = false;  // sm_90a
  std::string name() const;    // "sm_90"
};
// "sm_90", "sm_90a"; known targets are those of the CUDA toolkit we support.
Result<Target> parse_target(std::string_view text);

// Opens libnvrtc on another thread (13 ms warm, 165 ms cold) while the model is read. The destructor waits for it: a
// process that ends while a library is being opened crashes in the loader.
class NvrtcPreload {
 public:
  explicit NvrtcPreload(bool wanted);
  ~NvrtcPreload();
  NvrtcPreload(const NvrtcPreload&) = delete;
  NvrtcPreload& operator=(const NvrtcPreload&) = delete;

 private:
  bool wanted_;
};

// Version of the library as "13.0"; error MissingLibrary when there is none.
Result<std::string> nvrtc_version();

// How hard NVRTC tries. Low takes about 0.65 of the time and leaves loops as they are written. On an H200 it costs
// pointwise kernels 0-7 %, 16-bit softmax 6-14 % and odd 16-bit transposes 30 % of their speed (docs/benchmarks.md). A
// compilation with High differs once the process has compiled anything with Low: order them, High first.
enum class Effort { Low, High };

// Compiles one program of CUDA C++ (prelude included by the caller) to a cubin. Thread-safe.
Result<std::vector<char>> compile_to_cubin(const std::string& source, const Target& target,
                                           Effort effort = Effort::High);

}  // namespace dlcb::cuda
