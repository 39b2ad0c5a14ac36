// Plays the host program: evaluates a variant for given sizes and launches it on the simulator.
#pragma once
#include "cases.h"
#include "evaluate.h"
#include "runtime_stub/src/device.h"

namespace dlcb::testing {

struct Compiled {
  std::unique_ptr<Case> test;
  kernel::Kernel kernel;
};

// Every case with its kernels.
std::vector<Compiled> compile_cases(const kernel::GenerateOptions& options = {});

// A simulated device that holds all kernels; `entry` indices follow `names`.
struct Machine {
  std::shared_ptr<rt::Device> device;
  std::map<std::string, uint32_t> entries;
};
Machine open_machine(std::span<const Compiled> cases);

std::vector<uint8_t> to_bytes(DType t, const Elements& elements);
Elements from_bytes(DType t, const std::vector<uint8_t>& bytes);

// Runs one variant of the kernel on env's tensors, and the launch that combines parts where it is taken; the outputs'
// elements.
std::vector<Elements> launch(const Machine& machine, Env& env, const kernel::Kernel& kernel,
                             const kernel::Variant& variant);

}  // namespace dlcb::testing
