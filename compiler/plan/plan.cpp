#include "plan/plan.h"

#include <algorithm>
#include <unordered_set>

#include "fuse/order.h"
#include "plan/buffers.h"
#include "plan/host_program.h"

namespace dlcb::plan {
namespace {

using graph::Graph;
using ops::ValueId;
using sym::Expr;

std::unique_ptr<fb::OriginT> origin(const graph::Origin& o) {
  auto out = std::make_unique<fb::OriginT>();
  out->node = o.node;
  out->op = o.op;
  out->detail = o.node.empty() ? o.output : "";
  return out;
}

class Planner {
 public:
  Planner(const PlanInput& in, std::vector<int64_t> constants)
      : in_(in),
        graph_(*in.graph),
        sym_(graph_.sym()),
        host_(sym_, std::move(constants)),
        program_(std::make_unique<fb::ProgramT>()) {}

  Plan run();
  const std::vector<int64_t>& constants() const { return host_.constants(); }

 private:
  void define_symbols();
  void number_steps();
  void describe_tensors();
  Expr called_dim(uint32_t input, uint32_t axis);
  Expr condition_of(const shape::Guard& guard);
  void add_guards();
  void add_steps();
  void add_read_steps(uint32_t step);
  void add_entries();
  uint32_t argument(const kernel::Arg& a);
  std::unique_ptr<fb::LaunchT> launch(std::span<const kernel::Variant> variants, uint32_t region);
  fb::MatmulT matmul(const fuse::MatmulCall& call, uint32_t region);
  fb::ConvT conv(const fuse::ConvCall& call, uint32_t region);
  uint32_t add_region(const PlannedStep& step, const std::string& name);
  std::unique_ptr<fb::StepT> new_step(Expr predicate);
  void touch_tensors();
  void touch_arguments(const kernel::Variant& variant, uint32_t step);
  void add_workspaces(const PlannedStep& step);
  void add_combine(const PlannedStep& step);
  std::unique_ptr<fb::DimT> dim(Expr e);
  // What the records of both library calls have.
  template <class Record>
  void fill_common(Record& record, const fuse::Epilogue& call, uint32_t region);
  // Each field becomes the register that holds the expression.
  void evaluate(std::initializer_list<std::pair<uint32_t*, Expr>> fields);
  void append(std::unique_ptr<fb::StepT> step) { program_->steps.push_back(std::move(step)); }

  // Reads after a step: all elements of one value that the host needs.
  struct ReadGroup {
    ValueId value;
    std::vector<graph::HostRead> reads;
    uint32_t segment = 0;
  };

  const PlanInput& in_;
  const Graph& graph_;
  sym::Store& sym_;
  HostProgram host_;
  std::unique_ptr<fb::ProgramT> program_;
  std::unique_ptr<Buffers> buffers_;
  std::vector<uint32_t> position_;    // first program step of each planned step
  std::vector<uint32_t> workspaces_;  // buffers of the step's kernel, by number
  std::vector<std::vector<ReadGroup>> reads_after_;
  std::unordered_map<std::string, uint32_t> entry_number_;
  uint32_t first_copy_ = 0;
  std::unordered_set<uint32_t> called_;  // symbols of called_dim already defined
};

// Symbols are read off the first input dim that is exactly that symbol; where it occurs again, equality is checked.
void Planner::define_symbols() {
  std::unordered_map<uint32_t, bool> seen;
  for (uint32_t i = 0; i < graph_.inputs.size(); ++i) {
    const auto& dims = graph_.value(graph_.inputs[i]).dims;
    for (uint32_t axis = 0; axis < dims.size(); ++axis) {
      if (sym_.kind(dims[axis]) != sym::Kind::Symbol || !seen.emplace(dims[axis].id, true).second) continue;
      host_.define_input_dim(dims[axis], i, axis);
      program_->symbols.push_back(dim(dims[axis]));
    }
    host_.define_alignment(kernel::pointer_alignment(sym_, graph_.inputs[i]), fb::Op::InputAlign, i);
  }
  for (uint32_t i = 0; i < graph_.outputs.size(); ++i) {
    const ValueId v = graph_.outputs[i];
    const auto end = graph_.outputs.begin() + i;
    const bool again = std::find(graph_.outputs.begin(), end, v) != end;  // copied from the first
    if (again || std::find(graph_.inputs.begin(), graph_.inputs.end(), v) != graph_.inputs.end()) continue;
    host_.define_alignment(kernel::pointer_alignment(sym_, v), fb::Op::OutputAlign, i);
  }
  for (const graph::HostRead& read : graph_.host_reads) {
    const auto input = std::find(graph_.inputs.begin(), graph_.inputs.end(), read.value);
    if (input == graph_.inputs.end()) continue;
    host_.define_input_element(read.symbol, static_cast<uint32_t>(input - graph_.inputs.begin()),
                               static_cast<uint32_t>(read.element));
  }
}

bool is_combined(const PlannedStep& s) { return s.kernel && s.kernel->combine; }

// Program steps are the planned ones without aliases, those with a second launch being two, with Reads after the step
// that makes what they read, then copies.
void Planner::number_steps() {
  uint32_t next = 0, segment = 0;
  reads_after_.resize(in_.steps.size());
  for (size_t s = 0; s < in_.steps.size(); ++s) {
    position_.push_back(next);
    if (!std::holds_alternative<fuse::Alias>(in_.steps[s].step.action)) next += is_combined(in_.steps[s]) ? 2 : 1;
    for (ValueId written : fuse::writes(in_.steps[s].step)) {
      ReadGroup group{written, {}, 0};
      for (const graph::HostRead& read : graph_.host_reads) {
        if (read.value == written) group.reads.push_back(read);
      }
      if (group.reads.empty()) continue;
      group.segment = ++segment;
      for (const graph::HostRead& read : group.reads) host_.define_read(read.symbol, group.segment);
      next += static_cast<uint32_t>(group.reads.size());
      reads_after_[s].push_back(std::move(group));
    }
  }
  first_copy_ = next;
}

std::unique_ptr<fb::DimT> Planner::dim(Expr e) {
  auto d = std::make_unique<fb::DimT>();
  d->reg = host_.integer(e);
  d->text = sym::outline(sym_, e);
  return d;
}

void Planner::describe_tensors() {
  auto describe = [&](ValueId v, const std::string& name) {
    const graph::Value& value = graph_.value(v);
    auto info = std::make_unique<fb::TensorInfoT>();
    info->name = name;
    info->dtype = static_cast<uint8_t>(value.dtype);
    for (Expr d : value.dims) info->dims.push_back(dim(d));
    return info;
  };
  for (ValueId v : graph_.inputs) {
    program_->inputs.push_back(describe(v, graph_.value(v).name));
    program_->inputs.back()->host = std::any_of(graph_.host_reads.begin(), graph_.host_reads.end(),
                                                [&](const graph::HostRead& read) { return read.value == v; });
  }
  for (size_t i = 0; i < graph_.outputs.size(); ++i)
    program_->outputs.push_back(describe(graph_.outputs[i], graph_.output_names[i]));
}

// The dim that the caller passed, whatever the model takes it to be: what input guards compare.
Expr Planner::called_dim(uint32_t input, uint32_t axis) {
  const Expr symbol = sym_.param("called." + std::to_string(input) + "." + std::to_string(axis));
  if (called_.insert(symbol.id).second) host_.define_input_dim(symbol, input, axis);
  return symbol;
}

Expr Planner::condition_of(const shape::Guard& g) {
  const auto input = static_cast<uint32_t>(g.input), axis = static_cast<uint32_t>(g.axis);
  switch (g.kind) {
    case shape::GuardKind::InputDim:
      return sym_.eq(called_dim(input, axis), g.expected);
    case shape::GuardKind::Range: {
      const Expr dim = called_dim(input, axis);
      return sym_.logical_and(sym_.le(sym_.constant(g.bounds.lo), dim), sym_.le(dim, sym_.constant(g.bounds.hi)));
    }
    default:
      return g.condition;
  }
}

void Planner::add_guards() {
  std::vector<std::pair<const shape::Guard*, Expr>> ordered;
  for (const shape::Guard& g : in_.guards) ordered.push_back({&g, condition_of(g)});
  std::stable_sort(ordered.begin(), ordered.end(), [&](const auto& a, const auto& b) {
    return host_.segment_of(a.second) < host_.segment_of(b.second);
  });
  for (const auto& [g, condition] : ordered) {
    auto out = std::make_unique<fb::GuardT>();
    out->reg = host_.boolean(condition);
    out->segment = host_.segment_of(condition);
    out->text = g->text;
    out->why = g->why;
    out->input = g->input;
    out->axis = g->axis;
    out->kind = static_cast<uint8_t>(g->kind);
    for (const shape::Shown& quoted : g->shown) {
      auto shown = std::make_unique<fb::ShownT>();
      shown->text = quoted.text;
      shown->reg = host_.integer(quoted.value);
      out->shown.push_back(std::move(shown));
    }
    for (const graph::Origin& o : g->origins) out->origins.push_back(origin(o));
    program_->guards.push_back(std::move(out));
  }
}

fb::ArgKind argument_kind(kernel::Arg::Kind kind) {
  switch (kind) {
    case kernel::Arg::Pointer:
      return fb::ArgKind::BufferPtr;
    case kernel::Arg::I64:
      return fb::ArgKind::I64;
    case kernel::Arg::I32:
      return fb::ArgKind::I32;
    case kernel::Arg::MagicMul:
    case kernel::Arg::MagicShift:
      return fb::ArgKind::U32;
  }
  DLCB_CHECK(false, "unknown kind of argument");
  return {};
}

uint32_t Planner::argument(const kernel::Arg& a) {
  switch (a.kind) {
    case kernel::Arg::Pointer:
      if (const auto number = kernel::workspace_number(a.tensor)) return workspaces_.at(*number);
      return buffers_->number(a.tensor);
    case kernel::Arg::I32:
    case kernel::Arg::I64:
      return host_.integer(a.value);
    case kernel::Arg::MagicMul:
      return host_.magic_mul(a.value);
    case kernel::Arg::MagicShift:
      return host_.magic_shift(a.value);
  }
  DLCB_CHECK(false, "unknown kind of argument");
  return 0;
}

std::unique_ptr<fb::LaunchT> Planner::launch(std::span<const kernel::Variant> variants, uint32_t region) {
  auto out = std::make_unique<fb::LaunchT>();
  out->region = region;
  for (const kernel::Variant& v : variants) {
    auto variant = std::make_unique<fb::VariantT>();
    variant->when = host_.boolean(v.when);
    const auto entry = entry_number_.find(v.entry);
    DLCB_CHECK(entry != entry_number_.end(), "kernel " + v.entry + " is in no module");
    variant->entry = entry->second;
    for (Expr e : v.grid) variant->grid.push_back(host_.integer(e));
    for (Expr e : v.block) variant->block.push_back(host_.integer(e));
    variant->shared_bytes = host_.integer(v.shared_bytes);
    const std::vector<fb::ArgKind>& params = program_->entries[entry->second]->params;
    DLCB_CHECK(v.args.size() == params.size(), "kernel " + v.entry + " takes another number of arguments");
    for (size_t i = 0; i < v.args.size(); ++i) {
      const kernel::Arg& a = v.args[i];
      DLCB_CHECK(argument_kind(a.kind) == params[i], "kernel " + v.entry + " takes another kind of argument");
      variant->args.emplace_back(params[i], argument(a));
    }
    out->variants.push_back(std::move(variant));
  }
  return out;
}

void Planner::evaluate(std::initializer_list<std::pair<uint32_t*, Expr>> fields) {
  for (const auto& [reg, e] : fields) *reg = host_.integer(e);
}

template <class Record>
void Planner::fill_common(Record& record, const fuse::Epilogue& call, uint32_t region) {
  const auto optional = [&](ValueId v) { return v.valid() ? static_cast<int32_t>(buffers_->number(v)) : -1; };
  record.bias = optional(call.bias);
  record.residual = optional(call.residual);
  record.dtype = static_cast<uint8_t>(graph_.value(call.out).dtype);
  record.activation = call.activation == fuse::Activation::Relu ? fb::Activation::Relu : fb::Activation::None;
  record.region = region;
}

fb::MatmulT Planner::matmul(const fuse::MatmulCall& c, uint32_t region) {
  fb::MatmulT m;
  fill_common(m, c, region);
  m.a = buffers_->number(c.a);
  m.b = buffers_->number(c.b);
  m.c = buffers_->number(c.out);
  m.alpha = c.alpha;
  evaluate({{&m.m, c.m}, {&m.n, c.n}, {&m.k, c.k}, {&m.batch, c.batch}});
  evaluate({{&m.lda, c.lda}, {&m.ldb, c.ldb}, {&m.ldc, c.n}});
  evaluate({{&m.stride_a, c.stride_a}, {&m.stride_b, c.stride_b}, {&m.stride_c, sym_.mul(c.m, c.n)}});
  m.trans_a = c.trans_a;
  m.trans_b = c.trans_b;
  return m;
}

fb::ConvT Planner::conv(const fuse::ConvCall& c, uint32_t region) {
  fb::ConvT v;
  fill_common(v, c, region);
  v.x = buffers_->number(c.x);
  v.w = buffers_->number(c.w);
  v.y = buffers_->number(c.out);
  evaluate({{&v.n, c.n}, {&v.h, c.h}, {&v.wd, c.wd}, {&v.c, c.c}, {&v.k, c.k}, {&v.p, c.p}, {&v.q, c.q}});
  v.r = static_cast<uint32_t>(c.r);
  v.s = static_cast<uint32_t>(c.s);
  v.pad.assign(std::begin(c.pad), std::end(c.pad));
  v.stride.assign(std::begin(c.stride), std::end(c.stride));
  v.dilation.assign(std::begin(c.dilation), std::end(c.dilation));
  v.groups = static_cast<uint32_t>(c.groups);
  v.transposed = c.transposed;
  return v;
}

uint32_t Planner::add_region(const PlannedStep& s, const std::string& name) {
  constexpr const char* kSchedules[] = {"library",       "pointwise",        "transpose",
                                        "row reduction", "column reduction", "contraction"};
  auto region = std::make_unique<fb::RegionT>();
  region->name = name;
  for (const graph::Origin& o : s.step.origins) region->origins.push_back(origin(o));
  region->schedule = kSchedules[static_cast<int>(s.step.schedule)];
  program_->regions.push_back(std::move(region));
  return static_cast<uint32_t>(program_->regions.size() - 1);
}

// In a branch that is not taken nothing was written: such a read gives 0.
void Planner::add_read_steps(uint32_t s) {
  const Expr predicate = in_.steps[s].step.predicate;
  for (const ReadGroup& group : reads_after_[s]) {
    for (size_t i = 0; i < group.reads.size(); ++i) {
      fb::ReadT read;
      read.buffer = buffers_->number(group.value);
      read.index = static_cast<uint32_t>(group.reads[i].element);
      read.dst = host_.integer(group.reads[i].symbol);
      read.next_segment = i + 1 == group.reads.size() ? group.segment : 0;
      auto step = std::make_unique<fb::StepT>();
      if (predicate.valid() && !sym_.is_const(predicate, 1))
        step->predicate = static_cast<int32_t>(host_.boolean(predicate));
      step->action.Set(std::move(read));
      append(std::move(step));
    }
  }
}

std::unique_ptr<fb::StepT> Planner::new_step(Expr predicate) {
  auto step = std::make_unique<fb::StepT>();
  if (!sym_.is_const(predicate, 1)) step->predicate = static_cast<int32_t>(host_.boolean(predicate));
  return step;
}

// They live during this step and the next one, and are empty where that is not taken.
void Planner::add_workspaces(const PlannedStep& planned) {
  workspaces_.clear();
  if (!is_combined(planned)) return;
  const Expr taken = sym_.logical_and(planned.step.predicate, planned.kernel->combine->when);
  const auto at = static_cast<uint32_t>(program_->steps.size());
  for (const kernel::CombineParts::Workspace& w : planned.kernel->combine->workspaces) {
    const Expr bytes = sym_.mul(w.elements, sym_.constant(static_cast<int64_t>(size_of(w.dtype))));
    workspaces_.push_back(buffers_->add_workspace("parts of " + planned.step.name, w.dtype,
                                                  sym_.select(taken, bytes, sym_.constant(0)), at));
  }
}

void Planner::add_combine(const PlannedStep& planned) {
  const kernel::CombineParts& combine = *planned.kernel->combine;
  auto step = new_step(sym_.logical_and(planned.step.predicate, combine.when));
  const uint32_t region = add_region(planned, planned.step.name + " of parts");
  step->action.Set(std::move(*launch({&combine.variant, 1}, region)));
  append(std::move(step));
}

void Planner::add_steps() {
  for (uint32_t s = 0; s < in_.steps.size(); ++s) {
    const PlannedStep& planned = in_.steps[s];
    if (!std::holds_alternative<fuse::Alias>(planned.step.action)) {
      add_workspaces(planned);
      const uint32_t region = add_region(planned, planned.step.name);
      auto step = new_step(planned.step.predicate);
      if (planned.kernel) {
        step->action.Set(std::move(*launch(planned.kernel->variants, region)));
      } else {
        const auto& call = std::get<fuse::Claim>(planned.step.action).call;
        if (const auto* mm = std::get_if<fuse::MatmulCall>(&call)) {
          step->action.Set(matmul(*mm, region));
          program_->uses_cublas = true;
        } else {
          step->action.Set(conv(std::get<fuse::ConvCall>(call), region));
          program_->uses_cudnn = true;
        }
        if (planned.stand_in) step->fallback = launch(planned.stand_in->variants, region);
      }
      append(std::move(step));
      if (is_combined(planned)) add_combine(planned);
    }
    add_read_steps(s);
  }
  for (const OutputCopy& copy : buffers_->copies()) {
    fb::CopyT c;
    c.from = copy.from;
    c.to = copy.to;
    c.bytes = host_.integer(copy.bytes);
    auto step = std::make_unique<fb::StepT>();
    step->action.Set(std::move(c));
    append(std::move(step));
  }
}

void Planner::add_entries() {
  for (uint32_t m = 0; m < in_.modules->modules.size(); ++m) {
    for (const std::string& name : in_.modules->modules[m].entries) {
      auto entry = std::make_unique<fb::EntryT>();
      entry->name = name;
      entry->module_ = m;
      const auto function = std::find_if(in_.functions.begin(), in_.functions.end(),
                                         [&](const kernel::Function& f) { return f.name == name; });
      DLCB_CHECK(function != in_.functions.end(), "entry without function");
      entry->max_threads = function->max_threads;
      entry->syncs = function->syncs;
      for (const kernel::Arg::Kind kind : function->params) entry->params.push_back(argument_kind(kind));
      entry_number_.emplace(name, static_cast<uint32_t>(program_->entries.size()));
      program_->entries.push_back(std::move(entry));
    }
  }
  program_->modules = static_cast<uint32_t>(in_.modules->modules.size());
  for (const cuda::Target& t : in_.targets) program_->targets.push_back(t.name());
}

void Planner::touch_arguments(const kernel::Variant& variant, uint32_t step) {
  for (const kernel::Arg& a : variant.args) {
    if (a.kind == kernel::Arg::Pointer && !kernel::workspace_number(a.tensor)) buffers_->touch(a.tensor, step);
  }
}

void Planner::touch_tensors() {
  for (uint32_t s = 0; s < in_.steps.size(); ++s) {
    uint32_t step = position_[s];
    if (!std::holds_alternative<fuse::Alias>(in_.steps[s].step.action)) {
      for (ValueId v : fuse::reads(in_.steps[s].step)) buffers_->touch(v, step);
      for (ValueId v : fuse::writes(in_.steps[s].step)) buffers_->touch(v, step);
      if (is_combined(in_.steps[s])) touch_arguments(in_.steps[s].kernel->combine->variant, ++step);
      ++step;
    }
    for (const ReadGroup& group : reads_after_[s]) {
      for (size_t i = 0; i < group.reads.size(); ++i) buffers_->touch(group.value, step++);
    }
  }
  for (size_t i = 0; i < buffers_->copies().size(); ++i)
    buffers_->touch_number(buffers_->copies()[i].from, first_copy_ + static_cast<uint32_t>(i));
}

Plan Planner::run() {
  define_symbols();
  number_steps();
  describe_tensors();
  buffers_ = std::make_unique<Buffers>(graph_, in_.steps, host_);
  touch_tensors();
  add_guards();
  add_entries();
  add_steps();
  program_->tf32_matmul = in_.tf32_matmul;
  program_->host = host_.finish();
  Plan plan;
  program_->buffers = buffers_->take_buffers();
  plan.weights = buffers_->take_weights();
  plan.weight_bytes = buffers_->weight_bytes();
  program_->weight_bytes = plan.weight_bytes;
  plan.program = std::move(program_);
  return plan;
}

}  // namespace

Result<Plan> make_plan(const PlanInput& input) {
  Planner first(input, {});
  first.run();
  return Planner(input, first.constants()).run();
}

void set_entry_facts(fb::ProgramT& program, std::span<const cuda::EntryFacts> facts) {
  DLCB_CHECK(facts.size() == program.entries.size(), "compiled entries are not those of the plan");
  for (size_t i = 0; i < facts.size(); ++i) {
    fb::EntryT& entry = *program.entries[i];
    DLCB_CHECK(entry.name == facts[i].name, "compiled entries are not those of the plan");
    entry.registers = facts[i].registers;
    entry.shared_bytes = facts[i].shared_bytes;
    entry.stack_bytes = facts[i].stack_bytes;
    entry.instructions = facts[i].instructions;
    entry.calls = facts[i].has_calls;
  }
}

}  // namespace dlcb::plan
