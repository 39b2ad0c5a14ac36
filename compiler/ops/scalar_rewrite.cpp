// Substitution of coordinates, of loads and of whole nodes. All walk the expression once, share results through a memo,
// follow data bindings into coordinates, and rebuild reductions through the store, which renames bound indices where
// capture threatens.
#include <algorithm>
#include <unordered_set>

#include "base/diagnostic.h"
#include "ops/replace.h"
#include "ops/scalar_impl.h"

namespace dlcb::ops {
namespace {

using SymbolMap = std::unordered_map<uint32_t, sym::Expr>;

// Rebuilds an expression bottom-up; subclasses say what becomes of a symbol and of a load.
class Rewriter {
 public:
  explicit Rewriter(ScalarStore& store) : store_(store), sym_(store.sym()) {}
  virtual ~Rewriter() = default;

  Scalar run(Scalar s) {
    if (unchanged(s)) return s;
    if (auto at = memo_.find(s.id); at != memo_.end()) return at->second;
    const Scalar result = rebuild(s);
    memo_.emplace(s.id, result);
    return result;
  }

  sym::Expr run(sym::Expr e) {
    SymbolMap map;
    const auto symbols = sym_.symbols(e);
    const std::vector<sym::Expr> copy(symbols.begin(), symbols.end());  // constructors below may move the span
    for (sym::Expr s : copy) {
      const sym::Expr to = symbol(s);
      if (to != s) map.emplace(s.id, to);
    }
    return map.empty() ? e : sym_.substitute(e, map);
  }

 protected:
  virtual bool unchanged(Scalar) { return false; }
  virtual Scalar load(const ScalarNode& n, std::vector<sym::Expr> coords) {
    return store_.load(n.dtype, n.value, std::move(coords));
  }
  virtual Scalar reduce(const ScalarNode& n) { return store_.reduce(n.reduce, n.coords, run(n.operands[0])); }
  // A data symbol follows its binding.
  virtual sym::Expr symbol(sym::Expr s) {
    const Scalar bound = store_.binding(s);
    if (!bound.valid()) return s;
    const Scalar to = run(bound);
    return to == bound ? s : store_.as_coordinate(to, sym_.bounds(s));
  }

  ScalarStore& store_;
  sym::Store& sym_;
  std::unordered_map<uint32_t, Scalar> memo_;

 private:
  Scalar rebuild(Scalar s) {
    const ScalarNode& n = store_.node(s);
    switch (n.kind) {
      case ScalarKind::ConstF:
      case ScalarKind::ConstI:
        return s;
      case ScalarKind::Index:
        return store_.index(n.dtype, run(n.index));
      case ScalarKind::Load: {
        std::vector<sym::Expr> coords;
        for (sym::Expr c : n.coords) coords.push_back(run(c));
        return load(n, std::move(coords));
      }
      case ScalarKind::Unary:
        return store_.unary(n.fn, run(n.operands[0]));
      case ScalarKind::Binary: {
        const Scalar a = run(n.operands[0]);
        return store_.binary(n.fn, a, run(n.operands[1]));
      }
      case ScalarKind::Select: {
        const Scalar c = run(n.operands[0]), a = run(n.operands[1]);
        return store_.select(c, a, run(n.operands[2]));
      }
      case ScalarKind::Cast:
        return store_.cast(n.dtype, run(n.operands[0]));
      case ScalarKind::Reduce:
        return reduce(n);
    }
    DLCB_CHECK(false, "unknown scalar kind");
  }
};

class Substitution final : public Rewriter {
 public:
  Substitution(ScalarStore& store, const SymbolMap& map) : Rewriter(store), map_(map) {}

 protected:
  bool unchanged(Scalar s) override {
    const auto free = store_.symbols(s);
    return std::none_of(free.begin(), free.end(), [&](sym::Expr e) { return map_.contains(e.id); });
  }
  sym::Expr symbol(sym::Expr s) override {
    auto at = map_.find(s.id);
    return at != map_.end() ? at->second : Rewriter::symbol(s);
  }
  // Indices keep their names unless the map speaks of them, brings them in, or changes an extent.
  Scalar reduce(const ScalarNode& n) override {
    bool rename = false;
    std::vector<sym::Expr> extents;
    for (sym::Expr i : n.coords) {
      extents.push_back(run(sym_.index_extent(i)));
      rename |= extents.back() != sym_.index_extent(i) || map_.contains(i.id) || brings_in(i);
    }
    if (!rename) return store_.reduce(n.reduce, n.coords, run(n.operands[0]));
    SymbolMap inner = map_;
    std::vector<sym::Expr> fresh;
    for (size_t p = 0; p < n.coords.size(); ++p) {
      fresh.push_back(sym_.index("b", extents[p]));
      inner[n.coords[p].id] = fresh.back();
    }
    return store_.reduce(n.reduce, fresh, Substitution(store_, inner).run(n.operands[0]));
  }

 private:
  bool brings_in(sym::Expr bound) const {
    for (const auto& [from, to] : map_) {
      for (sym::Expr s : sym_.symbols(to)) {
        if (s == bound) return true;
        const Scalar data = store_.binding(s);
        if (data.valid() && has_symbol(store_.symbols(data), bound)) return true;
      }
    }
    return false;
  }

  const SymbolMap& map_;
};

class Inliner final : public Rewriter {
 public:
  Inliner(ScalarStore& store, ValueId value, const std::function<Scalar(std::span<const sym::Expr>)>& make)
      : Rewriter(store), value_(value), make_(make) {}

 protected:
  Scalar load(const ScalarNode& n, std::vector<sym::Expr> coords) override {
    return n.value == value_ ? make_(coords) : Rewriter::load(n, std::move(coords));
  }

 private:
  ValueId value_;
  const std::function<Scalar(std::span<const sym::Expr>)>& make_;
};

// What is to be replaced counts as done.
class Replacement final : public Rewriter {
 public:
  Replacement(ScalarStore& store, const std::unordered_map<uint32_t, Scalar>& by_id) : Rewriter(store) {
    memo_ = by_id;
  }
};

}  // namespace

Scalar ScalarStore::substitute(Scalar s, const SymbolMap& by_symbol_id) {
  return by_symbol_id.empty() ? s : Substitution(*this, by_symbol_id).run(s);
}

Scalar ScalarStore::inline_load(Scalar s, ValueId value,
                                const std::function<Scalar(std::span<const sym::Expr>)>& make) {
  return Inliner(*this, value, make).run(s);
}

Scalar replace(ScalarStore& store, Scalar s, const std::unordered_map<uint32_t, Scalar>& by_id) {
  return by_id.empty() ? s : Replacement(store, by_id).run(s);
}

std::vector<Scalar> ScalarStore::loads(Scalar s) const {
  std::vector<Scalar> out;
  std::unordered_set<uint32_t> seen;  // small beside the store, which grows with the model
  auto visit = [&](auto& self, Scalar at) -> void {
    if (!seen.insert(at.id).second) return;
    const ScalarNode& n = node(at);
    auto visit_expr = [&](sym::Expr e) {
      for (sym::Expr symbol : sym_->symbols(e))
        if (Scalar bound = binding(symbol); bound.valid()) self(self, bound);
    };
    if (n.index.valid()) visit_expr(n.index);
    for (sym::Expr c : n.coords) visit_expr(n.kind == ScalarKind::Reduce ? sym_->index_extent(c) : c);
    if (n.kind == ScalarKind::Load) out.push_back(at);
    for (Scalar operand : n.operands) self(self, operand);
  };
  visit(visit, s);
  return out;
}

}  // namespace dlcb::ops
