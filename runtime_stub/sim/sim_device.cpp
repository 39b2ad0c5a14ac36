#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <utility>

#include "block_runner.h"
#include "memory.h"
#include "module_cache.h"
#include "onednn.h"
#include "race_check.h"
#include "reference.h"
#include "runtime_stub/include/dlcb.h"
#include "sim.h"
#include "thread_pool.h"

namespace dlcb::sim {
namespace {

// A launch below this many threads is not worth waking others for.
constexpr uint64_t kParallelThreads = 2048;

// What every queue over one bundle shares.
struct Shared {
  std::vector<std::shared_ptr<Module>> modules;
  struct Entry {
    std::string name;
    uint32_t max_threads;
    const dlcb_sim_kernel* kernel;
  };
  std::vector<Entry> entries;
  Memory memory;
  bool check_races = false, reference_only = false;
};

rt::Error internal(const std::exception& e) { return {DLCB_INTERNAL, std::string("simulator: ") + e.what()}; }

// The limits of a CUDA device, so that what runs here also launches there.
rt::Error check_limits(const Shared::Entry& entry, const rt::LaunchCall& call) {
  const uint64_t threads = uint64_t(call.block[0]) * call.block[1] * call.block[2];
  std::string fault;
  if (threads == 0 || threads > 1024 || call.block[2] > 64)
    fault = "a block of " + std::to_string(threads) + " threads";
  else if (entry.max_threads && threads > entry.max_threads)
    fault = "a block of " + std::to_string(threads) + " threads where the kernel allows " +
            std::to_string(entry.max_threads);
  else if (call.grid[0] > 0x7fffffff || call.grid[1] > 65535 || call.grid[2] > 65535)
    fault = "a grid beyond 2147483647 x 65535 x 65535";
  else if (call.shared_bytes > 232448)
    fault = std::to_string(call.shared_bytes) + " bytes of shared memory";
  if (fault.empty()) return {};
  return {DLCB_DEVICE_ERROR, "kernel " + entry.name + " cannot be launched with " + fault};
}

class SimDevice final : public rt::Device {
 public:
  explicit SimDevice(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  std::string name() const override { return "simulator"; }
  bool is_host_memory() const override { return true; }
  rt::Error fork(std::shared_ptr<rt::Device>* out) override {
    *out = std::make_shared<SimDevice>(shared_);
    return {};
  }

  rt::Error allocate(size_t bytes, rt::Ptr* out, void*) override { return shared_->memory.allocate(bytes, out); }
  void free(rt::Ptr p, void*) override { shared_->memory.free(p); }
  rt::Error upload(rt::Ptr to, const void* from, size_t bytes, void*) override {
    if (bytes) std::memcpy(reinterpret_cast<void*>(to), from, bytes);
    return {};
  }
  rt::Error download(void* to, rt::Ptr from, size_t bytes, void*) override {
    if (bytes) std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
    return {};
  }
  rt::Error copy(rt::Ptr to, rt::Ptr from, size_t bytes, void*) override {
    if (bytes) std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
    return {};
  }
  rt::Error synchronize(void*) override { return {}; }

  rt::Error launch(const rt::LaunchCall& call, void*) override;
  rt::Error matmul(const rt::MatmulCall& call, void*) override;
  rt::Error conv(const rt::ConvCall& call, void*) override;

 private:
  std::shared_ptr<Shared> shared_;
};

rt::Error run_once(const Shared::Entry& entry, const rt::LaunchCall& call, bool reversed) {
  Launch launch;
  launch.kernel = entry.kernel;
  static_assert(sizeof(unsigned long long) == sizeof(uint64_t));
  launch.args = reinterpret_cast<const unsigned long long*>(call.args.data());
  launch.grid = {call.grid[0], call.grid[1], call.grid[2]};
  launch.block = {call.block[0], call.block[1], call.block[2]};
  launch.shared_bytes = call.shared_bytes;
  launch.reversed = reversed;

  std::mutex mutex;
  std::string fault;
  auto run = [&](uint64_t begin, uint64_t end) {
    static thread_local BlockRunner runner;
    std::string error;
    try {
      if (!runner.run(launch, begin, end)) error = runner.error();
    } catch (const std::exception& e) {
      error = e.what();
    }
    if (error.empty()) return;
    std::lock_guard lock(mutex);
    fault = error;
  };
  if (launch.blocks() * launch.threads() < kParallelThreads)
    run(0, launch.blocks());
  else
    ThreadPool::shared().parallel_for(launch.blocks(), run);
  if (fault.empty()) return {};
  return {DLCB_DEVICE_ERROR, "kernel " + entry.name + ": " + fault};
}

rt::Error SimDevice::launch(const rt::LaunchCall& call, void*) {
  if (call.entry >= shared_->entries.size()) return {DLCB_INTERNAL, "launch of an unknown entry"};
  if (!call.grid[0] || !call.grid[1] || !call.grid[2]) return {};
  const Shared::Entry& entry = shared_->entries[call.entry];
  if (call.args.size() != std::string_view(entry.kernel->params).size())
    return {DLCB_INTERNAL, "kernel " + entry.name + " is launched with a wrong number of arguments"};
  if (rt::Error error = check_limits(entry, call)) return error;
  try {
    if (!shared_->check_races) return run_once(entry, call, false);
    return race_check(shared_->memory, call.args, entry.name,
                      [&](bool reversed) { return run_once(entry, call, reversed); });
  } catch (const std::exception& e) {
    return internal(e);
  }
}

rt::Error SimDevice::matmul(const rt::MatmulCall& call, void*) {
  if (rt::Error error = check_supported(call.dtype, call.activation)) return error;
  if (call.m == 0 || call.n == 0 || call.batch == 0) return {};
  try {
    if (shared_->reference_only || !onednn_matmul(call)) reference_matmul(call);
    return {};
  } catch (const std::exception& e) {
    return internal(e);
  }
}

rt::Error SimDevice::conv(const rt::ConvCall& call, void*) {
  if (rt::Error error = check_supported(call.dtype, call.activation)) return error;
  if (call.n == 0 || call.p == 0 || call.q == 0 || call.k == 0) return {};
  try {
    if (shared_->reference_only || !onednn_conv(call)) reference_conv(call);
    return {};
  } catch (const std::exception& e) {
    return internal(e);
  }
}

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value && std::string_view(value) == "1";
}

rt::Error open(const rt::DeviceConfig& config, std::shared_ptr<rt::Device>* out) {
  auto shared = std::make_shared<Shared>();
  shared->check_races = race_check_wanted();
  shared->reference_only = is_set("DLCB_SIM_REFERENCE");
  std::vector<std::string_view> texts;
  for (uint32_t m = 0; m < config.modules; ++m) {
    const auto image = config.module_image(m, "sim");
    if (image.empty())
      return {DLCB_NO_TARGET, "the bundle holds no kernel sources (it was stripped), which the simulator runs"};
    texts.emplace_back(reinterpret_cast<const char*>(image.data()), image.size());
  }
  if (rt::Error error = load_modules(texts, config.sim_cache_dir, &shared->modules)) return error;
  for (const rt::EntryInfo& info : config.entries) {
    const dlcb_sim_kernel* kernel =
        info.module < shared->modules.size() ? shared->modules[info.module]->find(info.name) : nullptr;
    if (!kernel)
      return {DLCB_BAD_BUNDLE, "module " + std::to_string(info.module) + " has no kernel named " + info.name};
    if (info.params && *info.params != kernel->params)
      return {DLCB_BAD_BUNDLE, "kernel " + info.name + " does not have the parameters that its launches pass"};
    shared->entries.push_back({info.name, info.max_threads, kernel});
  }
  *out = std::make_shared<SimDevice>(std::move(shared));
  return {};
}

}  // namespace
}  // namespace dlcb::sim

extern "C" __attribute__((visibility("default"))) int dlcb_sim_open(const dlcb::rt::DeviceConfig* config,
                                                                    std::shared_ptr<dlcb::rt::Device>* out,
                                                                    dlcb::rt::Error* error) {
  try {
    *error = dlcb::sim::open(*config, out);
  } catch (const std::exception& e) {
    *error = {DLCB_INTERNAL, std::string("simulator: ") + e.what()};
  }
  return error->status;
}
