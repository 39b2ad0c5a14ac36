// A simulated device over given kernel texts, with typed arrays in its memory.
#pragma once
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "catch.h"
#include "runtime_stub/sim/sim.h"
#include "temp_folder.h"

namespace dlcb::testing {

// One folder for all tests of the process, so that a text is compiled once.
inline const std::string& shared_folder() {
  static const TempFolder folder;
  static const std::string path = folder.path.string();
  return path;
}

struct Entry {
  std::string name;
  uint32_t max_threads;
  std::optional<std::string> params = std::nullopt;
};

inline rt::Error open_texts(std::vector<std::string> texts, std::vector<Entry> entries, const std::string& folder,
                            std::shared_ptr<rt::Device>* out) {
  rt::DeviceConfig config;
  config.sim_cache_dir = folder;
  config.modules = uint32_t(texts.size());
  config.module_image = [&](uint32_t m, std::string_view) {
    return std::span(reinterpret_cast<const uint8_t*>(texts[m].data()), texts[m].size());
  };
  for (auto& e : entries) config.entries.push_back({e.name, 0, e.max_threads, false, e.params});
  rt::Error error;
  dlcb_sim_open(&config, out, &error);
  return error;
}

inline std::shared_ptr<rt::Device> open_sim(const std::string& text, std::vector<Entry> entries) {
  std::shared_ptr<rt::Device> device;
  const rt::Error error = open_texts({text}, std::move(entries), shared_folder(), &device);
  INFO(error.message);
  REQUIRE(!error);
  return device;
}

template <class T>
class Array {
 public:
  Array(std::shared_ptr<rt::Device> device, const std::vector<T>& values)
      : device_(std::move(device)), count_(values.size()) {
    REQUIRE(!device_->allocate(count_ * sizeof(T), &p_, nullptr));
    REQUIRE(!device_->upload(p_, values.data(), count_ * sizeof(T), nullptr));
  }
  ~Array() { device_->free(p_, nullptr); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  operator rt::Ptr() const { return p_; }
  std::vector<T> read() const {
    std::vector<T> out(count_);
    REQUIRE(!device_->download(out.data(), p_, count_ * sizeof(T), nullptr));
    return out;
  }

 private:
  std::shared_ptr<rt::Device> device_;
  rt::Ptr p_ = 0;
  size_t count_;
};

inline rt::LaunchCall launch(uint32_t entry, std::vector<uint32_t> grid, std::vector<uint32_t> block, uint32_t shared,
                             std::vector<uint64_t> args) {
  return {entry, {grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, shared, std::move(args)};
}

// Sets a variable of the environment for a scope.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    setenv(name, value, 1);
  }
  ~Variable() { old_ ? setenv(name_, old_->c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

}  // namespace dlcb::testing
