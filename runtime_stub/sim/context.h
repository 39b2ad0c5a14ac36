// Switching between stacks of one OS thread: what the fibers of a thread block are made of. x86-64 saves the six
// callee-saved registers by hand (ucontext's system call would cost ten times the switch); other hosts use ucontext.
#pragma once
#include <cstddef>
#include <memory>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace dlcb::sim {

class Context {
 public:
  // A context that runs entry(argument) on the given stack when first switched to. entry must end in a switch, not
  // return.
  void prepare(void* stack, size_t bytes, void (*entry)(void*), void* argument);
  // Suspends the running code into *this and continues `to`. `finished`: *this will never be continued.
  void switch_to(Context& to, bool finished = false);

 private:
  friend void context_started(Context* self);
#if defined(__x86_64__)
  void* stack_pointer_ = nullptr;
#else
  ucontext_t context_;
#endif
  void (*entry_)(void*) = nullptr;
  void* argument_ = nullptr;
  // For AddressSanitizer, which must know the stack in use. Unset for the OS thread's own stack until it is first left.
  void* stack_ = nullptr;
  size_t stack_bytes_ = 0;
};

// One OS thread's fiber stacks with a guard page below each. Memory is committed as it is touched.
class Stacks {
 public:
  Stacks() = default;
  ~Stacks();
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;
  // Grows to `count` stacks; false when out of memory. Earlier stacks may move: none may be in use.
  bool reserve(size_t count);
  void* stack(size_t index) const;
  size_t stack_bytes() const;

 private:
  char* memory_ = nullptr;
  size_t count_ = 0;
};

}  // namespace dlcb::sim
