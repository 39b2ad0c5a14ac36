#include "race_check.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "digest.h"
#include "runtime_stub/include/dlcb.h"

namespace dlcb::sim {
namespace {

constexpr size_t kPage = 256;

const char* host(rt::Ptr p) { return reinterpret_cast<const char*>(p); }

std::vector<Digest> page_digests(const Extent& e) {
  std::vector<Digest> digests;
  for (size_t at = 0; at < e.bytes; at += kPage)
    digests.push_back(Digest().add({host(e.begin) + at, std::min(kPage, e.bytes - at)}));
  return digests;
}

}  // namespace

bool race_check_wanted() {
  const char* value = std::getenv("DLCB_SIM_RACE_CHECK");
  return value && std::string_view(value) == "1";
}

rt::Error race_check(const Memory& memory, std::span<const uint64_t> args, const std::string& kernel,
                     const std::function<rt::Error(bool reversed)>& run) {
  const std::vector<Extent> extents = memory.reachable(args);
  std::vector<std::vector<char>> before;
  for (const Extent& e : extents) before.emplace_back(host(e.begin), host(e.begin) + e.bytes);
  if (rt::Error error = run(false)) return error;

  std::vector<std::vector<Digest>> after;
  for (size_t i = 0; i < extents.size(); ++i) {
    after.push_back(page_digests(extents[i]));
    std::memcpy(reinterpret_cast<void*>(extents[i].begin), before[i].data(), extents[i].bytes);
  }
  if (rt::Error error = run(true)) return error;

  for (size_t i = 0; i < extents.size(); ++i) {
    const std::vector<Digest> again = page_digests(extents[i]);
    const auto differing = std::mismatch(after[i].begin(), after[i].end(), again.begin()).first;
    if (differing == after[i].end()) continue;
    const size_t at = size_t(differing - after[i].begin()) * kPage;
    std::string arg = "?";
    for (size_t a = 0; a < args.size(); ++a)
      if (args[a] >= extents[i].begin && args[a] <= extents[i].begin + at) arg = std::to_string(a);
    return {DLCB_DEVICE_ERROR, "kernel " + kernel +
                                   " gives other results when its threads run in reverse order (argument " + arg +
                                   ", bytes " + std::to_string(at) + " to " + std::to_string(at + kPage) +
                                   " of that memory): a barrier is missing or threads write the same place"};
  }
  return {};
}

}  // namespace dlcb::sim
