// Finds the simulator, a shared library of its own so that a stub without it stays small.
#include <dlfcn.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "dlcb.h"
#include "runtime_stub/src/device.h"

namespace dlcb::rt {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibrary = "libdlcb_sim.so";

// The file that this code was loaded from: libdlcb.so, or the program that the stub is linked into. dladdr() would give
// the name that was asked for, which may be relative to a folder that is no longer the current one.
fs::path own_file() {
  const auto here = reinterpret_cast<uintptr_t>(&own_file);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {  // "7f00a000-7f00c000 r-xp 00001000 08:01 1234   /lib/x.so"
    uintptr_t begin = 0, end = 0;
    const char* const last = line.data() + line.size();
    const auto dash = std::from_chars(line.data(), last, begin, 16);
    if (dash.ptr == last) continue;
    std::from_chars(dash.ptr + 1, last, end, 16);
    const size_t slash = line.find('/');
    if (begin <= here && here < end && slash != line.npos) return line.substr(slash);
  }
  return {};
}

fs::path program_file() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path() : program;
}

// Beside the file that holds the stub, in ../lib from there, the same for the program; else left to the loader's rules.
fs::path find_library() {
  for (const fs::path& file : {own_file(), program_file()}) {
    for (const char* relative : {".", "../lib"}) {
      std::error_code error;
      fs::path path = file.parent_path() / relative / kLibrary;
      if (!file.empty() && fs::exists(path, error)) return path;
    }
  }
  return kLibrary;
}

}  // namespace

Error open_sim(const DeviceConfig& config, std::shared_ptr<Device>* out) {
  void* library = ::dlopen(find_library().c_str(), RTLD_NOW | RTLD_LOCAL);  // kept for the life of the process
  if (!library) {
    const char* reason = ::dlerror();
    return {DLCB_MISSING_LIBRARY, std::string("cannot load the simulator: ") + (reason ? reason : kLibrary)};
  }
  using Open = int (*)(const DeviceConfig*, std::shared_ptr<Device>*, Error*);
  const auto open = reinterpret_cast<Open>(::dlsym(library, "dlcb_sim_open"));
  if (!open)
    return {DLCB_MISSING_LIBRARY, std::string(kLibrary) + " has no dlcb_sim_open: it belongs to another version"};
  Error error;
  open(&config, out, &error);
  return error;
}

}  // namespace dlcb::rt
