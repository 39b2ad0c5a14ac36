#include "fuse/order.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "fuse/address.h"

namespace dlcb::fuse {
namespace {

using graph::Graph;
using ops::ValueId;

// The tensor that a region merely renames: one output, one load, the same linear address for every element.
ValueId renamed_source(Graph& graph, const Region& region) {
  if (region.outputs.size() != 1) return {};
  const Output& output = region.outputs[0];
  const ops::ScalarNode& load = graph.scalars().node(output.body);
  if (load.kind != ops::ScalarKind::Load || load.dtype != output.tensor.dtype) return {};
  const graph::Value& source = graph.value(load.value);
  sym::Store& sym = graph.sym();
  if (!graph.facts().equal(element_count(sym, source.dims), element_count(sym, output.tensor.dims))) return {};
  const sym::Expr to = element_offset(sym, output.tensor.dims, output.tensor.order, output.index);
  const sym::Expr from = element_offset(sym, source.dims, source.order, load.coords);
  return graph.facts().equal(to, from) ? load.value : ValueId{};
}

}  // namespace

std::vector<ValueId> operands_of(const Claim& claim) {
  const Epilogue& epilogue = claim.epilogue();
  std::vector<ValueId> list;
  if (const auto* matmul = std::get_if<MatmulCall>(&claim.call)) {
    list = {matmul->a, matmul->b, epilogue.bias, epilogue.residual};
  } else {
    const auto& conv = std::get<ConvCall>(claim.call);
    list = {conv.x, conv.w, epilogue.bias, epilogue.residual};
  }
  std::erase_if(list, [](ValueId v) { return !v.valid(); });
  return list;
}

ValueId result_of(const Claim& claim) { return claim.epilogue().out; }

std::vector<ValueId> reads(const Step& step) {
  if (const auto* region = std::get_if<Region>(&step.action)) {
    std::vector<ValueId> list;
    for (const Tensor& t : region->inputs) list.push_back(t.value);
    return list;
  }
  if (const auto* claim = std::get_if<Claim>(&step.action)) return operands_of(*claim);
  return {std::get<Alias>(step.action).source};
}

std::vector<ValueId> writes(const Step& step) {
  if (const auto* region = std::get_if<Region>(&step.action)) {
    std::vector<ValueId> list;
    for (const Output& o : region->outputs) list.push_back(o.tensor.value);
    return list;
  }
  if (const auto* claim = std::get_if<Claim>(&step.action)) return {result_of(*claim)};
  return {std::get<Alias>(step.action).value};
}

Step claim_step(const Graph& graph, const Claim& claim) {
  Step step;
  step.action = claim;
  step.predicate = graph.node(claim.nodes.front()).predicate;
  for (graph::NodeId n : claim.nodes) {
    const graph::Node& node = graph.node(n);
    step.origins.insert(step.origins.end(), node.origins.begin(), node.origins.end());
    step.name += (step.name.empty() ? "" : "+") + std::string(node.op->name);
  }
  return step;
}

void make_aliases(Graph& graph, std::vector<Step>& steps) {
  // A caller's tensor has its own address and alignment, so it never shares memory with one of ours.
  auto from_caller = [&](ValueId v) {
    return graph.is_output(v) || (!graph.value(v).producer.valid() && !graph.value(v).constant);
  };
  for (Step& step : steps) {
    const auto* region = std::get_if<Region>(&step.action);
    if (!region) continue;
    const ValueId source = renamed_source(graph, *region);
    if (!source.valid()) continue;
    const ValueId value = region->outputs[0].tensor.value;
    if (from_caller(value) || from_caller(source)) continue;
    step.action = Alias{value, source};
    step.schedule = Schedule::None;
  }
}

std::vector<ValueId> host_reads_of(const Graph& graph, sym::Expr predicate, std::span<const ValueId> written,
                                   const Region* region) {
  std::vector<sym::Expr> exprs{predicate};
  for (ValueId v : written) exprs.insert(exprs.end(), graph.value(v).dims.begin(), graph.value(v).dims.end());
  std::vector<sym::Expr> symbols;
  for (sym::Expr e : exprs) symbols.insert(symbols.end(), graph.sym().symbols(e).begin(), graph.sym().symbols(e).end());
  if (region) {
    for (const Output& o : region->outputs) {
      const auto in_body = graph.scalars().symbols(o.body);
      symbols.insert(symbols.end(), in_body.begin(), in_body.end());
    }
  }
  std::vector<ValueId> values;
  for (const graph::HostRead& read : graph.host_reads) {
    if (std::find(symbols.begin(), symbols.end(), read.symbol) != symbols.end()) values.push_back(read.value);
  }
  return values;
}

std::vector<Step> in_launch_order(const Graph& graph, std::vector<Step> steps) {
  std::unordered_map<uint32_t, size_t> writer;
  std::vector<uint32_t> rank(steps.size(), 0);
  for (size_t s = 0; s < steps.size(); ++s) {
    for (ValueId v : writes(steps[s])) {
      writer[v.id] = s;
      rank[s] = std::max(rank[s], graph.value(v).producer.id);
    }
  }
  std::vector<std::set<size_t>> after(steps.size());
  std::vector<size_t> waiting(steps.size(), 0);
  for (size_t s = 0; s < steps.size(); ++s) {
    std::vector<ValueId> needed = reads(steps[s]);
    const std::vector<ValueId> by_host =
        host_reads_of(graph, steps[s].predicate, writes(steps[s]), std::get_if<Region>(&steps[s].action));
    needed.insert(needed.end(), by_host.begin(), by_host.end());
    for (ValueId v : needed) {
      auto it = writer.find(v.id);
      if (it != writer.end() && it->second != s && after[it->second].insert(s).second) ++waiting[s];
    }
  }
  std::set<std::pair<uint32_t, size_t>> ready;
  for (size_t s = 0; s < steps.size(); ++s) {
    if (waiting[s] == 0) ready.insert({rank[s], s});
  }
  std::vector<Step> ordered;
  while (!ready.empty()) {
    const size_t s = ready.begin()->second;
    ready.erase(ready.begin());
    for (size_t next : after[s]) {
      if (--waiting[next] == 0) ready.insert({rank[next], next});
    }
    ordered.push_back(std::move(steps[s]));
  }
  DLCB_CHECK(ordered.size() == steps.size(), "steps depend on each other in a cycle");
  return ordered;
}

}  // namespace dlcb::fuse
