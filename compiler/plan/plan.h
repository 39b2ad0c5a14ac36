// Steps to the program that the stub runs: host program, guards, buffers with lifetimes, launches and library calls in
// order. The result is the FlatBuffers object form of bundle_format/program.fbs plus the weights that its buffers refer
// to.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "bundle_format/program_generated.h"
#include "cuda/modules.h"
#include "fuse/region.h"
#include "graph/graph.h"
#include "kernel/region.h"
#include "shape/guards.h"

namespace dlcb::plan {

// One step and, when it is a region, its generated kernel.
struct PlannedStep {
  fuse::Step step;
  std::optional<kernel::Kernel> kernel;
  std::optional<kernel::Kernel> stand_in;  // of a library call that may be refused: computes the same
};

// Elements of a constant as they are stored in weights.bin: permuted from row-major to `order` where that is not empty.
struct Weight {
  graph::Constant constant;
  DType dtype;
  std::vector<int64_t> dims;
  std::vector<uint8_t> order;
  uint64_t offset = 0;  // multiple of 256
};

struct PlanInput {
  const graph::Graph* graph;
  std::span<const PlannedStep> steps;
  std::span<const shape::Guard> guards;
  const cuda::ModuleLayout* modules;  // entries are numbered as they stand in it
  std::span<const cuda::Target> targets;
  std::span<const kernel::Function> functions;  // for what cubins do not say (barriers)
  bool tf32_matmul = false;
};

struct Plan {
  std::unique_ptr<fb::ProgramT> program;
  std::vector<Weight> weights;  // in offset order
  uint64_t weight_bytes = 0;
};

// Needs no compiled code: kernels may compile while the weights of the plan are already being written.
Result<Plan> make_plan(const PlanInput& input);
// What compilation found out about each entry (registers, instructions ...).
void set_entry_facts(fb::ProgramT& program, std::span<const cuda::EntryFacts> facts);

}  // namespace dlcb::plan
