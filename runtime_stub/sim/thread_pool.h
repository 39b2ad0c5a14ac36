// A few OS threads shared by every simulated device of the process, which split loops over thread blocks.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace dlcb::sim {

class ThreadPool {
 public:
  // One thread per hardware thread, the caller's included; DLCB_SIM_THREADS overrides the number.
  static ThreadPool& shared();
  explicit ThreadPool(unsigned threads);
  ~ThreadPool();

  // Calls body(begin, end) over disjoint ranges that cover [0, count), on several threads, and waits. When the pool is
  // busy with another caller's loop the whole range runs on the calling thread. The body must not throw.
  void parallel_for(uint64_t count, const std::function<void(uint64_t, uint64_t)>& body);

 private:
  void work();
  void take_ranges();

  std::vector<std::thread> threads_;
  std::mutex owner_;  // held for the length of one loop
  std::mutex mutex_;
  std::condition_variable wake_, idle_;
  const std::function<void(uint64_t, uint64_t)>* body_ = nullptr;
  std::atomic<uint64_t> next_{0};
  uint64_t count_ = 0, chunk_ = 1, loop_ = 0;
  unsigned active_ = 0;
  bool stop_ = false;
};

}  // namespace dlcb::sim
