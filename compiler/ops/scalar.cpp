// Construction of scalar expressions. The point of care is binders: a Reduce names its indices by (nesting height,
// position, extent), so alpha-equivalent expressions are one node, and a name is skipped when it is free in the body,
// so that no substitution captures.
#include "ops/scalar.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/diagnostic.h"
#include "ops/arithmetic.h"
#include "ops/scalar_impl.h"

namespace dlcb::ops {
namespace {

uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15ull;
  return hash ^ (hash >> 29);
}

std::string hex8(uint64_t v) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out(8, '0');
  for (int i = 7; i >= 0; --i, v >>= 4) out[i] = kDigits[v & 15];
  return out;
}

bool same(const ScalarNode& a, const ScalarNode& b) {
  return a.kind == b.kind && a.dtype == b.dtype && a.fn == b.fn && a.reduce == b.reduce &&
         std::bit_cast<uint64_t>(a.f) == std::bit_cast<uint64_t>(b.f) && a.i == b.i && a.value == b.value &&
         a.index == b.index && a.coords == b.coords && a.operands == b.operands;
}

}  // namespace

bool has_symbol(std::span<const sym::Expr> sorted, sym::Expr symbol) {
  return std::binary_search(sorted.begin(), sorted.end(), symbol);
}

sym::Expr ScalarStore::Impl::bound_index(sym::Store& sym, uint32_t height, uint32_t position, sym::Expr extent) {
  auto [at, fresh] = bound.try_emplace({height, position, extent.id});
  if (fresh) {
    // The name enters content hashes, so it is made of what identifies the index and nothing else.
    const std::string name = (height ? "r" + std::to_string(height) : "t") + "_" + std::to_string(position) + "_" +
                             hex8(sym.content_hash(extent));
    at->second = sym.index(name, extent);
    bound_index_of[at->second.id] = {height, position};
  }
  return at->second;
}

void ScalarStore::Impl::add_free(const sym::Store& sym, sym::Expr e, std::vector<sym::Expr>& out) const {
  for (sym::Expr s : sym.symbols(e)) {
    out.push_back(s);
    if (auto at = binding_of.find(s.id); at != binding_of.end()) {
      const auto& inner = known[at->second.id].free;
      out.insert(out.end(), inner.begin(), inner.end());
    }
  }
}

uint32_t ScalarStore::Impl::height_of(const sym::Store& sym, sym::Expr e) const {
  uint32_t height = 0;
  for (sym::Expr s : sym.symbols(e))
    if (auto at = binding_of.find(s.id); at != binding_of.end()) height = std::max(height, known[at->second.id].height);
  return height;
}

Scalar ScalarStore::Impl::intern(const sym::Store& sym, ScalarNode node) {
  Known k;
  uint64_t h = mix(static_cast<uint64_t>(node.kind) << 24 | static_cast<uint64_t>(node.dtype) << 16 |
                       static_cast<uint64_t>(node.fn) << 8 | static_cast<uint64_t>(node.reduce),
                   std::bit_cast<uint64_t>(node.f));
  h = mix(mix(h, static_cast<uint64_t>(node.i)), node.value.id);
  auto add_expr = [&](sym::Expr e) {
    h = mix(h, sym.content_hash(e));
    add_free(sym, e, k.free);
    k.height = std::max(k.height, height_of(sym, e));
  };
  if (node.index.valid()) add_expr(node.index);
  if (node.kind != ScalarKind::Reduce) {
    for (sym::Expr c : node.coords) add_expr(c);
  }
  for (Scalar s : node.operands) {
    h = mix(h, known[s.id].hash);
    k.free.insert(k.free.end(), known[s.id].free.begin(), known[s.id].free.end());
    k.height = std::max(k.height, known[s.id].height);
  }
  if (node.kind == ScalarKind::Reduce) {
    std::erase_if(
        k.free, [&](sym::Expr s) { return std::find(node.coords.begin(), node.coords.end(), s) != node.coords.end(); });
    for (sym::Expr bound_symbol : node.coords) {
      h = mix(h, sym.content_hash(bound_symbol));
      const sym::Expr extent = sym.index_extent(bound_symbol);
      add_free(sym, extent, k.free);
      k.height = std::max({k.height, bound_index_of.at(bound_symbol.id).height, height_of(sym, extent)});
    }
  }
  auto [first, last] = by_hash.equal_range(h);
  for (auto at = first; at != last; ++at)
    if (same(nodes[at->second], node)) return Scalar{at->second};
  std::sort(k.free.begin(), k.free.end());
  k.free.erase(std::unique(k.free.begin(), k.free.end()), k.free.end());
  k.hash = h;
  const auto id = static_cast<uint32_t>(nodes.size());
  nodes.push_back(std::move(node));
  known.push_back(std::move(k));
  by_hash.emplace(h, id);
  return Scalar{id};
}

ScalarStore::ScalarStore(sym::Store& sym) : sym_(&sym), impl_(std::make_unique<Impl>()) {}
ScalarStore::~ScalarStore() = default;

const ScalarNode& ScalarStore::node(Scalar s) const { return impl_->nodes[s.id]; }
uint64_t ScalarStore::content_hash(Scalar s) const { return impl_->known[s.id].hash; }
std::span<const sym::Expr> ScalarStore::symbols(Scalar s) const { return impl_->known[s.id].free; }

Scalar ScalarStore::constant_f(DType t, double v) {
  DLCB_CHECK(is_float(t), "constant_f needs a float type");
  ScalarNode n{.kind = ScalarKind::ConstF, .dtype = t};
  n.f = std::isnan(v) ? std::numeric_limits<double>::quiet_NaN() : round_to(t, v);
  return impl_->intern(*sym_, std::move(n));
}

Scalar ScalarStore::constant_i(DType t, int64_t v) {
  DLCB_CHECK(!is_float(t), "constant_i needs an integer type");
  ScalarNode n{.kind = ScalarKind::ConstI, .dtype = t};
  n.i = wrap_to(t, v);
  return impl_->intern(*sym_, std::move(n));
}

Scalar ScalarStore::constant(DType t, double v) {
  return is_float(t) ? constant_f(t, v) : constant_i(t, float_to_integer(t, v));
}

Scalar ScalarStore::load(DType t, ValueId value, std::vector<sym::Expr> coords) {
  ScalarNode n{.kind = ScalarKind::Load, .dtype = t};
  n.value = value;
  n.coords = std::move(coords);
  return impl_->intern(*sym_, std::move(n));
}

Scalar ScalarStore::index(DType t, sym::Expr e) {
  DLCB_CHECK(!is_float(t), "index needs an integer type");
  if (auto v = sym_->as_const(e)) return constant_i(t, *v);
  ScalarNode n{.kind = ScalarKind::Index, .dtype = t};
  n.index = e;
  return impl_->intern(*sym_, std::move(n));
}

namespace {

// True if an integer type holds every value that e can take, so that computing with e as an unbounded integer is exact.
bool holds(const sym::Store& sym, DType t, sym::Expr e) {
  if (t == DType::I64) return true;
  if (t == DType::U64) return sym.bounds(e).lo >= 0;
  const sym::Bounds b = sym.bounds(e);
  return b.lo >= lowest_integer(t) && b.hi <= highest_integer(t);
}

struct Fold {  // what the folding rules need to see of an operand
  const ScalarNode& n;
  bool is_const() const { return n.kind == ScalarKind::ConstF || n.kind == ScalarKind::ConstI; }
  bool is(double v) const {
    return n.kind == ScalarKind::ConstF ? n.f == v && !(v == 0 && std::signbit(n.f))
                                        : n.kind == ScalarKind::ConstI && n.i == v;
  }
  bool has_expr() const { return n.kind == ScalarKind::Index || n.kind == ScalarKind::ConstI; }
};

sym::Expr expr_of(sym::Store& sym, const ScalarNode& n) {
  return n.kind == ScalarKind::ConstI ? sym.constant(n.i) : n.index;
}

// Integer functions that sym can express, over expressions.
std::optional<sym::Expr> as_expr(sym::Store& sym, Fn fn, sym::Expr a, sym::Expr b) {
  switch (fn) {
    case Fn::Add:
      return sym.add(a, b);
    case Fn::Sub:
      return sym.sub(a, b);
    case Fn::Mul:
      return sym.mul(a, b);
    case Fn::Min:
      return sym.min(a, b);
    case Fn::Max:
      return sym.max(a, b);
    case Fn::Eq:
      return sym.eq(a, b);
    case Fn::Ne:
      return sym.ne(a, b);
    case Fn::Lt:
      return sym.lt(a, b);
    case Fn::Le:
      return sym.le(a, b);
    case Fn::And:
      return sym.logical_and(a, b);
    case Fn::Or:
      return sym.logical_or(a, b);
    case Fn::Mod:
      return sym.mod(a, b);
    case Fn::Div:
    case Fn::Rem:  // truncation equals floor for operands of one sign
      if (sym.bounds(a).lo < 0 || sym.bounds(b).lo < 0) return std::nullopt;
      return fn == Fn::Div ? sym.floordiv(a, b) : sym.mod(a, b);
    default:
      return std::nullopt;
  }
}

}  // namespace

Scalar ScalarStore::unary(Fn fn, Scalar a) {
  const Fold f{node(a)};
  const DType t = f.n.dtype;
  DLCB_CHECK(is_unary(fn) && accepts(fn, t), std::string(name_of(fn)) + " of " + std::string(dlcb::name_of(t)));
  const DType result = result_type(fn, t);
  if (!is_float(t) && (fn == Fn::Floor || fn == Fn::Ceil || fn == Fn::Round)) return a;
  if (f.n.kind == ScalarKind::ConstF) {
    if (result == DType::Bool) return constant_i(result, apply_test(fn, f.n.f));
    return constant_f(result, apply_f(fn, t, f.n.f));
  }
  if (f.n.kind == ScalarKind::ConstI) return constant_i(result, apply_i(fn, t, f.n.i));
  if (f.n.kind == ScalarKind::Index) {
    if (fn == Fn::Not) return index(t, sym_->logical_not(f.n.index));
    if (fn == Fn::Neg && holds(*sym_, t, sym_->neg(f.n.index))) return index(t, sym_->neg(f.n.index));
  }
  if (f.n.kind == ScalarKind::Unary && f.n.fn == fn && (fn == Fn::Neg || fn == Fn::Not || fn == Fn::BitNot))
    return f.n.operands[0];
  ScalarNode n{.kind = ScalarKind::Unary, .dtype = result};
  n.fn = fn;
  n.operands = {a};
  return impl_->intern(*sym_, std::move(n));
}

Scalar ScalarStore::binary(Fn fn, Scalar a, Scalar b) {
  const Fold x{node(a)}, y{node(b)};
  const DType t = x.n.dtype;
  DLCB_CHECK(!is_unary(fn) && t == y.n.dtype && accepts(fn, t), std::string(name_of(fn)) + " of " +
                                                                    std::string(dlcb::name_of(t)) + " and " +
                                                                    std::string(dlcb::name_of(y.n.dtype)));
  const DType result = result_type(fn, t);
  if (x.is_const() && y.is_const()) {
    if (!is_float(t)) return constant_i(result, apply_i(fn, t, x.n.i, y.n.i));
    return result == DType::Bool ? constant_i(result, apply_test(fn, x.n.f, y.n.f))
                                 : constant_f(result, apply_f(fn, t, x.n.f, y.n.f));
  }
  if (x.has_expr() && y.has_expr() && t != DType::U64) {
    auto e = as_expr(*sym_, fn, expr_of(*sym_, x.n), expr_of(*sym_, y.n));
    if (e && (result == DType::Bool || holds(*sym_, result, *e))) return index(result, *e);
  }
  const bool integral = !is_float(t);
  if (fn == Fn::Add && integral && x.is(0)) return b;
  if (fn == Fn::Add && integral && y.is(0)) return a;
  if (fn == Fn::Sub && y.is(0)) return a;  // exact for floats too: -0 - 0 is -0
  if (fn == Fn::Mul && x.is(1)) return b;
  if ((fn == Fn::Mul || fn == Fn::Div || fn == Fn::Pow) && y.is(1)) return a;
  if (fn == Fn::Mul && integral && (x.is(0) || y.is(0))) return constant_i(t, 0);
  if ((fn == Fn::Min || fn == Fn::Max || fn == Fn::And || fn == Fn::Or) && a == b) return a;
  if (fn == Fn::And || fn == Fn::Or) {
    const double neutral = fn == Fn::And, absorbing = 1 - neutral;
    if (x.is(neutral) || y.is(absorbing)) return b;
    if (y.is(neutral) || x.is(absorbing)) return a;
  }
  ScalarNode n{.kind = ScalarKind::Binary, .dtype = result};
  n.fn = fn;
  n.operands = {a, b};
  return impl_->intern(*sym_, std::move(n));
}

Scalar ScalarStore::select(Scalar cond, Scalar a, Scalar b) {
  const ScalarNode& c = node(cond);
  DLCB_CHECK(c.dtype == DType::Bool && dtype(a) == dtype(b), "select needs a bool and two operands of one type");
  if (c.kind == ScalarKind::ConstI) return c.i ? a : b;
  if (a == b) return a;
  if (c.kind == ScalarKind::Unary && c.fn == Fn::Not) return select(c.operands[0], b, a);
  ScalarNode n{.kind = ScalarKind::Select, .dtype = dtype(a)};
  n.operands = {cond, a, b};
  return impl_->intern(*sym_, std::move(n));
}

Scalar ScalarStore::cast(DType t, Scalar a) {
  const ScalarNode& x = node(a);
  if (x.dtype == t) return a;
  if (x.kind == ScalarKind::ConstF) return is_float(t) ? constant_f(t, x.f) : constant_i(t, float_to_integer(t, x.f));
  if (x.kind == ScalarKind::ConstI)
    return is_float(t) ? constant_f(t, integer_to_float(x.dtype, x.i, t)) : constant_i(t, x.i);
  if (x.kind == ScalarKind::Index) {
    if (t == DType::Bool) return index(t, sym_->ne(x.index, sym_->constant(0)));
    if (is_integer(t) && holds(*sym_, t, x.index)) return index(t, x.index);
  }
  ScalarNode n{.kind = ScalarKind::Cast, .dtype = t};
  n.operands = {a};
  return impl_->intern(*sym_, std::move(n));
}

// Renames to the canonical indices of the lowest height above every reduction inside whose names are not free in the
// body.
void ScalarStore::canonicalise(std::vector<sym::Expr>& indices, Scalar& body) {
  auto canonical = [&](uint32_t height) {
    std::vector<sym::Expr> names;
    for (uint32_t p = 0; p < indices.size(); ++p)
      names.push_back(impl_->bound_index(*sym_, height, p, sym_->index_extent(indices[p])));
    return names;
  };
  if (canonical(impl_->known[body.id].height + 1) == indices) return;
  auto rename = [&](const std::vector<sym::Expr>& to) {
    std::unordered_map<uint32_t, sym::Expr> map;
    for (size_t p = 0; p < indices.size(); ++p)
      if (indices[p] != to[p]) map[indices[p].id] = to[p];
    body = substitute(body, map);
    indices = to;
  };
  auto is_bound_name = [&](sym::Expr i) { return impl_->bound_index_of.contains(i.id); };
  if (std::any_of(indices.begin(), indices.end(), is_bound_name)) rename(stand_ins(indices, body));
  uint32_t height = impl_->known[body.id].height + 1;
  auto blocked = [&](const std::vector<sym::Expr>& names) {
    return std::any_of(names.begin(), names.end(), [&](sym::Expr n) { return has_symbol(symbols(body), n); });
  };
  std::vector<sym::Expr> names = canonical(height);
  while (blocked(names)) names = canonical(++height);
  rename(names);
}

// Names that occur nowhere in the body. A canonical name that was bound elsewhere becomes one first, so that it does
// not push the names of inner reductions up.
std::vector<sym::Expr> ScalarStore::stand_ins(const std::vector<sym::Expr>& indices, Scalar body) {
  std::vector<sym::Expr> out;
  auto in = [](const std::vector<sym::Expr>& list, sym::Expr e) {
    return std::find(list.begin(), list.end(), e) != list.end();
  };
  for (sym::Expr i : indices) {
    uint32_t position = 0;
    sym::Expr s;
    do {
      s = impl_->bound_index(*sym_, 0, position++, sym_->index_extent(i));
    } while (has_symbol(symbols(body), s) || in(out, s) || in(indices, s));
    out.push_back(s);
  }
  return out;
}

Scalar ScalarStore::reduce(ReduceFn fn, std::vector<sym::Expr> indices, Scalar body) {
  const DType t = dtype(body);
  std::unordered_map<uint32_t, sym::Expr> single;  // an index of extent 1 is 0
  std::erase_if(indices, [&](sym::Expr i) {
    const sym::Expr extent = sym_->index_extent(i);
    DLCB_CHECK(extent.valid(), "a reduction index must come from Store::index");
    if (!sym_->is_const(extent, 1)) return false;
    single[i.id] = sym_->constant(0);
    return true;
  });
  if (!single.empty()) body = substitute(body, single);
  if (indices.empty()) return body;
  for (sym::Expr i : indices)
    if (sym_->is_const(sym_->index_extent(i), 0))
      return is_float(t) ? constant_f(t, reduce_identity_f(fn)) : constant_i(t, reduce_identity_i(fn, t));

  canonicalise(indices, body);
  ScalarNode n{.kind = ScalarKind::Reduce, .dtype = t};
  n.reduce = fn;
  n.coords = std::move(indices);
  n.operands = {body};
  return impl_->intern(*sym_, std::move(n));
}

sym::Expr ScalarStore::as_coordinate(Scalar integer, sym::Bounds bounds) {
  const ScalarNode& n = node(integer);
  DLCB_CHECK(!is_float(n.dtype), "a coordinate must be an integer");
  if (n.kind == ScalarKind::ConstI) return sym_->constant(n.i);
  if (n.kind == ScalarKind::Index) return n.index;
  if (n.kind == ScalarKind::Cast && size_of(n.dtype) >= size_of(dtype(n.operands[0])) &&
      dtype(n.operands[0]) != DType::U64 && !is_float(dtype(n.operands[0])) &&
      lowest_integer(n.dtype) <= lowest_integer(dtype(n.operands[0])))
    return as_coordinate(n.operands[0], bounds);  // widening
  if (auto at = impl_->symbol_of.find(integer.id); at != impl_->symbol_of.end()) return at->second;
  const uint64_t hash = content_hash(integer);
  const sym::Expr symbol = sym_->fresh("d_" + hex8(hash >> 32) + hex8(hash), sym::SymbolKind::Data, bounds);
  impl_->symbol_of[integer.id] = symbol;
  impl_->binding_of[symbol.id] = integer;
  return symbol;
}

std::optional<BoundIndex> ScalarStore::bound_index(sym::Expr symbol) const {
  auto at = impl_->bound_index_of.find(symbol.id);
  return at == impl_->bound_index_of.end() ? std::nullopt : std::optional(at->second);
}

Scalar ScalarStore::binding(sym::Expr data_symbol) const {
  auto at = impl_->binding_of.find(data_symbol.id);
  return at == impl_->binding_of.end() ? Scalar{} : at->second;
}

}  // namespace dlcb::ops
