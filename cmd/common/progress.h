// A line on the terminal that says what a long step is doing. It appears after a second, so quick runs stay silent.
#pragma once
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace dlcb::cmd {

// Shows nothing unless `wanted` and standard error is a terminal. Erases its line when it is done or destroyed.
class Progress {
 public:
  explicit Progress(bool wanted);
  ~Progress() { done(); }
  void stage(std::string_view name);
  void done();

 private:
  void draw_until_done();

  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string stage_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace dlcb::cmd
