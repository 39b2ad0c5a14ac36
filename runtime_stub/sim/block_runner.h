// Runs thread blocks on the calling OS thread: a plain loop over the threads for kernels that never synchronize, one
// fiber a thread for the others. Fibers switch only at barriers and shuffles, in thread order (or descending, to expose
// results that depend on the order). What CUDA leaves undefined and would hang or corrupt here is reported instead.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "abi.h"
#include "context.h"

namespace dlcb::sim {

struct Launch {
  const dlcb_sim_kernel* kernel = nullptr;
  const unsigned long long* args = nullptr;
  dlcb_sim_uint3 grid{}, block{};
  uint32_t shared_bytes = 0;
  bool reversed = false;

  uint64_t blocks() const { return uint64_t(grid.x) * grid.y * grid.z; }
  uint32_t threads() const { return block.x * block.y * block.z; }
};

class BlockRunner {
 public:
  BlockRunner();
  // Runs blocks [begin, end) of the launch, counted x first. Returns false and sets error() at the first fault.
  bool run(const Launch& launch, uint64_t begin, uint64_t end);
  const std::string& error() const { return error_; }

 private:
  enum class Wait : uint8_t { None, Block, Warp, Done };
  struct Fiber {
    Context context;
    dlcb_sim_uint3 thread{};
    unsigned index = 0, generation = 0;  // generation: of the barrier being waited for
    Wait wait = Wait::None;
  };
  struct Warp {
    unsigned live = 0, arrived = 0, generation = 0;
    unsigned long long values[2][32] =
        {};  // by parity of generation: a slow reader's values outlive the next shuffle's writes
  };
  struct Block : dlcb_sim_block {  // what kernels get; leads back here
    BlockRunner* runner;
  };

  bool prepare(const Launch& launch);
  bool run_fibers(const Launch& launch);
  static void fiber_main(void* self);
  static void sync_threads(dlcb_sim_block* block, unsigned line);
  static unsigned long long shuffle(dlcb_sim_block* block, unsigned long long bits, unsigned operand, bool is_xor);
  static void sync_in_loop(dlcb_sim_block* block, unsigned line);
  static unsigned long long shuffle_in_loop(dlcb_sim_block* block, unsigned long long bits, unsigned operand,
                                            bool is_xor);

  void arrive_at_barrier(unsigned line);
  void release_barrier();
  void finish_fiber();
  bool ready(const Fiber& fiber) const;
  void yield(bool finished);
  void fail(std::string message);

  Block block_{};
  const Launch* launch_ = nullptr;
  std::vector<Fiber> fibers_;
  std::vector<Warp> warps_;
  unsigned live_ = 0, arrived_ = 0, generation_ = 0, barrier_line_ = 0;
  Fiber* current_ = nullptr;
  Context main_;
  Stacks stacks_;
  std::vector<unsigned long long> shared_;  // 16-byte aligned by operator new
  std::string error_;
};

}  // namespace dlcb::sim
