#include "pipeline.h"

#include <algorithm>
#include <chrono>

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "dump.h"
#include "passes.h"
#include "rewrite_log.h"

namespace dlcb {
namespace {

using Clock = std::chrono::steady_clock;

struct Pass {
  std::string_view name;
  Status (*function)(PipelineState&);
  Form form;
  std::string_view stage, holds;
};

constexpr Pass kPasses[] = {
#define PASS(name, function, form, stage, holds) {#name, function, Form::form, stage, holds},
#include "pipeline.def"
#undef PASS
};

const Pass* find_pass(std::string_view name) {
  const auto it = std::find_if(std::begin(kPasses), std::end(kPasses), [&](const Pass& p) { return p.name == name; });
  return it == std::end(kPasses) ? nullptr : it;
}

// Whether the form that the pass begins with has a text that can be read back.
bool reads_graph(const Pass* pass) { return pass != kPasses && (pass - 1)->form == Form::Graph; }

Status check_pass_name(const std::string& name) {
  if (name.empty() || find_pass(name)) return ok();
  std::vector<std::string> names;
  for (const Pass& p : kPasses) names.emplace_back(p.name);
  return diag(DiagKind::BadFlag, {unknown("pass", name, names)});
}

Status check_options(PipelineState& s) {
  const CompileOptions& o = s.options;
  DLCB_TRY(check_pass_name(o.stop_after));
  DLCB_TRY(check_pass_name(o.start_at));
  for (const std::string& name : o.print_after) DLCB_TRY(check_pass_name(name));
  if (!o.start_at.empty() && !reads_graph(find_pass(o.start_at))) {
    return diag(DiagKind::BadFlag, {"--start-at takes a pass that reads the graph: from solve_shapes to fuse"});
  }
  if (!o.stop_after.empty() && !o.start_at.empty() && find_pass(o.stop_after) < find_pass(o.start_at)) {
    return diag(DiagKind::BadFlag, {"--stop-after names a pass before that of --start-at"});
  }
  if (o.stop_after.empty() && !o.output_path.empty()) {
    DLCB_TRY(AtomicFile::create(o.output_path));  // a path that cannot be written is found before any work
  }
  for (const std::string& t : o.targets) {
    DLCB_ASSIGN(const cuda::Target target, cuda::parse_target(t));
    std::vector<std::string>& names = s.summary.targets;
    if (std::find(names.begin(), names.end(), target.name()) != names.end()) {
      return diag(DiagKind::BadFlag, {"--target names " + target.name() + " twice"});
    }
    s.targets.push_back(target);
    names.push_back(target.name());
  }
  if (s.targets.empty()) {
    s.targets.push_back({9, 0, false});
    s.summary.targets.push_back("sm_90");
  }
  return ok();
}

void add_time(CompileSummary& summary, std::string_view stage, double seconds) {
  if (summary.stages.empty() || summary.stages.back().name != stage) summary.stages.push_back({std::string(stage), 0});
  summary.stages.back().seconds += seconds;
}

// What looks on while the passes run.
struct Observers {
  explicit Observers(const CompileOptions& o) : rewrites(o.on_rewrite), dump(o.dump_dir, "weights.bin") {}
  RewriteLog rewrites;
  Dump dump;
  std::string printed;  // the last form that was printed
};

Status print_form(PipelineState& s, const Pass& pass, Observers& observers) {
  const CompileOptions& o = s.options;
  const bool wanted =
      o.print_after_all || std::find(o.print_after.begin(), o.print_after.end(), pass.name) != o.print_after.end();
  if (wanted && o.on_print) {
    std::string text = form_text(s, pass.form);
    const std::string head = "; after " + std::string(pass.name);
    o.on_print(text == observers.printed ? head + ": unchanged\n" : head + "\n" + text);
    observers.printed = std::move(text);
  }
  if (!observers.dump.wanted()) return ok();
  const auto number = &pass - kPasses;
  const std::string file = (number < 10 ? "0" : "") + std::to_string(number) + "_" + std::string(pass.name) + ".txt";
  if (pass.form != Form::Graph) return observers.dump.text(file, form_text(s, pass.form));
  DLCB_TRY(identify_model(s));
  return observers.dump.graph(file, *s.graph);
}

Status verify(PipelineState& s, const Pass& pass) {
  if (!s.options.verify_each || pass.form != Form::Graph) return ok();
  const std::vector<std::string> faults = graph::verify(*s.graph);
  DLCB_CHECK(faults.empty(), "after " + std::string(pass.name) + ": " + faults.front());
  return ok();
}

// Passes after `expand` know no operators that are made of others.
Status check_expanded(const graph::Graph& g, const Pass* start) {
  if (start <= find_pass("expand")) return ok();
  for (uint32_t n = 0; n < g.node_count(); ++n) {
    const graph::Node& node = g.node({n});
    if (node.op->kind != ops::OpKind::Expands) continue;
    return diag(DiagKind::BadFlag,
                {"--start-at=" + std::string(start->name) + " wants a graph after the pass expand, but it holds " +
                 std::string(node.op->name)});
  }
  return ok();
}

Status read_ir(PipelineState& s) {
  const std::string& path = s.options.model_path;
  DLCB_ASSIGN(const std::string text, read_file(path));
  DLCB_ASSIGN(graph::Graph g, graph::parse(s.sym, s.scalars, text, graph::weights_beside(path)));
  DLCB_TRY(check_expanded(g, find_pass(s.options.start_at)));
  s.graph.emplace(std::move(g));
  const bool solved = find_pass(s.options.start_at) > find_pass("solve_shapes");
  return solved ? describe_interface(s) : ok();
}

// Runs the passes up to `last`, which is run too.
Status run_passes(PipelineState& s, const Pass* last, Observers& observers, std::string_view& running) {
  DLCB_TRY(check_options(s));
  if (s.options.stop_after.empty() && !s.options.output_path.empty())
    s.model_digest = std::async(std::launch::async, digest_of_file, s.options.model_path);
  const Pass* pass = kPasses;
  if (!s.options.start_at.empty()) {
    DLCB_TRY(read_ir(s));
    pass = find_pass(s.options.start_at);
  }
  for (; pass <= last; ++pass) {
    running = pass->name;
    if (s.options.on_progress) s.options.on_progress(pass->stage);
    if (s.graph) observers.rewrites.attach(*s.graph);
    observers.rewrites.begin(pass->name);
    const auto begin = Clock::now();
    DLCB_TRY(pass->function(s));
    add_time(s.summary, s.options.time_passes ? pass->name : pass->stage,
             std::chrono::duration<double>(Clock::now() - begin).count());
    observers.rewrites.end();
    DLCB_TRY(verify(s, *pass));
    DLCB_TRY(print_form(s, *pass, observers));
  }
  return ok();
}

// The graph as the failed pass got it: the passes before it are run again, because it may have left a half-changed one.
std::string keep_graph_before(const Pass* restart, const CompileOptions& failed) {
  CompileOptions options = failed;
  options.on_progress = options.on_print = options.on_rewrite = nullptr;
  options.dump_dir.clear();
  options.output_path.clear();
  PipelineState state(options);
  Observers observers(options);
  std::string_view running;
  if (!run_passes(state, restart - 1, observers, running) || !state.graph || !identify_model(state)) return "";
  const std::string name = "dlcbc-fault-" + hex(hash_bytes(graph::print(*state.graph))).substr(0, 8);
  Dump dump(failed.fault_dir, name + ".weights");
  return dump.graph(name + ".ir", *state.graph) ? failed.fault_dir + "/" + name + ".ir" : "";
}

}  // namespace

std::span<const PassInfo> passes() {
  static const std::vector<PassInfo> list = [] {
    std::vector<PassInfo> infos;
    for (const Pass& p : kPasses) infos.push_back({p.name, p.holds});
    return infos;
  }();
  return list;
}

Result<CompileSummary> compile(const CompileOptions& options) {
  const auto begin = Clock::now();
  const cuda::NvrtcPreload preload(options.stop_after.empty());
  PipelineState state(options);
  Observers observers(options);
  std::string_view running;
  try {
    const Pass* last = options.stop_after.empty() ? std::end(kPasses) - 1 : find_pass(options.stop_after);
    DLCB_TRY(run_passes(state, last, observers, running));
  } catch (const InternalError& fault) {
    CompileFault out{fault, std::string(running), "", ""};
    const Pass* restart = find_pass(running);
    while (restart && restart != kPasses && !reads_graph(restart)) --restart;
    if (restart && reads_graph(restart)) {
      out.restart = restart->name;
      if (!options.fault_dir.empty()) out.ir_path = keep_graph_before(restart, options);
    }
    throw out;
  }
  state.summary.total_seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return std::move(state.summary);
}

}  // namespace dlcb
