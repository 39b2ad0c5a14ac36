// A small thread redraws the line, because the compiler reports only the beginnings of stages; see progress.h.
#include "cmd/common/progress.h"

#include <unistd.h>

#include <cstdio>

namespace dlcb::cmd {

Progress::Progress(bool wanted) {
  if (wanted && ::isatty(STDERR_FILENO)) thread_ = std::thread([this] { draw_until_done(); });
}

void Progress::stage(std::string_view name) {
  std::lock_guard lock(mutex_);
  stage_ = name;
}

void Progress::draw_until_done() {
  using namespace std::chrono_literals;
  std::unique_lock lock(mutex_);
  auto next = start_ + 1s;
  bool drawn = false;
  while (!changed_.wait_until(lock, next, [this] { return done_; })) {
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    std::fprintf(stderr, "\r\x1b[K[%.1f s] %s", seconds, stage_.c_str());
    drawn = true;
    next += 100ms;
  }
  if (drawn) std::fprintf(stderr, "\r\x1b[K");
}

void Progress::done() {
  {
    std::lock_guard lock(mutex_);
    done_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

}  // namespace dlcb::cmd
