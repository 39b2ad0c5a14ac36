#include "cuda/modules.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>

#include "base/hash.h"
#include "cuda/cubin.h"

namespace dlcb {
extern const char kPreludeText[];  // kernel/prelude.cuh, embedded at build time
}

namespace dlcb::cuda {
namespace {

// Of the kernels of one effort. Two programs keep two cores busy; more only pay once each has about ten kernels.
size_t module_count(size_t kernels) {
  return kernels == 0 ? 0 : std::clamp<size_t>(kernels / 10, std::min<size_t>(2, kernels), 8);
}

// Longest text first onto the lightest module; ties by name, so the partition is a function of the kernels alone.
void partition(std::span<const KernelText> kernels, Effort effort, ModuleLayout& layout) {
  std::vector<const KernelText*> order;
  for (const KernelText& k : kernels) {
    if (k.effort == effort) order.push_back(&k);
  }
  std::sort(order.begin(), order.end(), [](const KernelText* a, const KernelText* b) {
    return a->text.size() != b->text.size() ? a->text.size() > b->text.size() : a->name < b->name;
  });
  std::vector<std::vector<const KernelText*>> parts(module_count(order.size()));
  std::vector<size_t> weight(parts.size(), 0);
  for (const KernelText* k : order) {
    const size_t lightest = std::min_element(weight.begin(), weight.end()) - weight.begin();
    parts[lightest].push_back(k);
    weight[lightest] += k->text.size();
  }
  for (auto& part : parts) {
    std::sort(part.begin(), part.end(), [](const KernelText* a, const KernelText* b) { return a->name < b->name; });
    ModuleLayout::Module& module = layout.modules.emplace_back();
    module.effort = effort;
    for (const KernelText* k : part) {
      module.source += k->text + "\n";
      module.entries.push_back(k->name);
    }
  }
}

std::string cache_key(const std::string& program, const Target& target, Effort effort, const std::string& version) {
  const std::string everything =
      version + '\0' + target.name() + '\0' + (effort == Effort::High ? "high" : "low") + '\0' + program;
  return hex(hash_bytes(everything));
}

// Runs fn(0..count-1) on up to `threads` threads; returns when all are done.
template <class Fn>
void parallel_for(size_t count, int threads, Fn fn) {
  if (threads <= 0) threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t i; (i = next++) < count;) fn(i);
  };
  std::vector<std::thread> pool;
  for (size_t t = 1; t < std::min<size_t>(threads, count); ++t) pool.emplace_back(work);
  work();
  for (std::thread& t : pool) t.join();
}

Status collect_entries(const ModuleLayout& layout, Modules& out) {
  for (size_t m = 0; m < layout.modules.size(); ++m) {
    const std::vector<char>& image = out.cubins[0][m];
    DLCB_ASSIGN(std::vector<KernelInfo> infos,
                read_cubin({reinterpret_cast<const std::byte*>(image.data()), image.size()}));
    for (const std::string& name : layout.modules[m].entries) {
      const auto info = std::find_if(infos.begin(), infos.end(), [&](const KernelInfo& i) { return i.name == name; });
      DLCB_CHECK(info != infos.end(), name + " is missing from its cubin");
      out.entries.push_back({name, static_cast<uint32_t>(info->registers), static_cast<uint32_t>(info->shared_bytes),
                             static_cast<uint32_t>(info->stack_bytes), static_cast<uint32_t>(info->instructions),
                             static_cast<uint32_t>(info->max_threads), info->has_calls});
    }
  }
  return ok();
}

// One program for one target, from the cache or from NVRTC.
class Compiler {
 public:
  Compiler(const ModuleLayout& layout, const CompileSettings& settings, std::string version, Modules& out)
      : layout_(layout), settings_(settings), version_(std::move(version)), out_(out) {}

  void compile(size_t target, size_t module) {
    const ModuleLayout::Module& m = layout_.modules[module];
    const std::string program = std::string(kPreludeText) + m.source;
    const std::string key = cache_key(program, settings_.targets[target], m.effort, version_);
    std::vector<char>& image = out_.cubins[target][module];
    if (settings_.cache) {
      if (auto hit = settings_.cache->find(key)) {
        image = *std::move(hit);
        std::lock_guard lock(mutex_);
        ++out_.cached;
        return;
      }
    }
    auto cubin = compile_to_cubin(program, settings_.targets[target], m.effort);
    std::lock_guard lock(mutex_);
    if (!cubin) {
      if (!failure_) failure_ = std::move(cubin.error());
      return;
    }
    image = *std::move(cubin);
    ++out_.compiled;
    if (settings_.cache && !settings_.cache->store(key, image)) ++out_.unkept;
  }

  std::optional<Diagnostic>& failure() { return failure_; }

 private:
  const ModuleLayout& layout_;
  const CompileSettings& settings_;
  const std::string version_;
  Modules& out_;
  std::mutex mutex_;
  std::optional<Diagnostic> failure_;
};

}  // namespace

ModuleLayout arrange_modules(std::span<const KernelText> kernels) {
  ModuleLayout layout;
  for (Effort effort : {Effort::High, Effort::Low}) partition(kernels, effort, layout);
  return layout;
}

Result<Modules> compile_modules(const ModuleLayout& layout, const CompileSettings& settings) {
  Modules out;
  if (layout.modules.empty()) return out;
  DLCB_ASSIGN(std::string version, nvrtc_version());
  const size_t count = layout.modules.size();
  out.cubins.assign(settings.targets.size(), std::vector<std::vector<char>>(count));
  Compiler compiler(layout, settings, std::move(version), out);
  // NVRTC's low effort stays in force, in part, for what the process compiles after it: high effort must be done
  // before.
  for (Effort effort : {Effort::High, Effort::Low}) {
    std::vector<size_t> modules;
    for (size_t m = 0; m < count; ++m) {
      if (layout.modules[m].effort == effort) modules.push_back(m);
    }
    parallel_for(settings.targets.size() * modules.size(), settings.threads,
                 [&](size_t i) { compiler.compile(i / modules.size(), modules[i % modules.size()]); });
  }
  if (compiler.failure()) return *std::move(compiler.failure());
  DLCB_TRY(collect_entries(layout, out));
  return out;
}

}  // namespace dlcb::cuda
