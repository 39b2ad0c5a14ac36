// The state that passes hand on, and the passes of pipeline.def as functions of it.
#pragma once
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cuda/modules.h"
#include "emit/emit.h"
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
  cuda::ModuleLayout layout;
  plan::Plan plan;
  std::future<Result<std::string>> model_digest;  // computed while the model is compiled
  std::unique_ptr<emit::BundleFile> bundle;       // its weights are written while kernels compile
  cuda::Modules modules;
  CompileSummary summary;
};

#define PASS(name, function, form, stage, holds) Status function(PipelineState& state);
#include "pipeline.def"
#undef PASS

// What a bundle says of the model it was compiled from: a hash of the file. CannotOpen.
Result<std::string> digest_of_file(const std::string& path);

// What callers pass and get and what is checked, from the graph with its constraints solved.
Status describe_interface(PipelineState& state);
// Makes sure that the graph knows the digest of the model it comes from.
Status identify_model(PipelineState& state);
// The current form as text.
std::string form_text(const PipelineState& state, Form form);

}  // namespace dlcb
