#include "thread_pool.h"

#include <algorithm>
#include <cstdlib>

namespace dlcb::sim {

ThreadPool& ThreadPool::shared() {
  static ThreadPool pool([] {
    const char* wanted = std::getenv("DLCB_SIM_THREADS");
    const int n = wanted ? std::atoi(wanted) : int(std::thread::hardware_concurrency());
    return unsigned(std::clamp(n, 1, 256));
  }());
  return pool;
}

ThreadPool::ThreadPool(unsigned threads) {
  for (unsigned i = 1; i < threads; ++i) {
    try {
      threads_.emplace_back([this] { work(); });
    } catch (...) {  // no more threads: work with those there are
      break;
    }
  }
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (auto& t : threads_) t.join();
}

void ThreadPool::parallel_for(uint64_t count, const std::function<void(uint64_t, uint64_t)>& body) {
  std::unique_lock owner(owner_, std::try_to_lock);
  if (!owner.owns_lock() || threads_.empty() || count < 2) return body(0, count);
  {
    std::lock_guard lock(mutex_);
    body_ = &body;
    count_ = count;
    chunk_ = std::max<uint64_t>(1, count / ((threads_.size() + 1) * 8));
    next_ = 0;
    active_ = unsigned(threads_.size());
    ++loop_;
  }
  wake_.notify_all();
  take_ranges();
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return active_ == 0; });
}

void ThreadPool::take_ranges() {
  for (;;) {
    const uint64_t begin = next_.fetch_add(chunk_);
    if (begin >= count_) return;
    (*body_)(begin, std::min(count_, begin + chunk_));
  }
}

void ThreadPool::work() {
  uint64_t seen = 0;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stop_ || loop_ != seen; });
      if (stop_) return;
      seen = loop_;
    }
    take_ranges();
    std::lock_guard lock(mutex_);
    if (--active_ == 0) idle_.notify_one();
  }
}

}  // namespace dlcb::sim
