// Shared parts of the schedules.
#include "kernel/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/hash.h"

namespace dlcb::kernel {

using ops::Scalar;
using sym::Expr;

namespace {

// Maps output `o`'s index symbols to those of `reference`, in order; false if a dim finds no partner.
bool match_dims(sym::Store& sym, const sym::Facts& facts, const Output& reference, const Output& o,
                std::unordered_map<uint32_t, Expr>* map) {
  size_t next = 0;
  for (size_t d = 0; d < o.index.size(); d++) {
    const bool unit = sym.is_const(o.tensor.dims[d], 1);
    size_t at = next;
    auto same = [&](size_t i) {
      return reference.tensor.dims[i] == o.tensor.dims[d] || facts.equal(reference.tensor.dims[i], o.tensor.dims[d]);
    };
    while (at < reference.index.size() && !same(at)) at++;
    if (unit && (at == reference.index.size() || at != next)) {
      map->emplace(o.index[d].id, sym.constant(0));
      if (next < reference.index.size() && o.index.size() == reference.index.size()) next++;
      continue;
    }
    if (at == reference.index.size()) return false;
    map->emplace(o.index[d].id, reference.index[at]);
    next = at + 1;
  }
  return true;
}

}  // namespace

bool unify_outputs(ops::ScalarStore& scalars, const sym::Facts& facts, Region& region, size_t* reference) {
  sym::Store& sym = scalars.sym();
  auto extent_dims = [&](const Output& o) {
    return std::ranges::count_if(o.tensor.dims, [&](Expr d) { return !sym.is_const(d, 1); });
  };
  *reference = 0;
  for (size_t i = 1; i < region.outputs.size(); i++) {
    if (extent_dims(region.outputs[i]) > extent_dims(region.outputs[*reference])) *reference = i;
  }
  for (size_t i = 0; i < region.outputs.size(); i++) {
    if (i == *reference) continue;
    std::unordered_map<uint32_t, Expr> map;
    Output& o = region.outputs[i];
    if (!match_dims(sym, facts, region.outputs[*reference], o, &map)) return false;
    o.body = scalars.substitute(o.body, map);
    for (Expr& index : o.index) index = map.at(index.id);
  }
  return true;
}

std::vector<Loop> loops_of(const Output& output) {
  std::vector<Loop> loops;
  for (size_t i = 0; i < output.index.size(); i++) {
    size_t d = output.tensor.order.empty() ? i : output.tensor.order[i];
    loops.push_back({output.index[d], output.tensor.dims[d]});
  }
  return loops;
}

Expr extent_of(sym::Store& sym, std::span<const Loop> loops) {
  Expr n = sym.constant(1);
  for (const Loop& l : loops) n = sym.mul(n, l.extent);
  return n;
}

Expr linear(sym::Store& sym, std::span<const Loop> loops) {
  Expr at = sym.constant(0);
  for (const Loop& l : loops) at = sym.add(sym.mul(at, l.extent), l.symbol);
  return at;
}

std::vector<bool> needed_loops(Lowered& region, std::span<const Loop> loops, Expr flat,
                               std::span<const Scalar> computed) {
  std::vector<bool> needed(loops.size(), false);
  auto use = [&](Expr e) {
    for (size_t i = 0; i < loops.size(); i++) {
      if (region.depends(e, loops[i].symbol)) needed[i] = true;
    }
  };
  for (Expr e : region.plain_indices()) use(e);
  auto use_offset = [&](Expr offset) {
    if (region.variant(region.sym.sub(offset, flat))) use(offset);
  };
  for (Scalar load : region.loads()) {
    if (std::ranges::find(computed, load) == computed.end()) use_offset(region.site(load).offset);
  }
  for (size_t i = 0; i < region.region.outputs.size(); i++) use_offset(region.store_offset(i));
  return needed;
}

std::vector<std::vector<std::string>> split_index(Emitter& e, Params& params, const std::vector<std::string>& flat,
                                                  std::span<const Loop> loops, const std::vector<bool>& needed) {
  std::vector<std::vector<std::string>> result(loops.size());
  std::vector<std::string> rest = flat;
  for (size_t d = loops.size(); d-- > 0;) {
    const auto end = needed.begin() + static_cast<std::ptrdiff_t>(d);
    if (std::find(needed.begin(), end + 1, true) == end + 1) break;
    if (d == 0) {
      result[0] = rest;
      break;
    }
    std::vector<std::string> quotient;
    for (const std::string& n : rest) {
      quotient.push_back(e.constant("i32", "q", params.divide(n, loops[d].extent)));
    }
    for (size_t k = 0; needed[d] && k < rest.size(); k++) {
      std::string digit = fmt::format("{} - {} * {}", rest[k], quotient[k], params.integer(loops[d].extent));
      result[d].push_back(e.constant("i32", "d", digit));
    }
    rest = quotient;
  }
  return result;
}

namespace {

// Calls see() once for each node of all bodies.
template <class See>
void each_node(Lowered& region, See see) {
  std::unordered_set<uint32_t> seen;
  std::vector<Scalar> work;
  for (size_t i = 0; i < region.region.outputs.size(); i++) work.push_back(region.body(i));
  while (!work.empty()) {
    Scalar s = work.back();
    work.pop_back();
    if (!seen.insert(s.id).second) continue;
    const ops::ScalarNode& n = region.scalars.node(s);
    see(n);
    work.insert(work.end(), n.operands.begin(), n.operands.end());
  }
}

}  // namespace

int body_cost(Lowered& region) {
  int cost = 0;
  each_node(region, [&](const ops::ScalarNode& n) {
    using ops::Fn;
    const bool function = n.kind == ops::ScalarKind::Unary && n.fn >= Fn::Exp && n.fn <= Fn::Atanh;
    cost += function || (n.kind == ops::ScalarKind::Binary && n.fn == Fn::Pow) ? 8 : 1;
  });
  return cost;
}

bool has_window(Lowered& region) {
  bool found = false;
  each_node(region, [&](const ops::ScalarNode& n) { found = found || n.kind == ops::ScalarKind::Reduce; });
  return found;
}

void set_tall_grid(sym::Store& sym, Expr count, Launch& launch) {
  launch.grid[2] = sym.ceildiv(count, sym.constant(65535));
  launch.grid[1] = sym.ceildiv(count, sym.max(launch.grid[2], sym.constant(1)));
}

void add_variant(Kernel& kernel, Lowered& region, const Emitter& e, const Params& params, Launch launch) {
  sym::Store& sym = region.sym;
  std::string text = fmt::format("DLCB_KERNEL(@, {}) ({}) {{\n{}}}\nDLCB_EXPORT(@, {})\n", launch.max_threads,
                                 params.signature(), e.text(), launch.syncs ? 1 : 0);
  std::string name = "k" + hex(hash_bytes(text)).substr(0, 16);
  for (size_t at = text.find('@'); at != std::string::npos; at = text.find('@')) text.replace(at, 1, name);
  if (std::ranges::none_of(kernel.functions, [&](const Function& f) { return f.name == name; })) {
    kernel.functions.push_back({name, std::move(text), launch.max_threads, launch.syncs, params.kinds()});
  }
  Variant v;
  v.when = launch.when.valid() ? launch.when : sym.constant(1);
  for (Expr c : e.conditions) {
    if (!region.facts.proves(c)) v.when = sym.logical_and(v.when, c);
  }
  v.entry = name;
  for (int i = 0; i < 3; i++) {
    v.grid[i] = launch.grid[i].valid() ? launch.grid[i] : sym.constant(1);
    v.block[i] = launch.block[i].valid() ? launch.block[i] : sym.constant(1);
  }
  v.shared_bytes = launch.shared_bytes.valid() ? launch.shared_bytes : sym.constant(0);
  v.args = params.args();
  kernel.variants.push_back(std::move(v));
}

void close_variants(sym::Store& sym, Kernel& kernel) {
  if (!kernel.variants.empty()) kernel.variants.back().when = sym.constant(1);
}

bool complete(Lowered& region, const Kernel& kernel) {
  return !kernel.variants.empty() && region.facts.proves(kernel.variants.back().when);
}

}  // namespace dlcb::kernel
