// Recognition of reductions; used by classify() for every candidate of fusion, so it builds no text.
#include "kernel/reductions.h"

#include <algorithm>
#include <unordered_set>

#include "fuse/address.h"

namespace dlcb::kernel {

using ops::Scalar;
using ops::ScalarKind;
using ops::ScalarNode;
using sym::Expr;

namespace {

constexpr int64_t kWindowLimit = 128;  // elements of a window

bool contains_any(sym::Store& sym, Expr e, std::span<const Expr> symbols) {
  return std::ranges::any_of(symbols, [&](Expr s) { return sym.contains(e, s); });
}

bool has_foreign_index(sym::Store& sym, Expr e, std::span<const Expr> bound) {
  return std::ranges::any_of(sym.symbols(e), [&](Expr s) {
    return sym.symbol_kind(s) == sym::SymbolKind::Index && std::ranges::find(bound, s) == bound.end();
  });
}

std::vector<Expr> extents(sym::Store& sym, std::span<const Expr> symbols) {
  std::vector<Expr> result;
  for (Expr s : symbols) result.push_back(sym.index_extent(s));
  return result;
}

// Index symbols of `o`, in order, with the given extents, on which `reduce` does not depend.
std::vector<Expr> partners(ops::ScalarStore& scalars, const sym::Facts& facts, const Output& o, Scalar reduce) {
  sym::Store& sym = scalars.sym();
  const std::vector<Expr> wanted = extents(sym, scalars.node(reduce).coords);
  auto span = scalars.symbols(reduce);
  const std::vector<Expr> free(span.begin(), span.end());
  std::vector<Expr> found;
  for (size_t d = 0; d < o.index.size() && found.size() < wanted.size(); d++) {
    if (std::ranges::find(free, o.index[d]) != free.end()) continue;
    Expr dim = o.tensor.dims[d], want = wanted[found.size()];
    if (dim == want || facts.equal(dim, want)) found.push_back(o.index[d]);
  }
  return found.size() == wanted.size() ? found : std::vector<Expr>{};
}

// Physical position of each symbol in the first load that has them all; empty if there is none.
std::vector<size_t> physical_positions(ops::ScalarStore& scalars, const Region& region, Scalar operand,
                                       std::span<const Expr> symbols) {
  sym::Store& sym = scalars.sym();
  for (Scalar load : scalars.loads(operand)) {
    const ScalarNode& node = scalars.node(load);
    auto tensor = std::ranges::find_if(region.inputs, [&](const Tensor& t) { return t.value == node.value; });
    if (tensor == region.inputs.end()) continue;
    std::vector<size_t> positions;
    for (Expr s : symbols) {
      for (size_t p = 0; p < node.coords.size(); p++) {
        size_t d = tensor->order.empty() ? p : tensor->order[p];
        if (!sym.contains(node.coords[d], s)) continue;
        positions.push_back(p);
        break;
      }
    }
    if (positions.size() == symbols.size()) return positions;
  }
  return {};
}

// Whether a condition is one on coordinates (or on indices read from a tensor), not on values alone.
bool depends_on_place(ops::ScalarStore& scalars, Scalar condition) {
  std::unordered_set<uint32_t> seen;
  std::vector<Scalar> work{condition};
  while (!work.empty()) {
    const Scalar s = work.back();
    work.pop_back();
    if (!seen.insert(s.id).second) continue;
    const ScalarNode& node = scalars.node(s);
    if (node.kind == ScalarKind::Index && std::ranges::any_of(scalars.sym().symbols(node.index), [&](Expr e) {
          const sym::SymbolKind kind = scalars.sym().symbol_kind(e);
          return kind == sym::SymbolKind::Index || kind == sym::SymbolKind::Data;
        }))
      return true;
    work.insert(work.end(), node.operands.begin(), node.operands.end());
  }
  return false;
}

}  // namespace

bool is_window(ops::ScalarStore& scalars, Scalar reduce) {
  sym::Store& sym = scalars.sym();
  const ScalarNode& node = scalars.node(reduce);
  int64_t count = 1;
  for (Expr s : node.coords) {
    auto c = sym.as_const(sym.index_extent(s));
    if (!c) return false;
    count *= *c;
  }
  if (count > kWindowLimit) return false;
  if (count <= 4) return true;
  if (is_contraction(scalars, reduce)) return false;
  for (Scalar load : scalars.loads(node.operands[0])) {
    for (Expr c : scalars.node(load).coords) {
      if (contains_any(sym, c, node.coords) && has_foreign_index(sym, c, node.coords)) return true;
    }
  }
  return false;
}

void collect_reduces(ops::ScalarStore& scalars, Scalar root, std::vector<Scalar>& found) {
  std::unordered_set<uint32_t> seen;
  std::vector<std::pair<Scalar, bool>> work{{root, false}};
  while (!work.empty()) {
    auto [s, done] = work.back();
    work.pop_back();
    const ScalarNode& node = scalars.node(s);
    if (done) {
      if (std::ranges::find(found, s) == found.end()) found.push_back(s);
      continue;
    }
    if (!seen.insert(s.id).second) continue;
    if (node.kind == ScalarKind::Reduce && !is_window(scalars, s)) work.push_back({s, true});
    for (size_t i = node.operands.size(); i-- > 0;) work.push_back({node.operands[i], false});
    for (Expr c : node.coords) {
      for (Expr x : scalars.sym().symbols(c)) {
        if (scalars.sym().symbol_kind(x) != sym::SymbolKind::Data) continue;
        if (Scalar bound = scalars.binding(x); bound.valid()) work.push_back({bound, false});
      }
    }
  }
}

bool is_inside_window(ops::ScalarStore& scalars, const Output& output, Scalar reduce) {
  return std::ranges::any_of(scalars.symbols(reduce), [&](Expr free) {
    return scalars.sym().symbol_kind(free) == sym::SymbolKind::Index &&
           std::ranges::find(output.index, free) == output.index.end();
  });
}

bool is_guarded(ops::ScalarStore& scalars, const Output& output) {
  std::unordered_set<uint64_t> seen;
  std::unordered_set<uint32_t> guarded, needed;
  std::vector<std::pair<Scalar, bool>> work{{output.body, false}};
  while (!work.empty()) {
    const auto [s, under] = work.back();
    work.pop_back();
    if (!seen.insert(uint64_t{s.id} << 1 | under).second) continue;
    const ScalarNode& node = scalars.node(s);
    if (node.kind == ScalarKind::Reduce && !is_window(scalars, s)) (under ? guarded : needed).insert(s.id);
    const bool branches = node.kind == ScalarKind::Select && depends_on_place(scalars, node.operands[0]);
    for (size_t i = 0; i < node.operands.size(); ++i) work.push_back({node.operands[i], under || (branches && i > 0)});
  }
  return std::ranges::any_of(guarded, [&](uint32_t id) { return !needed.contains(id); });
}

bool is_contraction(ops::ScalarStore& scalars, Scalar reduce) {
  const ScalarNode& node = scalars.node(reduce);
  if (node.reduce != ops::ReduceFn::Sum) return false;
  Scalar product = node.operands[0];
  while (scalars.node(product).kind == ScalarKind::Cast) product = scalars.node(product).operands[0];
  const ScalarNode& mul = scalars.node(product);
  if (mul.kind == ScalarKind::Select) {
    // A guarded product (convolution at the border): look at the side that multiplies.
    for (Scalar side : {mul.operands[1], mul.operands[2]}) {
      const ScalarNode& n = scalars.node(side);
      if (n.kind == ScalarKind::Binary && n.fn == ops::Fn::Mul) product = side;
    }
  }
  const ScalarNode& m = scalars.node(product);
  if (m.kind != ScalarKind::Binary || m.fn != ops::Fn::Mul) return false;
  auto kept = [&](Scalar s) {
    std::vector<Expr> result;
    for (Expr e : scalars.symbols(s)) {
      const bool bound = std::ranges::find(node.coords, e) != node.coords.end();
      if (!bound && scalars.sym().symbol_kind(e) == sym::SymbolKind::Index) result.push_back(e);
    }
    return result;
  };
  std::vector<Expr> a = kept(m.operands[0]), b = kept(m.operands[1]);
  auto has_own = [](const std::vector<Expr>& x, const std::vector<Expr>& y) {
    return std::ranges::any_of(x, [&](Expr e) { return std::ranges::find(y, e) == y.end(); });
  };
  return has_own(a, b) && has_own(b, a);
}

std::optional<Reductions> find_reductions(ops::ScalarStore& scalars, const sym::Facts& facts, const Region& region,
                                          size_t reference) {
  sym::Store& sym = scalars.sym();
  std::vector<Scalar> nodes;
  for (const Output& o : region.outputs) collect_reduces(scalars, o.body, nodes);
  if (nodes.empty()) return std::nullopt;
  const Output& largest = region.outputs[reference];
  std::vector<Expr> columns = partners(scalars, facts, largest, nodes[0]);
  const bool elementwise = !columns.empty();
  if (!elementwise) columns = scalars.node(nodes[0]).coords;
  const std::vector<Expr> wanted = extents(sym, columns);
  Reductions result;
  for (Scalar s : nodes) {
    const ScalarNode& node = scalars.node(s);
    const std::vector<Expr> own = extents(sym, node.coords);
    if (own.size() != wanted.size()) return std::nullopt;
    std::unordered_map<uint32_t, Expr> rename;
    for (size_t i = 0; i < own.size(); i++) {
      if (own[i] != wanted[i] && !facts.equal(own[i], wanted[i])) return std::nullopt;
      if (node.coords[i] != columns[i]) rename.emplace(node.coords[i].id, columns[i]);
    }
    for (Expr free : scalars.symbols(s)) {
      if (std::ranges::find(columns, free) != columns.end()) return std::nullopt;
    }
    Reduction r{s, rename.empty() ? node.operands[0] : scalars.substitute(node.operands[0], rename), 0};
    std::vector<Scalar> below;
    collect_reduces(scalars, r.operand, below);
    for (Scalar b : below) {
      auto earlier = std::ranges::find(result.all, b, &Reduction::node);
      if (earlier == result.all.end()) return std::nullopt;
      r.stage = std::max(r.stage, earlier->stage + 1);
    }
    result.all.push_back(r);
  }
  std::ranges::stable_sort(result.all, {}, &Reduction::stage);
  // Loops in physical order.
  std::vector<Loop> space = loops_of(largest);
  if (elementwise) {
    for (const Loop& l : space) {
      (std::ranges::find(columns, l.symbol) != columns.end() ? result.reduced : result.kept).push_back(l);
    }
    result.along_rows = space.empty() || result.kept.empty() || space.back().symbol == result.reduced.back().symbol;
    return result;
  }
  result.kept = space;
  std::vector<Expr> everything = columns;
  std::vector<size_t> at = physical_positions(scalars, region, result.all[0].operand, columns);
  std::vector<size_t> order(columns.size());
  for (size_t i = 0; i < order.size(); i++) order[i] = i;
  if (!at.empty()) std::ranges::stable_sort(order, {}, [&](size_t i) { return at[i]; });
  for (size_t i : order) result.reduced.push_back({columns[i], wanted[i]});
  result.along_rows = true;
  for (const Loop& l : result.kept) {
    if (sym.is_const(l.extent, 1)) continue;
    std::vector<Expr> both{result.reduced.back().symbol, l.symbol};
    std::vector<size_t> p = physical_positions(scalars, region, result.all[0].operand, both);
    if (!p.empty() && p[1] > p[0]) result.along_rows = false;
  }
  return result;
}

}  // namespace dlcb::kernel
