#include "cuda/modules.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
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
void partition(std::span<const KernelText> kernels, Effort effort, std::vector<std::vector<size_t>>& all) {
  std::vector<size_t> order;
  for (size_t k = 0; k < kernels.size(); ++k) {
    if (kernels[k].effort == effort) order.push_back(k);
  }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (kernels[a].text.size() != kernels[b].text.size()) return kernels[a].text.size() > kernels[b].text.size();
    return kernels[a].name < kernels[b].name;
  });
  std::vector<std::vector<size_t>> parts(module_count(order.size()));
  std::vector<size_t> weight(parts.size(), 0);
  for (size_t k : order) {
    const size_t lightest = std::min_element(weight.begin(), weight.end()) - weight.begin();
    parts[lightest].push_back(k);
    weight[lightest] += kernels[k].text.size();
  }
  for (auto& part : parts) {
    std::sort(part.begin(), part.end(), [&](size_t a, size_t b) { return kernels[a].name < kernels[b].name; });
    all.push_back(std::move(part));
  }
}

std::string cache_key(const std::string& program, const Target& target, Effort effort, const std::string& version) {
  const std::string everything =
      version + '\0' + target.name() + '\0' + (effort == Effort::High ? "high" : "low") + '\0' + program;
  return hex(hash_bytes(everything));
}

struct Job {
  size_t target, module;
};

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

Status collect_entries(Modules& modules, std::span<const KernelText> kernels,
                       const std::vector<std::vector<size_t>>& parts) {
  for (size_t m = 0; m < parts.size(); ++m) {
    const std::vector<char>& image = modules.cubins[0][m];
    DLCB_ASSIGN(std::vector<KernelInfo> infos,
                read_cubin({reinterpret_cast<const std::byte*>(image.data()), image.size()}));
    for (size_t k : parts[m]) {
      const auto info =
          std::find_if(infos.begin(), infos.end(), [&](const KernelInfo& i) { return i.name == kernels[k].name; });
      DLCB_CHECK(info != infos.end(), kernels[k].name + " is missing from its cubin");
      modules.entries.push_back({kernels[k].name, static_cast<uint32_t>(m), static_cast<uint32_t>(info->registers),
                                 static_cast<uint32_t>(info->shared_bytes), static_cast<uint32_t>(info->stack_bytes),
                                 static_cast<uint32_t>(info->instructions), static_cast<uint32_t>(info->max_threads)});
    }
  }
  return ok();
}

}  // namespace

Result<Modules> compile_modules(std::span<const KernelText> kernels, const CompileSettings& settings) {
  Modules modules;
  if (kernels.empty()) return modules;
  DLCB_ASSIGN(const std::string version, nvrtc_version());
  std::vector<std::vector<size_t>> parts;
  partition(kernels, Effort::High, parts);
  const size_t high = parts.size();
  partition(kernels, Effort::Low, parts);
  for (const auto& part : parts) {
    std::string source;
    for (size_t k : part) source += kernels[k].text + "\n";
    modules.sources.push_back(std::move(source));
  }
  modules.cubins.assign(settings.targets.size(), std::vector<std::vector<char>>(parts.size()));

  std::mutex mutex;
  std::optional<Diagnostic> failure;
  auto compile = [&](const Job& job) {
    const Target& target = settings.targets[job.target];
    const Effort effort = kernels[parts[job.module][0]].effort;
    const std::string program = std::string(kPreludeText) + modules.sources[job.module];
    const std::string key = cache_key(program, target, effort, version);
    std::vector<char>& image = modules.cubins[job.target][job.module];
    if (settings.cache) {
      if (auto hit = settings.cache->find(key)) {
        image = *std::move(hit);
        std::lock_guard lock(mutex);
        ++modules.cached;
        return;
      }
    }
    auto cubin = compile_to_cubin(program, target, effort);
    std::lock_guard lock(mutex);
    if (!cubin) {
      if (!failure) failure = std::move(cubin.error());
      return;
    }
    image = *std::move(cubin);
    ++modules.compiled;
    if (settings.cache) settings.cache->store(key, image);
  };
  auto compile_range = [&](size_t first, size_t count) {
    parallel_for(settings.targets.size() * count, settings.threads, [&](size_t i) {
      compile({i / count, first + i % count});
    });
  };
  // NVRTC's low effort stays in force, in part, for what the process compiles after it: high effort must be done
  // before.
  compile_range(0, high);
  compile_range(high, parts.size() - high);
  if (failure) return *std::move(failure);
  DLCB_TRY(collect_entries(modules, kernels, parts));
  return modules;
}

}  // namespace dlcb::cuda
