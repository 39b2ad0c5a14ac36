// The host's C++ compiler as a program: which one, with which options, and running it.
#pragma once
#include <string>
#include <vector>

#include "runtime_stub/src/device.h"

namespace dlcb::sim {

class HostCompiler {
 public:
  // Finds $CXX, c++, g++ or clang++.
  static rt::Error find(HostCompiler* out);
  // Everything that changes what it makes: path, file size and time, options.
  const std::string& identity() const { return identity_; }
  // Compiles to a shared object; waits. DLCB_DEVICE_ERROR with the compiler's first messages when it refuses the
  // source.
  rt::Error compile(const std::string& source, const std::string& object) const;

 private:
  std::string path_, identity_;
  std::vector<std::string> options_;
};

}  // namespace dlcb::sim
