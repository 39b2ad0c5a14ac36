#include "context.h"

#include <sys/mman.h>

#include <cstdint>

// Present when the process runs under AddressSanitizer, instrumented or not ourselves.
extern "C" {
__attribute__((weak)) void __sanitizer_start_switch_fiber(void** fake_stack, const void* bottom, size_t size);
__attribute__((weak)) void __sanitizer_finish_switch_fiber(void* fake_stack, const void** old_bottom, size_t* old_size);
__attribute__((weak)) void __asan_unpoison_memory_region(const volatile void* address, size_t size);
}

namespace dlcb::sim {
namespace {

thread_local Context* g_previous = nullptr;  // who switched last, so that the resumed side can learn its stack bounds
constexpr size_t kPage = 4096;
constexpr size_t kPlainStack = 64 << 10;
constexpr size_t kSanitizedStack = 1 << 20;  // instrumented frames are larger, and so is what reports a fault

bool sanitized() { return __sanitizer_start_switch_fiber != nullptr; }
size_t stride() { return (sanitized() ? kSanitizedStack : kPlainStack) + kPage; }

}  // namespace

#if defined(__x86_64__)
extern "C" void dlcb_sim_switch(void** save, void* to);
asm(R"(
.text
.p2align 4
.hidden dlcb_sim_switch
.type dlcb_sim_switch, @function
dlcb_sim_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size dlcb_sim_switch, .-dlcb_sim_switch
)");
#endif

void context_started(Context* self) {
  if (sanitized()) {
    const void* bottom = nullptr;
    size_t size = 0;
    __sanitizer_finish_switch_fiber(nullptr, &bottom, &size);
    if (!g_previous->stack_) {  // the OS thread's own stack
      g_previous->stack_ = const_cast<void*>(bottom);
      g_previous->stack_bytes_ = size;
    }
  }
  self->entry_(self->argument_);
  __builtin_trap();
}

namespace {
#if defined(__x86_64__)
thread_local Context* g_starting = nullptr;
void start() { context_started(g_starting); }
#else
void start(unsigned high, unsigned low) { context_started(reinterpret_cast<Context*>(uintptr_t(high) << 32 | low)); }
#endif
}  // namespace

void Context::prepare(void* stack, size_t bytes, void (*entry)(void*), void* argument) {
  entry_ = entry;
  argument_ = argument;
  stack_ = stack;
  stack_bytes_ = bytes;
  // A fiber never returns from its last frames, so their red zones are still marked.
  if (__asan_unpoison_memory_region) __asan_unpoison_memory_region(stack, bytes);
#if defined(__x86_64__)
  // As if start() had been called from nowhere (a null return address, 8 bytes below a multiple of 16 as the ABI has it),
  // then what dlcb_sim_switch pops.
  auto* top = reinterpret_cast<void**>(static_cast<char*>(stack) + bytes);
  *--top = nullptr;
  *--top = reinterpret_cast<void*>(&start);
  for (int i = 0; i < 6; ++i) *--top = nullptr;
  stack_pointer_ = top;
#else
  getcontext(&context_);
  context_.uc_stack.ss_sp = stack;
  context_.uc_stack.ss_size = bytes;
  context_.uc_link = nullptr;
  const auto self = reinterpret_cast<uintptr_t>(this);
  makecontext(&context_, reinterpret_cast<void (*)()>(&start), 2, unsigned(uint64_t(self) >> 32), unsigned(self));
#endif
}

void Context::switch_to(Context& to, bool finished) {
  void* fake_stack = nullptr;
  if (sanitized()) __sanitizer_start_switch_fiber(finished ? nullptr : &fake_stack, to.stack_, to.stack_bytes_);
  g_previous = this;
#if defined(__x86_64__)
  g_starting = &to;  // read only when `to` runs for the first time
  dlcb_sim_switch(&stack_pointer_, to.stack_pointer_);
#else
  swapcontext(&context_, &to.context_);
#endif
  if (sanitized()) __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
}

Stacks::~Stacks() {
  if (memory_) munmap(memory_, count_ * stride());
}

bool Stacks::reserve(size_t count) {
  if (count <= count_) return true;
  if (memory_) munmap(memory_, count_ * stride());
  memory_ = nullptr;
  count_ = 0;
  void* p = mmap(nullptr, count * stride(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return false;
  memory_ = static_cast<char*>(p);
  count_ = count;
  for (size_t i = 0; i < count; ++i) mprotect(memory_ + i * stride(), kPage, PROT_NONE);
  return true;
}

void* Stacks::stack(size_t index) const { return memory_ + index * stride() + kPage; }
size_t Stacks::stack_bytes() const { return stride() - kPage; }

}  // namespace dlcb::sim
