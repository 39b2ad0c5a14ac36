// The state that passes hand on, and the passes of pipeline.def as functions of it.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cuda/modules.h"
#include "fuse/region.h"
#include "graph/graph.h"
#include "kernel/region.h"
#include "pipeline.h"
#include "plan/plan.h"
#include "shape/guards.h"

namespace dlcb {

enum class Form : uint8_t { Graph, Steps, Kernels, Program };

struct PipelineState {
  explicit PipelineState(const CompileOptions& o) : options(o), scalars(sym) {}

  const CompileOptions& options;
  sym::Store sym;
  ops::ScalarStore scalars;
  std::vector<cuda::Target> targets;
  std::optional<graph::Graph> graph;
  std::vector<fuse::Step> steps;
  std::vector<plan::PlannedStep> planned;
  std::vector<shape::Guard> guards;
  std::vector<kernel::Function> functions;  // unique by name, sorted
  cuda::Modules modules;
  plan::Plan plan;
  CompileSummary summary;
};

#define PASS(name, function, form, stage, holds) Status function(PipelineState& state);
#include "pipeline.def"
#undef PASS

// The current form as text.
std::string form_text(const PipelineState& state, Form form);

}  // namespace dlcb
