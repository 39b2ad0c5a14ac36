// A device for tests of the stub's core: memory is host memory that the core must not touch itself (it is staged as if
// it were far away), launches run a C++ function for each kernel entry, and everything is written to a log.
#pragma once
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "dlcb.h"
#include "runtime_stub/src/device.h"

namespace dlcb::test {

// Shared by the forks of a device.
struct FakeState {
  std::vector<std::function<void(const rt::LaunchCall&)>> kernels;  // by entry
  std::function<rt::Error(const rt::MatmulCall&)> on_matmul;
  std::function<rt::Error(const rt::ConvCall&)> on_conv;
  std::vector<std::string> log;
  bool host_memory = false, graphs = false, capture_fails = false, can_fork = true;
  uint64_t allocated = 0, peak = 0, limit = UINT64_MAX;
  std::map<rt::Ptr, size_t> blocks;
  std::set<uint64_t> live_graphs;
  int captures = 0, replays = 0, launches = 0;
  std::mutex mutex;
};

class FakeDevice : public rt::Device {
 public:
  explicit FakeDevice(std::shared_ptr<FakeState> state) : s_(std::move(state)) {}

  std::string name() const override { return "the test device"; }
  bool is_host_memory() const override { return s_->host_memory; }
  rt::Error fork(std::shared_ptr<rt::Device>* out) override {
    if (!s_->can_fork) return {DLCB_INTERNAL, "no"};
    *out = std::make_shared<FakeDevice>(s_);
    return {};
  }

  rt::Error allocate(size_t bytes, rt::Ptr* out, void*) override {
    const std::lock_guard lock(s_->mutex);
    if (s_->allocated + bytes > s_->limit) return {DLCB_OUT_OF_MEMORY, "full"};
    *out = reinterpret_cast<rt::Ptr>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
    s_->blocks[*out] = bytes;
    s_->allocated += bytes;
    s_->peak = std::max(s_->peak, s_->allocated);
    return {};
  }
  void free(rt::Ptr p, void*) override {
    const std::lock_guard lock(s_->mutex);
    s_->allocated -= s_->blocks.at(p);
    s_->blocks.erase(p);
    std::free(reinterpret_cast<void*>(p));
  }
  rt::Error upload(rt::Ptr to, const void* from, size_t bytes, void*) override {
    return move(to, reinterpret_cast<rt::Ptr>(from), bytes, "upload");
  }
  rt::Error download(void* to, rt::Ptr from, size_t bytes, void*) override {
    return move(reinterpret_cast<rt::Ptr>(to), from, bytes, "download");
  }
  rt::Error copy(rt::Ptr to, rt::Ptr from, size_t bytes, void*) override {
    return record([=, this] { return move(to, from, bytes, "copy"); });
  }
  rt::Error synchronize(void*) override {
    note("synchronize");
    return {};
  }

  rt::Error launch(const rt::LaunchCall& call, void*) override {
    return record([this, call]() -> rt::Error {
      note("launch " + std::to_string(call.entry));
      const std::lock_guard lock(s_->mutex);
      ++s_->launches;
      if (call.entry < s_->kernels.size()) s_->kernels[call.entry](call);
      return {};
    });
  }
  rt::Error matmul(const rt::MatmulCall& call, void*) override {
    if (!s_->on_matmul) return {DLCB_MISSING_LIBRARY, "no matmul here"};
    return record([this, call] { return s_->on_matmul(call); });
  }
  rt::Error conv(const rt::ConvCall& call, void*) override {
    if (!s_->on_conv) return {DLCB_NO_TARGET, "no convolution here"};
    return record([this, call] { return s_->on_conv(call); });
  }

  bool supports_graphs() const override { return s_->graphs; }
  rt::Error begin_capture(void*) override {
    if (s_->capture_fails) return {DLCB_DEVICE_ERROR, "cannot capture"};
    capturing_ = true;
    return {};
  }
  rt::Error end_capture(void*, void** graph) override {
    capturing_ = false;
    *graph = new Graph(std::move(recorded_));
    recorded_.clear();
    s_->live_graphs.insert(reinterpret_cast<uint64_t>(*graph));
    ++s_->captures;
    return {};
  }
  rt::Error replay(void* graph, void*) override {
    ++s_->replays;
    for (const auto& call : *static_cast<Graph*>(graph))
      if (rt::Error error = call()) return error;
    return {};
  }
  void free_graph(void* graph) override {
    s_->live_graphs.erase(reinterpret_cast<uint64_t>(graph));
    delete static_cast<Graph*>(graph);
  }

 private:
  using Graph = std::vector<std::function<rt::Error()>>;

  void note(const std::string& line) {
    const std::lock_guard lock(s_->mutex);
    s_->log.push_back(line);
  }
  rt::Error move(rt::Ptr to, rt::Ptr from, size_t bytes, const char* what) {
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
    note(std::string(what) + " " + std::to_string(bytes));
    return {};
  }
  rt::Error record(std::function<rt::Error()> call) {
    if (!capturing_) return call();
    recorded_.push_back(std::move(call));
    return {};
  }

  std::shared_ptr<FakeState> s_;
  bool capturing_ = false;
  Graph recorded_;
};

}  // namespace dlcb::test
