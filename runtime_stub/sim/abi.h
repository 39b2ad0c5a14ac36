// What a host-compiled kernel module and the simulator know of each other. Compiled into libdlcb_sim and, as text, put
// in front of every module, so it includes nothing.
#ifndef DLCB_SIM_ABI_H_
#define DLCB_SIM_ABI_H_

struct dlcb_sim_uint3 {
  unsigned x, y, z;
};

// The block an OS thread is executing, as its kernel sees it. Fibers of one block share it; `thread` is the running
// fiber's.
struct dlcb_sim_block {
  dlcb_sim_uint3 thread, block, block_dim, grid_dim;
  void* shared;   // dynamic shared memory
  bool reversed;  // run threads in descending order
  // Both suspend the calling fiber. `line` names the barrier in messages.
  void (*sync_threads)(dlcb_sim_block*, unsigned line);
  unsigned long long (*shuffle)(dlcb_sim_block*, unsigned long long bits, unsigned operand, bool is_xor);
};

// Runs the whole current block (kernels that never synchronize) or only block->thread of it.
// Every module exports `const dlcb_sim_kernel dlcb_sim_kernel_NAME` for each of its entry points.
struct dlcb_sim_kernel {
  void (*run)(dlcb_sim_block* block, const unsigned long long* args);
  bool syncs;
  const char* params;  // for each parameter 'p' (a pointer) or its size in bytes as a digit
};

#endif  // DLCB_SIM_ABI_H_
