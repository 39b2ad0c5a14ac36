#include "passes.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "emit/emit.h"
#include "fuse/fuse.h"
#include "fuse/print.h"
#include "fuse/stand_in.h"
#include "graph/contradiction.h"
#include "graph/expand.h"
#include "import/declared_input.h"
#include "import/import.h"
#include "library/claim.h"
#include "library/residual.h"
#include "rewrite/batch_norm.h"
#include "rewrite/fold.h"
#include "rewrite/layout.h"
#include "rewrite/patterns.h"
#include "rewrite/simplify.h"
#include "rewrite/wide_concat.h"
#include "shape/solve.h"

namespace dlcb {
namespace {

std::string tensor_text(const graph::Graph& g, ops::ValueId v, const std::string& name) {
  return name + ": " + graph::type_text(g.sym(), g.value(v).dtype, g.value(v).dims);
}

// All size limits of kernels as one guard: they say the same thing of many tensors and loops.
void add_size_limit(PipelineState& s) {
  std::set<sym::Expr> limits;
  for (const plan::PlannedStep& step : s.planned) {
    for (const auto* kernel : {&step.kernel, &step.stand_in}) {
      if (*kernel) limits.insert((*kernel)->limits.begin(), (*kernel)->limits.end());
    }
  }
  sym::Expr all = s.sym.constant(1);
  for (sym::Expr e : limits) {
    if (!s.graph->facts().proves(e)) all = s.sym.logical_and(all, e);
  }
  if (s.sym.is_const(all, 1)) return;
  shape::Guard guard;
  guard.kind = shape::GuardKind::SizeLimit;
  guard.condition = all;
  guard.text = "every tensor and every kernel's loop has fewer than 2^31 - 2^16 elements";
  guard.why = "kernels index with 32 bits";
  s.guards.push_back(std::move(guard));
}

}  // namespace

Result<std::string> digest_of_file(const std::string& path) {
  DLCB_ASSIGN(const MappedFile file, MappedFile::open(path));
  return hex(hash_bytes(file.data(), file.size()));
}

Status import_pass(PipelineState& s) {
  DLCB_ASSIGN(const std::vector<DeclaredInput> declared, parse_declared_inputs(s.options.inputs));
  DLCB_ASSIGN(graph::Graph g, import_model(s.options.model_path, declared, s.sym, s.scalars));
  s.graph.emplace(std::move(g));
  for (uint32_t n = 0; n < s.graph->node_count(); ++n) s.summary.nodes += s.graph->node({n}).op != nullptr;
  return ok();
}

Status solve_pass(PipelineState& s) {
  shape::SolveOptions options;
  DLCB_ASSIGN(const std::vector<DeclaredInput> declared, parse_declared_inputs(s.options.inputs));
  for (const DeclaredInput& input : declared) {
    for (const DeclaredDim& dim : input.dims) {
      if (!dim.name.empty()) options.dynamic.push_back(dim.name);
    }
  }
  DLCB_ASSIGN(shape::SolveReport report, shape::solve(*s.graph, options));
  for (const Note& note : report.notes) s.summary.notes.push_back(note.text);
  return describe_interface(s);
}

Status describe_interface(PipelineState& s) {
  DLCB_ASSIGN(s.guards, shape::guards(*s.graph));
  for (const shape::Guard& g : s.guards) s.summary.guards.push_back(g.text);
  const graph::Graph& g = *s.graph;
  for (ops::ValueId v : g.inputs) s.summary.inputs.push_back(tensor_text(g, v, g.value(v).name));
  for (size_t i = 0; i < g.outputs.size(); ++i)
    s.summary.outputs.push_back(tensor_text(g, g.outputs[i], g.output_names[i]));
  return ok();
}

Status simplify_pass(PipelineState& s) { return rewrite::simplify(*s.graph); }
Status fold_pass(PipelineState& s) { return rewrite::fold_constants(*s.graph); }
Status patterns_pass(PipelineState& s) { return rewrite::recognise_patterns(*s.graph); }
Status channel_scales_pass(PipelineState& s) { return rewrite::fold_channel_scales(*s.graph); }

Status expand_pass(PipelineState& s) {
  graph::Graph& g = *s.graph;
  for (uint32_t n = 0; n < g.node_count(); ++n) {  // expansions may hold further operators to expand: they come later
    if (g.node({n}).op && g.node({n}).op->kind == ops::OpKind::Expands) DLCB_TRY(graph::expand_node(g, {n}));
  }
  DLCB_TRY(rewrite::split_wide_concats(g));
  g.sort_topologically();
  return ok();
}

Status layout_pass(PipelineState& s) { return rewrite::assign_layouts(*s.graph); }

Status fuse_pass(PipelineState& s) {
  std::vector<fuse::Claim> claims = library::claim_library_calls(*s.graph);
  s.summary.library_calls = static_cast<int>(claims.size());
  const sym::Facts& facts = s.graph->facts();
  const auto classify = [&](const fuse::Region& r) { return kernel::classify(s.scalars, facts, r); };
  DLCB_ASSIGN(s.steps, fuse::fuse(*s.graph, claims, classify));
  if (library::take_residuals(*s.graph, s.steps, claims)) {
    DLCB_ASSIGN(s.steps, fuse::fuse(*s.graph, claims, classify));
  }
  return ok();
}

namespace {

Status add_stand_in(const PipelineState& s, const fuse::Claim& claim, plan::PlannedStep& step,
                    std::map<std::string, kernel::Function>& functions) {
  const fuse::Region region = fuse::stand_in(*s.graph, claim);
  ops::ScalarStore& scalars = s.graph->scalars();
  // A step has one launch beside its library call.
  DLCB_ASSIGN(step.stand_in, kernel::generate(scalars, s.graph->facts(), region, {.split_from = 0}));
  for (const kernel::Function& f : step.stand_in->functions) functions.emplace(f.name, f);
  return ok();
}

}  // namespace

Status generate_pass(PipelineState& s) {
  std::map<std::string, kernel::Function> unique;
  kernel::GenerateOptions options;
  if (s.options.split_from >= 0) options.split_from = s.options.split_from;
  for (fuse::Step& step : s.steps) {
    plan::PlannedStep planned{std::move(step), std::nullopt, std::nullopt};
    const auto* claim = std::get_if<fuse::Claim>(&planned.step.action);
    if (claim && (s.options.stand_ins || library::may_be_refused(*claim)))
      DLCB_TRY(add_stand_in(s, *claim, planned, unique));
    if (const auto* region = std::get_if<fuse::Region>(&planned.step.action)) {
      DLCB_ASSIGN(kernel::Kernel k, kernel::generate(s.scalars, s.graph->facts(), *region, options));
      for (const kernel::Function& f : k.functions) unique.emplace(f.name, f);
      planned.kernel = std::move(k);
      ++s.summary.kernels;
    }
    s.planned.push_back(std::move(planned));
  }
  s.steps.clear();
  for (auto& [name, function] : unique) s.functions.push_back(std::move(function));
  s.summary.entry_points = static_cast<int>(s.functions.size());
  add_size_limit(s);
  return ok();
}

Status plan_pass(PipelineState& s) {
  std::vector<cuda::KernelText> texts;
  for (const kernel::Function& f : s.functions)
    texts.push_back({f.name, f.text, f.syncs || s.options.full_effort ? cuda::Effort::High : cuda::Effort::Low});
  s.layout = cuda::arrange_modules(texts);
  DLCB_ASSIGN(s.plan, plan::make_plan(
                          {&*s.graph, s.planned, s.guards, &s.layout, s.targets, s.functions, s.options.tf32_matmul}));
  s.summary.modules = static_cast<int>(s.layout.modules.size());
  s.summary.weight_bytes = s.plan.weight_bytes;
  return ok();
}

Status identify_model(PipelineState& s) {
  if (!s.graph->digest.empty()) return ok();
  DLCB_ASSIGN(s.graph->digest, s.model_digest.valid() ? s.model_digest.get() : digest_of_file(s.options.model_path));
  return ok();
}

Status store_weights_pass(PipelineState& s) {
  if (s.options.output_path.empty() || !s.options.stop_after.empty()) return ok();
  DLCB_TRY(identify_model(s));
  emit::EmitInput in;
  in.plan = &s.plan;
  in.layout = &s.layout;
  in.targets = s.targets;
  in.model_digest = s.graph->digest;
  in.producer = std::string("dlcb ") + DLCB_VERSION;
  in.strip_sources = s.options.strip_sources;
  DLCB_ASSIGN(s.bundle, emit::BundleFile::begin(in, s.options.output_path));
  return ok();
}

Status compile_pass(PipelineState& s) {
  const cuda::Cache cache(!s.options.use_cache          ? ""
                          : s.options.cache_dir.empty() ? cuda::default_cache_folder()
                                                        : s.options.cache_dir + "/cubins");
  DLCB_ASSIGN(s.modules, cuda::compile_modules(s.layout, {s.targets, s.options.threads, &cache}));
  plan::set_entry_facts(*s.plan.program, s.modules.entries);
  s.summary.cached_modules = s.modules.cached;
  // A default folder that is not there to be written is nobody's wish; one that was named is.
  if (s.modules.unkept > 0)
    (s.options.cache_dir.empty() ? s.summary.notes : s.summary.warnings)
        .push_back("compiled kernels cannot be kept in " + quote(cache.folder()));
  return ok();
}

Status emit_pass(PipelineState& s) {
  if (!s.bundle) return ok();
  DLCB_ASSIGN(const emit::EmitResult result, s.bundle->finish(s.modules));
  s.summary.bundle_bytes = result.bundle_bytes;
  s.summary.code_bytes = result.code_bytes;
  return ok();
}

std::string form_text(const PipelineState& s, Form form) {
  if (form == Form::Graph) return s.graph ? graph::print(*s.graph) : "";
  if (form == Form::Steps) return fuse::print(*s.graph, s.steps);
  if (form == Form::Kernels) {
    std::string text;
    for (const kernel::Function& f : s.functions) text += "// " + f.name + "\n" + f.text + "\n";
    return text;
  }
  return s.plan.program ? "steps: " + std::to_string(s.plan.program->steps.size()) +
                              ", host instructions: " + std::to_string(s.plan.program->host->code.size()) + "\n"
                        : "";
}

}  // namespace dlcb
