// Matching of the rows of rules.def. Sums and products match up to order: structured parts of a pattern look for a part
// of the subject, bound names are taken out of it, and the last free name takes what is left.
#include "sym/rules.h"

#include <algorithm>
#include <functional>

#include "sym/decide.h"

namespace dlcb::sym {
namespace {

constexpr Rule kRules[] = {
#define RULE(name, left, right, guard, law) {#name, left, right, guard, law},
#include "sym/rules.def"
#undef RULE
};

struct Compiled {
  Expr left, right, guard;
};

struct Patterns {
  Store store;
  std::vector<Compiled> rows;

  Patterns() {
    declare_rule_names(store);
    auto read = [this](std::string_view text) {
      Result<Expr> e = parse(store, text, false);
      DLCB_CHECK(e, "malformed rule: " + std::string(text));
      return *e;
    };
    for (const Rule& r : kRules) rows.push_back({read(r.left), read(r.right), read(r.guard)});
  }
};

const Patterns& patterns() {
  static const Patterns p;
  return p;
}

using Next = std::function<bool()>;

class Matcher {
 public:
  Matcher(const Store::Impl& patterns, Store::Impl& subjects) : p_(patterns), s_(subjects) {}

  bool match(Expr pat, Expr e, const Next& next) {
    const Node& n = p_.node(pat);
    switch (n.kind) {
      case Kind::Const:
        return s_.is_const(e, n.value) && next();
      case Kind::Symbol:
        return bind(pat, e, next);
      case Kind::Sum:
        return match_sum(free_last(p_.operands(pat)), 0, s_.to_poly(e), next);
      case Kind::Product:
        return match_product(free_last(p_.operands(pat)), 0, as_factors(e), next);
      default:
        break;
    }
    if (s_.node(e).kind != n.kind) return false;
    auto span = s_.operands(e);
    std::vector<Expr> ops(span.begin(), span.end());
    switch (n.kind) {
      case Kind::Min:
      case Kind::Max:
      case Kind::And:
      case Kind::Or:
        return match_nary(n.kind, p_.operands(pat)[0], p_.operands(pat)[1], ops, next);
      case Kind::Eq:
        if (match_list(p_.operands(pat), {ops[1], ops[0]}, 0, next)) return true;
        [[fallthrough]];
      default:
        return match_list(p_.operands(pat), ops, 0, next);
    }
  }

  Expr build(Expr pat) {
    const Node& n = p_.node(pat);
    if (n.kind == Kind::Const) return s_.constant(n.value);
    if (n.kind == Kind::Symbol) return *bound(pat);
    std::vector<Expr> o;
    for (Expr x : p_.operands(pat)) o.push_back(build(x));
    Store& s = *s_.store;
    switch (n.kind) {
      case Kind::Sum: {
        for (size_t i = 0; i < o.size(); i++) o[i] = s.mul(o[i], s.constant(p_.coefficients(pat)[i]));
        o.push_back(s.constant(n.value));
        return s.add(o);
      }
      case Kind::Product:
        return s.mul(o);
      case Kind::FloorDiv:
        return s.floordiv(o[0], o[1]);
      case Kind::Mod:
        return s.mod(o[0], o[1]);
      case Kind::Min:
        return s.min(o[0], o[1]);
      case Kind::Max:
        return s.max(o[0], o[1]);
      case Kind::Select:
        return s.select(o[0], o[1], o[2]);
      case Kind::Eq:
        return s.eq(o[0], o[1]);
      case Kind::Le:
        return s.le(o[0], o[1]);
      case Kind::Lt:
        return s.lt(o[0], o[1]);
      case Kind::Not:
        return s.logical_not(o[0]);
      case Kind::And:
      case Kind::Or:
        return s_.and_or(n.kind, o);
      default:
        internal_error("rules use no such operator", __FILE__, __LINE__);
    }
  }

 private:
  std::optional<Expr> bound(Expr pat) const {
    for (auto [symbol, e] : bindings_) {
      if (symbol == pat) return e;
    }
    return std::nullopt;
  }

  bool bind(Expr pat, Expr e, const Next& next) {
    if (auto b = bound(pat)) return *b == e && next();
    char first = p_.symbols[static_cast<size_t>(p_.node(pat).value)].name[0];
    if (first == 'k' && !s_.is_const(e)) return false;
    if ((first == 'p' || first == 'q') && !s_.is_boolean(e)) return false;
    bindings_.emplace_back(pat, e);
    if (next()) return true;
    bindings_.pop_back();
    return false;
  }

  // Structured parts first, then names.
  std::vector<Expr> free_last(std::span<const Expr> ops) const {
    std::vector<Expr> r(ops.begin(), ops.end());
    std::ranges::stable_partition(r, [this](Expr e) { return p_.node(e).kind != Kind::Symbol; });
    return r;
  }

  std::vector<Expr> as_factors(Expr e) {
    Poly p = s_.to_poly(e);
    if (p.constant != 0 || p.terms.size() != 1) return {e};
    auto fs = s_.factors(p.terms[0].mono);
    std::vector<Expr> r(fs.begin(), fs.end());
    if (p.terms[0].coef != 1) r.push_back(s_.constant(p.terms[0].coef));
    return r;
  }

  bool match_list(std::span<const Expr> pats, std::vector<Expr> ops, size_t i, const Next& next) {
    if (i == pats.size()) return next();
    return match(pats[i], ops[i], [&, i] { return match_list(pats, ops, i + 1, next); });
  }

  bool match_nary(Kind kind, Expr first, Expr second, const std::vector<Expr>& ops, const Next& next) {
    for (auto [one, others] : {std::pair(first, second), std::pair(second, first)}) {
      for (size_t i = 0; i < ops.size(); i++) {
        std::vector<Expr> rest = ops;
        rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
        Expr remainder = rest.size() == 1 ? rest[0] : s_.intern(kind, rest);
        if (match(one, ops[i], [&] { return match(others, remainder, next); })) return true;
      }
    }
    return false;
  }

  // Rows keep to sums of parts with coefficient 1 and constant 0, see tests/rules.
  bool match_sum(const std::vector<Expr>& parts, size_t i, const Poly& rest, const Next& next) {
    if (i == parts.size()) return rest.is_const() && rest.constant == 0 && next();
    Expr part = parts[i];
    if (rest.overflow) return false;
    if (p_.node(part).kind == Kind::Symbol) {
      if (auto b = bound(part)) return match_sum(parts, i + 1, s_.add(rest, s_.to_poly(*b), -1), next);
      if (p_.symbols[static_cast<size_t>(p_.node(part).value)].name[0] == 'k') {
        Poly without = rest;
        without.constant = 0;
        return rest.constant != 0 &&
               bind(part, s_.constant(rest.constant), [&] { return match_sum(parts, i + 1, without, next); });
      }
      if (i + 1 == parts.size()) return bind(part, s_.from_poly(rest), next);
    }
    for (const Term& t : rest.terms) {
      Poly one{.terms = {t}};
      Poly others = s_.add(rest, one, -1);
      if (match(part, s_.from_poly(one), [&] { return match_sum(parts, i + 1, others, next); })) return true;
    }
    return false;
  }

  bool match_product(const std::vector<Expr>& parts, size_t i, const std::vector<Expr>& rest, const Next& next) {
    if (i == parts.size()) return rest.empty() && next();
    Expr part = parts[i];
    if (p_.node(part).kind == Kind::Symbol) {
      if (auto b = bound(part)) {
        std::vector<Expr> left = rest;
        for (Expr f : as_factors(*b)) {
          auto it = std::ranges::find(left, f);
          if (it == left.end()) return false;
          left.erase(it);
        }
        return match_product(parts, i + 1, left, next);
      }
      if (i + 1 == parts.size()) return !rest.empty() && bind(part, s_.store->mul(rest), next);
    }
    for (size_t j = 0; j < rest.size(); j++) {
      std::vector<Expr> others = rest;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(j));
      if (match(part, rest[j], [&] { return match_product(parts, i + 1, others, next); })) return true;
    }
    return false;
  }

  const Store::Impl& p_;
  Store::Impl& s_;
  std::vector<std::pair<Expr, Expr>> bindings_;
};

Expr apply_at_root(Store::Impl& s, Prover& k, Expr e) {
  const Patterns& all = patterns();
  const Store::Impl& p = all.store.impl();
  Kind kind = s.node(e).kind;
  for (const Compiled& row : all.rows) {
    Kind root = p.node(row.left).kind;
    if (root != kind && !(root == Kind::Product && kind == Kind::Sum)) continue;
    Matcher m(p, s);
    Expr result = e;
    auto guarded = [&] {
      if (decide(s, k, m.build(row.guard)) != Tri::Yes) return false;
      result = m.build(row.right);
      return result != e;
    };
    if (m.match(row.left, e, guarded)) return result;
  }
  return e;
}

}  // namespace

std::span<const Rule> rules() { return kRules; }

void declare_rule_names(Store& store) {
  for (std::string_view name : {"x", "y", "z", "k"}) store.symbol(name, SymbolKind::Param, {kMin, kMax});
  for (std::string_view name : {"p", "q"}) store.symbol(name, SymbolKind::Param, {0, 1});
}

int64_t rule_weight(const Store& store, Expr e) {
  int64_t w = 0;
  switch (store.kind(e)) {
    case Kind::Const:
    case Kind::Symbol:
      return 1;
    case Kind::Sum:
      w = 1 + (store.sum_constant(e) != 0);
      break;
    case Kind::Product:
      w = 2;
      break;
    case Kind::FloorDiv:
    case Kind::Mod:
      w = 16;
      break;
    case Kind::Select:
      w = 12;
      break;
    case Kind::Min:
    case Kind::Max:
      w = 8;
      break;
    default:
      w = 2;
  }
  for (Expr o : store.operands(e)) w += rule_weight(store, o);
  return w;
}

Expr apply_rules(Store::Impl& s, Prover& k, Expr e) {
  const Node n = s.node(e);
  if (n.kind == Kind::Const || n.kind == Kind::Symbol) return e;
  if (n.kind != Kind::Sum || n.opaque || (n.count == 1 && n.value == 0)) return apply_at_root(s, k, e);
  Poly p = s.to_poly(e);  // rows for products also see coefficient * term inside a sum
  for (const Term& t : p.terms) {
    if (s.node(t.mono).kind != Kind::Product && t.coef == 1) continue;
    Expr part = s.from_poly({.terms = {t}});
    Expr better = apply_at_root(s, k, part);
    if (better == part) continue;
    Poly total = s.add(s.add(p, {.terms = {t}}, -1), s.to_poly(better));
    if (!total.overflow) return s.from_poly(total);
  }
  return apply_at_root(s, k, e);
}

}  // namespace dlcb::sym
