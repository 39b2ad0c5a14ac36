#include "block_runner.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace dlcb::sim {
namespace {
constexpr unsigned kWarp = 32;
// Uninitialised shared memory must not look like zeros: NaN as float, half and bfloat16, an absurd index as an integer.
constexpr int kSharedPoison = 0xff;
}  // namespace

BlockRunner::BlockRunner() { block_.runner = this; }

bool BlockRunner::prepare(const Launch& launch) {
  error_.clear();
  launch_ = &launch;
  const unsigned n = launch.threads();
  shared_.resize((launch.shared_bytes + 7) / 8);
  block_.block_dim = launch.block;
  block_.grid_dim = launch.grid;
  block_.shared = shared_.data();
  block_.reversed = launch.reversed;
  block_.sync_threads = launch.kernel->syncs ? &sync_threads : &sync_in_loop;
  block_.shuffle = launch.kernel->syncs ? &shuffle : &shuffle_in_loop;
  if (!launch.kernel->syncs) return true;
  if (fibers_.size() < n) fibers_.resize(n);
  warps_.resize((n + kWarp - 1) / kWarp);
  if (!stacks_.reserve(n)) fail("no memory for the stacks of a block's threads");
  return error_.empty();
}

bool BlockRunner::run(const Launch& launch, uint64_t begin, uint64_t end) {
  if (!prepare(launch)) return false;
  for (uint64_t i = begin; i < end; ++i) {
    const uint64_t b = launch.reversed ? launch.blocks() - 1 - i : i;
    block_.block = {unsigned(b % launch.grid.x), unsigned(b / launch.grid.x % launch.grid.y),
                    unsigned(b / launch.grid.x / launch.grid.y)};
    if (!shared_.empty()) std::memset(shared_.data(), kSharedPoison, shared_.size() * 8);
    if (!launch.kernel->syncs) {
      launch.kernel->run(&block_, launch.args);
      if (!error_.empty()) return false;
    } else if (!run_fibers(launch)) {
      return false;
    }
  }
  return true;
}

bool BlockRunner::run_fibers(const Launch& launch) {
  const unsigned n = launch.threads();
  live_ = n;
  arrived_ = 0;
  for (unsigned w = 0; w < warps_.size(); ++w) {
    warps_[w].live = std::min(kWarp, n - w * kWarp);
    warps_[w].arrived = 0;
  }
  for (unsigned i = 0; i < n; ++i) {
    Fiber& f = fibers_[i];
    f.index = i;
    f.thread = {i % launch.block.x, i / launch.block.x % launch.block.y, i / launch.block.x / launch.block.y};
    f.wait = Wait::None;
    // Equal page offsets would put every fiber's hot words into the same cache sets.
    const size_t stagger = (i & 7) * 192;
    f.context.prepare(stacks_.stack(i), stacks_.stack_bytes() - stagger, &fiber_main, this);
  }
  current_ = &fibers_[launch.reversed ? n - 1 : 0];
  block_.thread = current_->thread;
  main_.switch_to(current_->context);
  return error_.empty();
}

void BlockRunner::fiber_main(void* self) {
  auto* runner = static_cast<BlockRunner*>(self);
  runner->launch_->kernel->run(&runner->block_, runner->launch_->args);
  runner->finish_fiber();
}

// A thread that ends no longer counts for the barriers that others wait at.
void BlockRunner::finish_fiber() {
  current_->wait = Wait::Done;
  Warp& warp = warps_[current_->index / kWarp];
  --live_;
  --warp.live;
  if (live_ && arrived_ == live_) release_barrier();
  if (warp.live && warp.arrived == warp.live) {
    warp.arrived = 0;
    ++warp.generation;
  }
  yield(true);
}

bool BlockRunner::ready(const Fiber& fiber) const {
  switch (fiber.wait) {
    case Wait::None:
      return true;
    case Wait::Block:
      return fiber.generation != generation_;
    case Wait::Warp:
      return fiber.generation != warps_[fiber.index / kWarp].generation;
    case Wait::Done:
      return false;
  }
  return false;
}

// Continues the next runnable fiber; the block's caller when all are done, or when none can go on.
void BlockRunner::yield(bool finished) {
  Fiber& self = *current_;
  Fiber* next = nullptr;
  const unsigned n = launch_->threads();
  if (error_.empty()) {
    const unsigned step = launch_->reversed ? n - 1 : 1;
    unsigned i = self.index;
    for (unsigned tried = 0; tried < n && !next; ++tried) {
      i += step;
      if (i >= n) i -= n;
      if (ready(fibers_[i])) next = &fibers_[i];
    }
    if (!next && live_) fail("deadlock: some threads wait at __syncthreads and others of their warp at a shuffle");
  }
  if (!next) return self.context.switch_to(main_, finished);
  if (next == &self) return;
  current_ = next;
  block_.thread = next->thread;
  self.context.switch_to(next->context, finished);
}

void BlockRunner::release_barrier() {
  arrived_ = 0;
  ++generation_;
}

void BlockRunner::arrive_at_barrier(unsigned line) {
  if (arrived_ == 0) barrier_line_ = line;
  if (barrier_line_ != line) {
    fail("threads of one block wait at different barriers (lines " + std::to_string(barrier_line_) + " and " +
         std::to_string(line) + " of the module)");
    return yield(false);
  }
  current_->wait = Wait::Block;
  current_->generation = generation_;
  if (++arrived_ == live_)
    release_barrier();
  else
    yield(false);
  current_->wait = Wait::None;
}

void BlockRunner::sync_threads(dlcb_sim_block* block, unsigned line) {
  static_cast<Block*>(block)->runner->arrive_at_barrier(line);
}

unsigned long long BlockRunner::shuffle(dlcb_sim_block* block, unsigned long long bits, unsigned operand, bool is_xor) {
  BlockRunner& self = *static_cast<Block*>(block)->runner;
  Fiber& fiber = *self.current_;
  Warp& warp = self.warps_[fiber.index / kWarp];
  const unsigned lane = fiber.index % kWarp;
  auto& values = warp.values[warp.generation & 1];
  values[lane] = bits;
  fiber.wait = Wait::Warp;
  fiber.generation = warp.generation;
  if (++warp.arrived == warp.live) {
    warp.arrived = 0;
    ++warp.generation;
  } else {
    self.yield(false);
  }
  fiber.wait = Wait::None;
  return values[(is_xor ? lane ^ operand : operand) % kWarp];
}

void BlockRunner::sync_in_loop(dlcb_sim_block* block, unsigned line) {
  static_cast<Block*>(block)->runner->fail("a barrier (line " + std::to_string(line) +
                                           " of the module) in a kernel exported as never synchronizing");
}

unsigned long long BlockRunner::shuffle_in_loop(dlcb_sim_block* block, unsigned long long bits, unsigned, bool) {
  static_cast<Block*>(block)->runner->fail("a shuffle in a kernel exported as never synchronizing");
  return bits;
}

void BlockRunner::fail(std::string message) {
  if (error_.empty()) error_ = std::move(message);
}

}  // namespace dlcb::sim
