#include "fuse/fuse.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "fuse/address.h"
#include "fuse/cost.h"
#include "fuse/exact.h"
#include "fuse/order.h"

namespace dlcb::fuse {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using ops::Scalar;
using ops::ScalarKind;
using ops::ValueId;

constexpr int kCheap = 6;              // instructions that may be repeated in a second kernel or a pooling window
constexpr int kRepeated = 24;          // of one kernel body, those that other kernels have too, value after value
constexpr int kWindowCheap = 48;       // instructions for one result of a window, all its taps together
constexpr int kBroadcastCheap = 16;    // instructions that may be repeated for every element of a broadcast
constexpr int kMaxInstructions = 160;  // of one kernel body: beyond, registers and compile time suffer
constexpr size_t kMaxTensors = 12;

// A region under construction. Its inputs are found anew whenever the bodies change.
struct Building {
  Region region;
  std::vector<NodeId> nodes;  // latest first
  sym::Expr predicate;
  Classification kind;
  int repeated = 0;            // instructions that other regions compute as well
  std::vector<ValueId> needs;  // of regions that are in place; see Fuser::needs
};

class Fuser {
 public:
  Fuser(Graph& graph, std::span<const Claim> claims, const Classify& classify)
      : graph_(graph), scalars_(graph.scalars()), claims_(claims), classify_(classify) {}

  Result<std::vector<Step>> run();

 private:
  void mark_materialized();
  Status place(ValueId v);
  bool try_inline(ValueId v);
  bool try_extra_output(ValueId v);

  // The body of v's definition at the given coordinates.
  Scalar body_at(ValueId v, std::span<const sym::Expr> coords);
  const ops::OutputDef& definition(ValueId v) const;
  Building with_inlined(const Building& b, ValueId v);
  bool fits(Building& b);
  bool worth_inlining(const Building& b, ValueId v, const Cost& cost);
  bool same_size(ValueId v, const Building& b) const;  // as many elements as the region computes
  bool repeats_reductions(const Building& before, const Building& merged, ValueId v);
  Building alone(ValueId v);
  void refresh_inputs(Building& b);
  Building put(size_t r, Building b);
  std::vector<size_t> consumers(ValueId v) const;
  std::vector<ValueId> needs(const Building& b) const;
  std::vector<ValueId> needs(const Claim& claim) const;
  bool reaches(size_t from_region, size_t to_region) const;
  uint32_t latest_node(const Building& b) const;
  Tensor tensor(ValueId v) const;

  Graph& graph_;
  ops::ScalarStore& scalars_;
  std::span<const Claim> claims_;
  const Classify& classify_;
  std::vector<Building> regions_;
  std::unordered_map<uint32_t, std::vector<size_t>> readers_;  // value -> regions that load it, ascending
  std::unordered_map<uint32_t, size_t> writer_;                // value -> region that stores it
  std::vector<std::vector<ValueId>> claim_needs_;
  bool host_waits_ = false;  // the host reads something that is computed
  std::vector<bool> materialized_;
  std::unordered_map<uint32_t, size_t> claim_of_node_;
  std::unordered_set<uint32_t> caller_tensors_;
};

const ops::OutputDef& Fuser::definition(ValueId v) const {
  const graph::Value& value = graph_.value(v);
  return graph_.node(value.producer).definition.outputs[value.output];
}

Tensor Fuser::tensor(ValueId v) const {
  const graph::Value& value = graph_.value(v);
  return {v, value.dtype, value.dims, value.order, !caller_tensors_.contains(v.id)};
}

Scalar Fuser::body_at(ValueId v, std::span<const sym::Expr> coords) {
  const ops::OutputDef& def = definition(v);
  std::unordered_map<uint32_t, sym::Expr> map;
  for (size_t i = 0; i < coords.size(); ++i) map[def.index[i].id] = coords[i];
  return scalars_.substitute(def.body, map);
}

void Fuser::refresh_inputs(Building& b) {
  b.region.inputs.clear();
  for (ValueId v : loaded_values(scalars_, b.region.outputs)) b.region.inputs.push_back(tensor(v));
}

void Fuser::mark_materialized() {
  materialized_.assign(graph_.value_count(), false);
  auto mark = [&](ValueId v) {
    if (v.valid()) materialized_[v.id] = true;
  };
  for (ValueId v : graph_.inputs) caller_tensors_.insert(v.id);
  for (ValueId v : graph_.outputs) {
    mark(v);
    caller_tensors_.insert(v.id);
  }
  for (const graph::HostRead& read : graph_.host_reads) {
    mark(read.value);
    host_waits_ |= graph_.value(read.value).producer.valid();
  }
  for (size_t c = 0; c < claims_.size(); ++c) {
    for (NodeId n : claims_[c].nodes) claim_of_node_[n.id] = c;
    for (ValueId v : operands_of(claims_[c])) mark(v);
    claim_needs_.push_back(needs(claims_[c]));
  }
}

// The one place where regions change. Returns what was there.
Building Fuser::put(size_t r, Building b) {
  if (r == regions_.size()) regions_.emplace_back();
  for (const Tensor& t : regions_[r].region.inputs) std::erase(readers_[t.value.id], r);
  for (const Output& o : regions_[r].region.outputs) writer_.erase(o.tensor.value.id);
  b.needs = needs(b);
  std::swap(regions_[r], b);
  const Building& now = regions_[r];
  for (const Tensor& t : now.region.inputs) {
    std::vector<size_t>& list = readers_[t.value.id];
    list.insert(std::upper_bound(list.begin(), list.end(), r), r);
  }
  for (const Output& o : now.region.outputs) writer_[o.tensor.value.id] = r;
  return b;
}

std::vector<size_t> Fuser::consumers(ValueId v) const {
  const auto it = readers_.find(v.id);
  return it == readers_.end() ? std::vector<size_t>() : it->second;
}

// What a region must wait for: tensors that it loads, and tensors that the host reads for its predicate or sizes.
std::vector<ValueId> Fuser::needs(const Building& b) const {
  std::vector<ValueId> list, written;
  for (const Tensor& t : b.region.inputs) list.push_back(t.value);
  for (const Output& o : b.region.outputs) written.push_back(o.tensor.value);
  const std::vector<ValueId> by_host = host_reads_of(graph_, b.predicate, written, &b.region);
  list.insert(list.end(), by_host.begin(), by_host.end());
  return list;
}

std::vector<ValueId> Fuser::needs(const Claim& claim) const {
  std::vector<ValueId> list = operands_of(claim);
  const std::vector<ValueId> by_host =
      host_reads_of(graph_, graph_.node(claim.nodes.front()).predicate, std::array{result_of(claim)}, nullptr);
  list.insert(list.end(), by_host.begin(), by_host.end());
  return list;
}

// The last of the nodes whose results the region stores. All that it needs was made before, except what the host reads.
uint32_t Fuser::latest_node(const Building& b) const {
  uint32_t latest = 0;
  for (const Output& o : b.region.outputs) latest = std::max(latest, graph_.value(o.tensor.value).producer.id);
  return latest;
}

// Whether region `to` needs, directly or through others, a value that region `from` stores.
bool Fuser::reaches(size_t from, size_t to) const {
  uint32_t first = UINT32_MAX;  // what was made before this node cannot need `from`
  for (const Output& o : regions_[from].region.outputs)
    first = std::min(first, graph_.value(o.tensor.value).producer.id);
  if (host_waits_) first = 0;
  std::unordered_set<uint32_t> seen;
  std::vector<ValueId> work = regions_[to].needs;
  while (!work.empty()) {
    const ValueId v = work.back();
    work.pop_back();
    if (!seen.insert(v.id).second) continue;
    const NodeId producer = graph_.value(v).producer;
    std::span<const ValueId> more;
    if (const auto it = writer_.find(v.id); it != writer_.end()) {
      if (it->second == from) return true;
      if (latest_node(regions_[it->second]) > first) more = regions_[it->second].needs;
    } else if (producer.valid() && producer.id > first && claim_of_node_.contains(producer.id)) {
      more = claim_needs_[claim_of_node_.at(producer.id)];
    }
    work.insert(work.end(), more.begin(), more.end());
  }
  return false;
}

Building Fuser::with_inlined(const Building& b, ValueId v) {
  Building merged = b;
  for (Output& output : merged.region.outputs) {
    output.body =
        scalars_.inline_load(output.body, v, [&](std::span<const sym::Expr> coords) { return body_at(v, coords); });
  }
  merged.nodes.push_back(graph_.value(v).producer);
  refresh_inputs(merged);
  return merged;
}

bool Fuser::fits(Building& b) {
  if (b.region.inputs.size() + b.region.outputs.size() > kMaxTensors) return false;
  int instructions = 0;
  for (const Output& o : b.region.outputs) instructions += cost_of(scalars_, o.body).instructions;
  if (instructions > kMaxInstructions) return false;
  b.kind = classify_(b.region);
  return b.kind.schedule != Schedule::None;
}

// Whether substituting v's body does not repeat costly work: every element of v is computed about once, or is cheap.
bool Fuser::worth_inlining(const Building& b, ValueId v, const Cost& cost) {
  size_t uses = 0;
  for (const Output& output : b.region.outputs) {
    size_t here = 0;
    for (Scalar load : scalars_.loads(output.body)) here += scalars_.node(load).value == v;
    uses = std::max(uses, here);
  }
  if (b.kind.schedule == Schedule::Contraction) return false;
  const bool has_reduce = b.kind.schedule == Schedule::RowReduce || b.kind.schedule == Schedule::ColumnReduce;
  const Reductions which = has_reduce ? Reductions::Overlapping : Reductions::All;
  int64_t taps = 1;
  for (const Output& o : b.region.outputs) taps = std::max(taps, repetitions(scalars_, o.body, v, which));
  if (taps > 1) {
    const int64_t instructions = executed_instructions(scalars_, definition(v).body);  // those of v's own window
    return instructions == 0 || taps <= kWindowCheap / instructions;
  }
  if (cost.reduces) return has_reduce || uses == 1;
  if (has_reduce) return true;  // values are kept in registers, or each is read once
  if (cost.instructions <= (uses > 2 ? kCheap : kBroadcastCheap)) return true;
  return uses == 1 && same_size(v, b);  // asked last: a proof takes long
}

bool Fuser::same_size(ValueId v, const Building& b) const {
  sym::Store& sym = graph_.sym();
  return graph_.facts().equal(element_count(sym, graph_.value(v).dims),
                              element_count(sym, b.region.outputs[0].tensor.dims));
}

// Whether `merged`, which is `before` with v's body in it, computes v's reductions more often than a kernel of v alone:
// the mean of a group of channels must not be found anew for each element that is normalised with it.
bool Fuser::repeats_reductions(const Building& before, const Building& merged, ValueId v) {
  const sym::Expr rows = alone(v).kind.rows;
  if (rows.valid()) return !merged.kind.rows.valid() || !graph_.facts().equal(rows, merged.kind.rows);
  if (before.kind.rows.valid() || executed_instructions(scalars_, definition(v).body) <= kBroadcastCheap) return false;
  return !same_size(v, before) && !reads_once(scalars_, before.region.outputs, v);
}

bool Fuser::try_inline(ValueId v) {
  const std::vector<size_t> users = consumers(v);
  const Scalar body = definition(v).body;
  const bool view = is_view(scalars_, body);
  const Cost cost = cost_of(scalars_, body);
  if (users.size() > 1 && !view && (cost.reduces || cost.instructions > kCheap || full_loads(scalars_, body) > 1))
    return false;
  const sym::Expr predicate = graph_.node(graph_.value(v).producer).predicate;
  // Where a chain of values is used step by step, every user would begin at the chain's beginning.
  const int repeated = users.size() > 1 ? cost.instructions : 0;
  for (size_t r : users)
    if (regions_[r].repeated + repeated > kRepeated) return false;
  std::vector<Building> merged;
  for (size_t r : users) {
    if (!view && regions_[r].predicate != predicate) return false;
    if (!view && !worth_inlining(regions_[r], v, cost)) return false;
    merged.push_back(with_inlined(regions_[r], v));
    merged.back().repeated += repeated;
    if (!fits(merged.back())) return false;
    if (cost.reduces && repeats_reductions(regions_[r], merged.back(), v)) return false;
  }
  for (size_t i = 0; i < users.size(); ++i) put(users[i], std::move(merged[i]));
  return true;
}

// v is also needed elsewhere: let one of its consumers compute it from v's own operands and store it on the way.
bool Fuser::try_extra_output(ValueId v) {
  const std::vector<size_t> users = consumers(v);
  const ops::OutputDef& def = definition(v);
  const Cost cost = cost_of(scalars_, def.body);
  const sym::Expr predicate = graph_.node(graph_.value(v).producer).predicate;
  for (size_t r : users) {
    const Building& b = regions_[r];
    if (b.predicate != predicate || b.kind.schedule == Schedule::Contraction ||
        b.kind.schedule == Schedule::ColumnReduce)
      continue;
    if (b.region.outputs[0].tensor.dims != def.dims || !worth_inlining(b, v, cost)) continue;
    const bool cycle =
        std::any_of(users.begin(), users.end(), [&](size_t other) { return other != r && reaches(other, r); });
    if (cycle) continue;
    Building merged = with_inlined(b, v);
    merged.region.outputs.push_back({tensor(v), def.index, def.body});
    refresh_inputs(merged);
    if (!fits(merged) || (cost.reduces && repeats_reductions(b, merged, v))) continue;
    Building saved = put(r, std::move(merged));
    if (!reaches(r, r)) return true;  // a library call or a read by the host may come between v and this region
    put(r, std::move(saved));
  }
  return false;
}

Building Fuser::alone(ValueId v) {
  const ops::OutputDef& def = definition(v);
  Building b;
  b.region.outputs.push_back({tensor(v), def.index, def.body});
  b.nodes.push_back(graph_.value(v).producer);
  b.predicate = graph_.node(graph_.value(v).producer).predicate;
  refresh_inputs(b);
  b.kind = classify_(b.region);
  return b;
}

Status Fuser::place(ValueId v) {
  const bool demanded = materialized_[v.id] || !consumers(v).empty();
  if (!demanded) return ok();
  if (!materialized_[v.id]) {
    if (try_inline(v)) return ok();
    materialized_[v.id] = true;
  } else if (is_view(scalars_, definition(v).body) && !consumers(v).empty()) {
    // Others may read through the view instead of waiting for its copy.
    try_inline(v);
  }
  if (!try_extra_output(v)) put(regions_.size(), alone(v));
  const Schedule schedule = regions_.back().kind.schedule;
  if (schedule == Schedule::None) {
    const Node& node = graph_.node(graph_.value(v).producer);
    DLCB_CHECK(false, "no schedule for a single operator: " + std::string(node.op->name));
  }
  return ok();
}

Result<std::vector<Step>> Fuser::run() {
  make_divisions_exact(graph_);
  mark_materialized();
  for (uint32_t n = graph_.node_count(); n-- > 0;) {
    const Node& node = graph_.node(NodeId{n});
    if (!node.op || claim_of_node_.contains(n)) continue;
    for (size_t o = node.outputs.size(); o-- > 0;) DLCB_TRY(place(node.outputs[o]));
  }
  std::vector<Step> steps;
  for (Building& b : regions_) {
    Step step;
    std::reverse(b.nodes.begin(), b.nodes.end());
    for (NodeId n : b.nodes) {
      const Node& node = graph_.node(n);
      step.origins.insert(step.origins.end(), node.origins.begin(), node.origins.end());
      if (step.name.size() < 60) step.name += (step.name.empty() ? "" : "+") + std::string(node.op->name);
    }
    b.region.name = step.name;
    step.predicate = b.predicate;
    step.schedule = b.kind.schedule;
    step.action = std::move(b.region);
    steps.push_back(std::move(step));
  }
  for (const Claim& claim : claims_) steps.push_back(claim_step(graph_, claim));
  make_aliases(graph_, steps);
  return in_launch_order(graph_, std::move(steps));
}

}  // namespace

Result<std::vector<Step>> fuse(Graph& graph, std::span<const Claim> claims, const Classify& classify) {
  return Fuser(graph, claims, classify).run();
}

}  // namespace dlcb::fuse
