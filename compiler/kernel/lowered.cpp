// Offsets, dependences and the merging of loops.
#include "kernel/lowered.h"

#include <algorithm>
#include <unordered_set>

#include "fuse/address.h"

namespace dlcb::kernel {

using ops::Scalar;
using ops::ScalarKind;
using sym::Expr;

namespace {

void merge_into(std::vector<Expr>& to, const std::vector<Expr>& from) {
  for (Expr e : from) {
    auto at = std::ranges::lower_bound(to, e);
    if (at == to.end() || *at != e) to.insert(at, e);
  }
}

}  // namespace

Lowered::Lowered(ops::ScalarStore& scalars, const sym::Facts& facts, const Region& region)
    : scalars(scalars), sym(scalars.sym()), facts(facts), region(region) {
  for (const Output& o : region.outputs) {
    stores_.push_back(fuse::element_offset(sym, o.tensor.dims, o.tensor.order, o.index));
    bodies_.push_back(o.body);
  }
}

const Lowered::Site& Lowered::site(Scalar load) {
  if (auto found = sites_.find(load.id); found != sites_.end()) return found->second;
  const ops::ScalarNode& node = scalars.node(load);
  auto input = std::ranges::find_if(region.inputs, [&](const Tensor& t) { return t.value == node.value; });
  DLCB_CHECK(input != region.inputs.end(), "a load names no input of the region");
  std::vector<Expr> coords = node.coords;
  bool safe = true;
  for (size_t d = 0; d < coords.size(); d++) {
    Expr& c = coords[d];
    Expr dim = input->dims[d];
    const bool index = sym.kind(c) == sym::Kind::Symbol && sym.symbol_kind(c) == sym::SymbolKind::Index;
    if (index && sym.index_extent(c) == dim) continue;
    const bool inside = facts.proves(sym.le(sym.constant(0), c)) && facts.proves(sym.lt(c, dim));
    if (inside) continue;
    safe = false;
    // A wrong index in the data must not reach foreign memory.
    if (sym.has_symbol_of(c, sym::SymbolKind::Data))
      c = sym.max(sym.constant(0), sym.min(c, sym.sub(dim, sym.constant(1))));
  }
  Expr offset = fuse::element_offset(sym, input->dims, input->order, coords);
  if (!replaced_.empty()) offset = sym.substitute(offset, replaced_);
  Site site{static_cast<size_t>(input - region.inputs.begin()), offset, safe};
  return sites_.emplace(load.id, site).first->second;
}

const std::vector<Expr>& Lowered::symbols(Expr e) {
  if (auto found = expr_symbols_.find(e.id); found != expr_symbols_.end()) return found->second;
  std::vector<Expr> result;
  auto span = sym.symbols(e);
  for (Expr s : std::vector<Expr>(span.begin(), span.end())) {
    if (sym.symbol_kind(s) == sym::SymbolKind::Index) merge_into(result, {s});
    if (sym.symbol_kind(s) != sym::SymbolKind::Data) continue;
    if (Scalar bound = scalars.binding(s); bound.valid()) merge_into(result, symbols(bound));
  }
  return expr_symbols_.emplace(e.id, std::move(result)).first->second;
}

const std::vector<Expr>& Lowered::symbols(Scalar s) {
  if (auto found = scalar_symbols_.find(s.id); found != scalar_symbols_.end()) return found->second;
  std::vector<Expr> result;
  const ops::ScalarNode& node = scalars.node(s);
  if (node.kind == ScalarKind::Load) merge_into(result, symbols(site(s).offset));
  if (node.kind == ScalarKind::Index) merge_into(result, symbols(node.index));
  if (auto own = operands_.find(s.id); own != operands_.end()) {
    merge_into(result, symbols(own->second));
    std::erase_if(result, [&](Expr e) { return std::ranges::find(reduced_, e) != reduced_.end(); });
    return scalar_symbols_.emplace(s.id, std::move(result)).first->second;
  }
  for (Scalar operand : node.operands) merge_into(result, symbols(operand));
  if (node.kind == ScalarKind::Reduce) {
    std::erase_if(result, [&](Expr e) { return std::ranges::find(node.coords, e) != node.coords.end(); });
    for (Expr bound : node.coords) merge_into(result, symbols(sym.index_extent(bound)));
  }
  return scalar_symbols_.emplace(s.id, std::move(result)).first->second;
}

bool Lowered::depends(Expr e, Expr symbol) { return std::ranges::binary_search(symbols(e), symbol); }
bool Lowered::depends(Scalar s, Expr symbol) { return std::ranges::binary_search(symbols(s), symbol); }

bool Lowered::variant(Expr e) {
  for (Expr s : sym.symbols(e)) {
    if (sym.symbol_kind(s) == sym::SymbolKind::Index) return true;
    if (sym.symbol_kind(s) == sym::SymbolKind::Data && scalars.binding(s).valid()) return true;
  }
  return false;
}

bool Lowered::unsafe(Expr e) {
  if (!sym.has_symbol_of(e, sym::SymbolKind::Data)) return false;
  auto span = sym.symbols(e);
  for (Expr s : std::vector<Expr>(span.begin(), span.end())) {
    if (sym.symbol_kind(s) != sym::SymbolKind::Data) continue;
    if (Scalar bound = scalars.binding(s); bound.valid() && unsafe(bound)) return true;
  }
  return false;
}

bool Lowered::unsafe(Scalar s) {
  if (auto found = unsafe_.find(s.id); found != unsafe_.end()) return found->second;
  const ops::ScalarNode& node = scalars.node(s);
  bool result = false;
  if (node.kind == ScalarKind::Load) result = !site(s).safe || unsafe(site(s).offset);
  if (node.kind == ScalarKind::Index) result = unsafe(node.index);
  // The schedule computes its reductions on its own terms, whatever guard their value is used under.
  if (operands_.contains(s.id)) return unsafe_.emplace(s.id, false).first->second;
  for (Scalar operand : node.operands) result = result || unsafe(operand);
  unsafe_.emplace(s.id, result);
  return result;
}

void Lowered::set_operand(Scalar reduce, Scalar operand, std::span<const Expr> symbols) {
  operands_[reduce.id] = operand;
  reduced_.assign(symbols.begin(), symbols.end());
  scalar_symbols_.clear();
  unsafe_.clear();
}

Scalar Lowered::operand(Scalar reduce) const {
  auto own = operands_.find(reduce.id);
  return own != operands_.end() ? own->second : scalars.node(reduce).operands[0];
}

// Each reachable node once, data bindings and the schedule's operands followed, in a deterministic order.
void Lowered::visit(const std::function<void(Scalar, const ops::ScalarNode&)>& see) {
  std::unordered_set<uint32_t> seen;
  std::vector<Scalar> work(bodies_.rbegin(), bodies_.rend());
  auto add_bindings = [&](Expr e) {
    if (!sym.has_symbol_of(e, sym::SymbolKind::Data)) return;
    for (Expr s : sym.symbols(e)) {
      if (sym.symbol_kind(s) != sym::SymbolKind::Data) continue;
      if (Scalar bound = scalars.binding(s); bound.valid()) work.push_back(bound);
    }
  };
  while (!work.empty()) {
    Scalar s = work.back();
    work.pop_back();
    if (!seen.insert(s.id).second) continue;
    const ops::ScalarNode& node = scalars.node(s);
    see(s, node);
    if (node.kind == ScalarKind::Load) {
      for (Expr c : node.coords) add_bindings(c);
    }
    if (node.kind == ScalarKind::Index) add_bindings(node.index);
    auto own = operands_.find(s.id);
    if (own != operands_.end())
      work.push_back(own->second);
    else
      work.insert(work.end(), node.operands.rbegin(), node.operands.rend());
  }
}

std::vector<Scalar> Lowered::loads() {
  std::vector<Scalar> all;
  visit([&](Scalar s, const ops::ScalarNode& node) {
    if (node.kind == ScalarKind::Load) all.push_back(s);
  });
  return all;
}

std::vector<Expr> Lowered::plain_indices() {
  std::vector<Expr> result;
  visit([&](Scalar s, const ops::ScalarNode& node) {
    if (node.kind == ScalarKind::Index) result.push_back(node.index);
    if (node.kind != ScalarKind::Reduce || operands_.contains(s.id)) return;
    for (Expr bound : node.coords) result.push_back(sym.index_extent(bound));
  });
  return result;
}

void Lowered::replace(const std::unordered_map<uint32_t, Expr>& by_symbol_id) {
  for (Expr& e : reduced_) {
    if (auto found = by_symbol_id.find(e.id); found != by_symbol_id.end()) e = found->second;
  }
  for (auto& [symbol, value] : replaced_) value = sym.substitute(value, by_symbol_id);
  replaced_.insert(by_symbol_id.begin(), by_symbol_id.end());
  for (Expr& s : stores_) s = sym.substitute(s, by_symbol_id);
  for (auto& [load, site] : sites_) site.offset = sym.substitute(site.offset, by_symbol_id);
  expr_symbols_.clear();
  scalar_symbols_.clear();
}

std::vector<Expr> Lowered::all_offsets() {
  std::vector<Expr> offsets = stores_;
  for (Scalar load : loads()) offsets.push_back(site(load).offset);
  return offsets;
}

bool Lowered::mergeable(const Loop& outer, const Loop& inner, std::span<const Expr> offsets,
                        std::span<const Expr> plain) {
  for (Expr e : plain) {
    if (sym.contains(e, outer.symbol) || sym.contains(e, inner.symbol)) return false;
  }
  for (Expr e : offsets) {
    if (!sym.contains(e, outer.symbol) && !sym.contains(e, inner.symbol)) continue;
    Expr outer_stride, inner_stride, rest;
    if (!affine(*this, e, outer.symbol, &outer_stride, &rest)) return false;
    if (sym.contains(outer_stride, inner.symbol) || !affine(*this, rest, inner.symbol, &inner_stride, &rest))
      return false;
    Expr expected = sym.mul(inner_stride, inner.extent);
    if (expected != outer_stride && !facts.equal(expected, outer_stride)) return false;
  }
  return true;
}

void Lowered::collapse(std::vector<Loop>& loops) {
  const std::vector<Expr> plain = plain_indices();
  for (size_t i = loops.size(); i-- > 0;) {
    const bool used = std::ranges::any_of(plain, [&](Expr e) { return sym.contains(e, loops[i].symbol); });
    if (!sym.is_const(loops[i].extent, 1) || used) continue;
    replace({{loops[i].symbol.id, sym.constant(0)}});
    loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(i));
  }
  for (size_t i = loops.size(); i-- > 1;) {
    const std::vector<Expr> offsets = all_offsets();
    if (!mergeable(loops[i - 1], loops[i], offsets, plain)) continue;
    Expr extent = sym.mul(loops[i - 1].extent, loops[i].extent);
    Expr merged = sym.index("f", extent);
    replace({{loops[i - 1].symbol.id, sym.constant(0)}, {loops[i].symbol.id, merged}});
    loops[i - 1] = {merged, extent};
    loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

std::vector<Monomial> monomials(Lowered& region, Expr e) {
  sym::Store& sym = region.sym;
  std::vector<Monomial> result;
  auto add = [&](std::vector<Expr> atoms, Expr coefficient) {
    std::ranges::sort(atoms);
    for (Monomial& m : result) {
      if (m.atoms == atoms) {
        m.coefficient = sym.add(m.coefficient, coefficient);
        return;
      }
    }
    result.push_back({std::move(atoms), coefficient});
  };
  if (!region.variant(e)) return {{{}, e}};
  if (sym.kind(e) == sym::Kind::Sum) {
    std::vector<Expr> terms(sym.operands(e).begin(), sym.operands(e).end());
    std::vector<int64_t> factors(sym.coefficients(e).begin(), sym.coefficients(e).end());
    if (int64_t c = sym.sum_constant(e); c != 0) add({}, sym.constant(c));
    for (size_t i = 0; i < terms.size(); i++) {
      for (Monomial& m : monomials(region, terms[i])) add(m.atoms, sym.mul(m.coefficient, sym.constant(factors[i])));
    }
    return result;
  }
  if (sym.kind(e) == sym::Kind::Product) {
    std::vector<Monomial> product{{{}, sym.constant(1)}};
    std::vector<Expr> factors(sym.operands(e).begin(), sym.operands(e).end());
    for (Expr factor : factors) {
      std::vector<Monomial> right = monomials(region, factor), next;
      for (const Monomial& a : product) {
        for (const Monomial& b : right) {
          std::vector<Expr> atoms = a.atoms;
          atoms.insert(atoms.end(), b.atoms.begin(), b.atoms.end());
          next.push_back({std::move(atoms), sym.mul(a.coefficient, b.coefficient)});
        }
      }
      product = std::move(next);
    }
    for (Monomial& m : product) add(m.atoms, m.coefficient);
    return result;
  }
  return {{{e}, sym.constant(1)}};
}

bool affine(Lowered& region, Expr e, Expr symbol, Expr* coefficient, Expr* rest) {
  sym::Store& sym = region.sym;
  *coefficient = sym.constant(0);
  if (!region.depends(e, symbol)) {
    *rest = e;
    return true;
  }
  std::vector<Expr> others;
  for (const Monomial& m : monomials(region, e)) {
    if (m.atoms.size() == 1 && m.atoms[0] == symbol) {
      *coefficient = m.coefficient;
      continue;
    }
    std::vector<Expr> factors = m.atoms;
    for (Expr atom : m.atoms) {
      if (region.depends(atom, symbol)) return false;
    }
    factors.push_back(m.coefficient);
    others.push_back(sym.mul(factors));
  }
  *rest = sym.add(others);
  return true;
}

}  // namespace dlcb::kernel
