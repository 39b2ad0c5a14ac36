// The interning store: node storage, the hash table, symbols, free-symbol sets and the accessors of sym/expr.h.
#include <algorithm>
#include <bit>

#include "sym/interval.h"
#include "sym/prover.h"
#include "sym/store_impl.h"

namespace dlcb::sym {
namespace {

constexpr uint64_t mix(uint64_t h) {  // splitmix64
  h += 0x9e3779b97f4a7c15;
  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9;
  h = (h ^ (h >> 27)) * 0x94d049bb133111eb;
  return h ^ (h >> 31);
}
uint64_t combine(uint64_t h, uint64_t v) { return mix(h ^ (v + 0x9e3779b97f4a7c15 + (h << 6) + (h >> 2))); }
uint64_t hash_text(std::string_view s) {  // FNV-1a
  uint64_t h = 0xcbf29ce484222325;
  for (unsigned char c : s) h = (h ^ c) * 0x100000001b3;
  return mix(h);
}

}  // namespace

bool Store::Impl::equals(const Node& n, Expr candidate, std::span<const Expr> ops, std::span<const int64_t> cs) const {
  const Node& c = node(candidate);
  return c.hash == n.hash && c.kind == n.kind && c.value == n.value && c.opaque == n.opaque && c.count == n.count &&
         std::ranges::equal(operands(candidate), ops) &&
         (cs.empty() || std::ranges::equal(coefficients(candidate), cs));
}

Expr Store::Impl::intern(Kind kind, std::span<const Expr> ops, int64_t value, std::span<const int64_t> cs,
                         bool opaque) {
  Node n{.kind = kind, .opaque = opaque, .count = static_cast<uint32_t>(ops.size()), .value = value};
  uint64_t h = combine(static_cast<uint64_t>(kind) * 2 + opaque, static_cast<uint64_t>(value));
  for (Expr o : ops) h = combine(h, node(o).hash);
  for (int64_t c : cs) h = combine(h, static_cast<uint64_t>(c));
  n.hash = h;
  size_t mask = table.size() - 1, slot = h & mask;
  for (; table[slot].id != UINT32_MAX; slot = (slot + 1) & mask) {
    if (table[slot].tag == h >> 32 && equals(n, Expr{table[slot].id}, ops, cs)) return Expr{table[slot].id};
  }
  Expr e{static_cast<uint32_t>(nodes.size())};
  n.first = static_cast<uint32_t>(pool.size());
  n.first_coef = static_cast<uint32_t>(coefs.size());
  // ops may point into the pool (spans given out by operands()), which the insertion can move.
  if (!ops.empty() && ops.data() >= pool.data() && ops.data() < pool.data() + pool.size()) {
    std::vector<Expr> copy(ops.begin(), ops.end());
    pool.insert(pool.end(), copy.begin(), copy.end());
  } else {
    pool.insert(pool.end(), ops.begin(), ops.end());
  }
  coefs.insert(coefs.end(), cs.begin(), cs.end());
  nodes.push_back(n);
  table[slot] = {e.id, static_cast<uint32_t>(h >> 32)};
  bounds.emplace_back();
  congruences.emplace_back();
  uint32_t set = 0;
  for (Expr o : operands(e)) set = union_sets(set, set_of[o.id]);
  set_of.push_back(set);
  learn(e.id);
  if (nodes.size() * 2 > table.size()) rehash(table.size() * 2);
  return e;
}

void Store::Impl::rehash(size_t slots) {
  table.assign(slots, {});
  for (uint32_t id = 0; id < nodes.size(); id++) {
    if (nodes[id].kind == Kind::Symbol) continue;  // found by name
    size_t slot = nodes[id].hash & (slots - 1);
    while (table[slot].id != UINT32_MAX) slot = (slot + 1) & (slots - 1);
    table[slot] = {id, static_cast<uint32_t>(nodes[id].hash >> 32)};
  }
}

Expr Store::Impl::add_symbol(std::string name, SymbolKind kind, Bounds b, Expr extent) {
  Expr e{static_cast<uint32_t>(nodes.size())};
  nodes.push_back({.kind = Kind::Symbol,
                   .symbol_kind = kind,
                   .value = static_cast<int64_t>(symbols.size()),
                   .hash = combine(hash_text(name), static_cast<uint64_t>(kind))});
  by_name.emplace(name, e.id);
  symbols.push_back({std::move(name), b, extent});
  bounds.emplace_back();
  congruences.emplace_back();
  set_of.push_back(intern_set({e}));
  learn(e.id);
  if (nodes.size() * 2 > table.size()) rehash(table.size() * 2);
  return e;
}

void Store::Impl::learn(uint32_t id) {
  Expr e{id};
  if (nodes[id].kind == Kind::Symbol) {
    const SymbolInfo& info = symbols[static_cast<size_t>(nodes[id].value)];
    Bounds b = info.declared;
    if (info.extent.valid()) {
      int64_t hi = bounds[info.extent.id].hi;
      b = intersect(b, {0, hi == kMax ? kMax : hi == kMin ? kMin : hi - 1});
    }
    bounds[id] = b;
    congruences[id] = b.lo == b.hi ? Congruence{0, b.lo} : Congruence{};
    return;
  }
  Congruence c = node_congruence(*this, e, [this](Expr o) { return congruences[o.id]; });
  Bounds b = tighten(node_bounds(*this, e, [this](Expr o) { return bounds[o.id]; }), c);
  bounds[id] = b;
  congruences[id] = b.lo == b.hi ? Congruence{0, b.lo} : c;
}

uint32_t Store::Impl::intern_set(std::vector<Expr> set) {
  uint64_t h = set.size();
  for (Expr e : set) h = combine(h, e.id);
  auto& ids = set_by_hash[h];
  for (uint32_t id : ids) {
    if (symbol_sets[id] == set) return id;
  }
  ids.push_back(static_cast<uint32_t>(symbol_sets.size()));
  symbol_sets.push_back(std::move(set));
  return ids.back();
}

uint32_t Store::Impl::union_sets(uint32_t a, uint32_t b) {
  if (a == b || b == 0) return a;
  if (a == 0) return b;
  if (a > b) std::swap(a, b);
  uint64_t key = uint64_t{a} << 32 | b;
  if (auto it = set_unions.find(key); it != set_unions.end()) return it->second;
  std::vector<Expr> u;
  std::ranges::set_union(symbol_sets[a], symbol_sets[b], std::back_inserter(u));
  uint32_t id = intern_set(std::move(u));
  set_unions.emplace(key, id);
  return id;
}

Store::Store() : impl_(new Impl) {
  impl_->store = this;
  impl_->symbol_sets.emplace_back();  // set 0 is empty
  impl_->table.assign(1024, {});
}
Store::~Store() { delete impl_; }

Expr Store::constant(int64_t value) { return impl_->constant(value); }

Expr Store::symbol(std::string_view name, SymbolKind kind, Bounds bounds) {
  DLCB_CHECK(!impl_->by_name.contains(std::string(name)), "symbol name is taken: " + std::string(name));
  return impl_->add_symbol(std::string(name), kind, bounds, {});
}

static std::string unused_name(Store::Impl& s, std::string_view hint) {
  std::string name(hint);
  if (!s.by_name.contains(name)) return name;
  for (int& n = s.last_suffix[name];;) {
    std::string next = name + "." + std::to_string(++n);
    if (!s.by_name.contains(next)) return next;
  }
}

Expr Store::fresh(std::string_view hint, SymbolKind kind, Bounds bounds) {
  return impl_->add_symbol(unused_name(*impl_, hint), kind, bounds, {});
}
Expr Store::param(std::string_view name, Bounds bounds) {
  const auto [at, is_new] = impl_->params.try_emplace(std::string(name), 0);
  if (is_new) at->second = fresh(name, SymbolKind::Param, bounds).id;
  return {at->second};
}
Expr Store::index(std::string_view hint, Expr extent) {
  return impl_->add_symbol(unused_name(*impl_, hint), SymbolKind::Index, {0, kMax}, extent);
}
std::optional<Expr> Store::find_symbol(std::string_view name) const {
  auto it = impl_->by_name.find(std::string(name));
  return it == impl_->by_name.end() ? std::nullopt : std::optional<Expr>(Expr{it->second});
}

Kind Store::kind(Expr e) const { return impl_->node(e).kind; }
std::optional<int64_t> Store::as_const(Expr e) const {
  return impl_->is_const(e) ? std::optional<int64_t>(impl_->node(e).value) : std::nullopt;
}
std::span<const Expr> Store::operands(Expr e) const { return impl_->operands(e); }
std::span<const int64_t> Store::coefficients(Expr e) const {
  return kind(e) == Kind::Sum ? impl_->coefficients(e) : std::span<const int64_t>{};
}
int64_t Store::sum_constant(Expr e) const {
  Kind k = kind(e);
  return k == Kind::Sum || k == Kind::Const ? impl_->node(e).value : 0;
}
double Store::scale(Expr e) const { return std::bit_cast<double>(impl_->node(e).value); }

static const SymbolInfo& info(const Store::Impl& s, Expr e) {
  DLCB_CHECK(s.node(e).kind == Kind::Symbol, "not a symbol");
  return s.symbols[static_cast<size_t>(s.node(e).value)];
}
std::string_view Store::symbol_name(Expr e) const { return info(*impl_, e).name; }
SymbolKind Store::symbol_kind(Expr e) const { return impl_->node(e).symbol_kind; }
Expr Store::index_extent(Expr e) const { return info(*impl_, e).extent; }
uint64_t Store::content_hash(Expr e) const { return impl_->node(e).hash; }

std::span<const Expr> Store::symbols(Expr e) const { return impl_->symbol_sets[impl_->set_of[e.id]]; }
bool Store::contains(Expr e, Expr symbol) const { return std::ranges::binary_search(symbols(e), symbol); }
bool Store::has_symbol_of(Expr e, SymbolKind kind) const {
  return std::ranges::any_of(symbols(e), [&](Expr s) { return symbol_kind(s) == kind; });
}

Bounds Store::bounds(Expr e) const { return impl_->bounds[e.id]; }
Congruence Store::congruence(Expr e) const { return impl_->congruences[e.id]; }

void Store::restrict(Expr symbol, Bounds bounds) {
  SymbolInfo& s = impl_->symbols[static_cast<size_t>(impl_->node(symbol).value)];
  s.declared = intersect(s.declared, bounds);
  for (uint32_t id = symbol.id; id < impl_->nodes.size(); id++) impl_->learn(id);
  for (auto& known : impl_->memo) known.clear();
}

size_t Store::size() const { return impl_->nodes.size(); }

}  // namespace dlcb::sym
