// Finds the simulator, a shared library of its own so that a stub without it stays small.
#include <dlfcn.h>

#include <filesystem>
#include <system_error>

#include "dlcb.h"
#include "runtime_stub/src/device.h"

namespace dlcb::rt {
namespace {

constexpr const char* kLibrary = "libdlcb_sim.so";

std::string beside_program(const char* relative) {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "" : (program.parent_path() / relative / kLibrary).string();
}

// Beside the program, in ../lib, then by the loader's rules. The handle is kept for the life of the process.
void* open_library(std::string* reason) {
  for (const std::string& path : {beside_program("."), beside_program("../lib"), std::string(kLibrary)}) {
    std::error_code error;
    const bool by_rules = path == kLibrary;
    if (!by_rules && !std::filesystem::exists(path, error)) continue;
    if (void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
    const char* message = ::dlerror();
    *reason = message ? message : "unknown";
    if (!by_rules) return nullptr;
  }
  return nullptr;
}

}  // namespace

Error open_sim(const DeviceConfig& config, std::shared_ptr<Device>* out) {
  std::string reason;
  void* library = open_library(&reason);
  if (!library) return {DLCB_MISSING_LIBRARY, "cannot load the simulator: " + reason};
  using Open = int (*)(const DeviceConfig*, std::shared_ptr<Device>*, Error*);
  const auto open = reinterpret_cast<Open>(::dlsym(library, "dlcb_sim_open"));
  if (!open)
    return {DLCB_MISSING_LIBRARY, std::string(kLibrary) + " has no dlcb_sim_open: it belongs to another version"};
  Error error;
  open(&config, out, &error);
  return error;
}

}  // namespace dlcb::rt
