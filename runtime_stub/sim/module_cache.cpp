#include "module_cache.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <thread>

#include "digest.h"
#include "host_compiler.h"
#include "runtime_stub/include/dlcb.h"

namespace dlcb {
extern const char kSimPrelude[];  // abi.h and prelude.h, embedded at build time
}

namespace dlcb::sim {
namespace {
namespace fs = std::filesystem;

constexpr std::string_view kMagic = "dlcb-sim-module1";

std::string footer(const std::string& content) { return std::string(kMagic) + Digest().add(content).hex(); }

bool intact(const std::string& path) {
  std::error_code ec;
  if (!fs::is_regular_file(path, ec)) return false;  // opening a pipe would wait for its writer
  std::ifstream in(path, std::ios::binary);
  if (!in) return false;
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const size_t footer_bytes = kMagic.size() + 32;
  if (bytes.size() <= footer_bytes) return false;
  const std::string end = bytes.substr(bytes.size() - footer_bytes);
  bytes.resize(bytes.size() - footer_bytes);
  return footer(bytes) == end;
}

bool append_footer(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  if (bytes.empty()) return false;
  std::ofstream out(path, std::ios::binary | std::ios::app);
  out << footer(bytes);
  return bool(out.flush());
}

std::string default_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache) return std::string(cache) + "/dlcb/sim";
  if (const char* home = std::getenv("HOME"); home && *home) return std::string(home) + "/.cache/dlcb/sim";
  return "/tmp/dlcb-sim-" + std::to_string(getuid());
}

rt::Error prepare_folder(std::string& folder) {
  if (folder.empty()) folder = default_folder();
  std::error_code ec;
  fs::create_directories(folder, ec);
  if (ec) return {DLCB_BAD_ARGUMENT, "cannot create the simulator's cache folder " + folder + ": " + ec.message()};
  // Code is loaded from here: refuse a folder that somebody else may have filled.
  struct stat info;
  if (stat(folder.c_str(), &info) != 0 || (info.st_uid != getuid() && info.st_uid != 0) || (info.st_mode & S_IWOTH))
    return {DLCB_BAD_ARGUMENT, "the simulator's cache folder " + folder + " can be written by other users"};
  return {};
}

// Builds `path` from `text`; leaves nothing else behind.
rt::Error build(const HostCompiler& compiler, std::string_view text, const std::string& path) {
  static std::atomic<unsigned> counter{0};
  const std::string base = path + "." + std::to_string(getpid()) + "." + std::to_string(counter++);
  const std::string source = base + ".cpp", object = base + ".tmp";
  rt::Error error;
  {
    std::ofstream out(source, std::ios::binary);
    out << kSimPrelude << "#line 1 \"module\"\n" << text;
    if (!out.flush()) error = {DLCB_BAD_ARGUMENT, "cannot write " + source};
  }
  if (!error) error = compiler.compile(source, object);
  if (!error && !append_footer(object)) error = {DLCB_BAD_ARGUMENT, "cannot write " + object};
  if (!error && std::rename(object.c_str(), path.c_str()) != 0)
    error = {DLCB_BAD_ARGUMENT, "cannot rename " + object + " to " + path};
  unlink(source.c_str());
  unlink(object.c_str());
  return error;
}

rt::Error load(const HostCompiler& compiler, std::string_view text, const std::string& folder,
               std::shared_ptr<Module>* out) {
  const std::string key = Digest().add(compiler.identity()).add(kSimPrelude).add(text).hex();
  const std::string path = folder + "/" + key + ".so";
  if (!intact(path))
    if (rt::Error error = build(compiler, text, path)) return error;
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* why = dlerror();
    return {DLCB_DEVICE_ERROR, std::string("cannot load a compiled kernel module: ") + (why ? why : path.c_str())};
  }
  *out = std::make_shared<Module>(handle);
  return {};
}

}  // namespace

Module::~Module() { dlclose(handle_); }

const dlcb_sim_kernel* Module::find(const std::string& entry) const {
  return static_cast<const dlcb_sim_kernel*>(dlsym(handle_, ("dlcb_sim_kernel_" + entry).c_str()));
}

rt::Error load_modules(const std::vector<std::string_view>& texts, std::string folder,
                       std::vector<std::shared_ptr<Module>>* out) {
  out->assign(texts.size(), nullptr);
  if (texts.empty()) return {};
  HostCompiler compiler;
  if (rt::Error error = HostCompiler::find(&compiler)) return error;
  if (rt::Error error = prepare_folder(folder)) return error;

  std::vector<rt::Error> errors(texts.size());
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t i; (i = next++) < texts.size();) {
      try {
        errors[i] = load(compiler, texts[i], folder, &(*out)[i]);
      } catch (const std::exception& e) {
        errors[i] = {DLCB_INTERNAL, e.what()};
      }
    }
  };
  std::vector<std::thread> helpers;
  const size_t threads = std::min<size_t>(texts.size(), std::max(1u, std::thread::hardware_concurrency()));
  for (size_t i = 1; i < threads; ++i) helpers.emplace_back(work);
  work();
  for (auto& t : helpers) t.join();
  for (auto& error : errors)
    if (error) return error;
  return {};
}

}  // namespace dlcb::sim
