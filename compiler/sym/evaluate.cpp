// Walks over expressions: evaluation (the semantics of the host program), substitution, and the operand-first listing.
#include <algorithm>
#include <bit>
#include <cmath>
#include <unordered_set>

#include "sym/interval.h"
#include "sym/prover.h"
#include "sym/store_impl.h"

namespace dlcb::sym {
namespace {

using Value = std::optional<int64_t>;

struct Evaluator {
  const Store::Impl& s;
  const std::function<Value(Expr)>& value_of_symbol;
  std::unordered_map<uint32_t, Value> memo;

  Value of(Expr e) {
    const Node& n = s.node(e);
    if (n.kind == Kind::Const) return n.value;
    if (auto it = memo.find(e.id); it != memo.end()) return it->second;
    Value v = n.kind == Kind::Symbol ? value_of_symbol(e) : compute(e, n);
    memo[e.id] = v;
    return v;
  }

  Value sum(Expr e, const Node& n) {
    Wide r = n.value;
    auto ops = s.operands(e);
    auto cs = s.coefficients(e);
    for (size_t i = 0; i < ops.size(); i++) {
      Value v = of(ops[i]);
      int64_t t = 0;
      if (!v || __builtin_mul_overflow(*v, cs[i], &t)) return {};
      r += t;
    }
    return r < kMin || r > kMax ? Value{} : Value{static_cast<int64_t>(r)};
  }

  Value scale(int64_t a, const Node& n) {
    double v = scaled(a, std::bit_cast<double>(n.value));
    v = n.kind == Kind::CeilScale ? std::ceil(v) : std::floor(v);
    return std::fabs(v) < 0x1p63 ? Value{static_cast<int64_t>(v)} : Value{};
  }

  Value compute(Expr e, const Node& n) {
    auto ops = s.operands(e);
    if (n.kind == Kind::Sum) return sum(e, n);
    Value a = of(ops[0]);
    if (!a) return {};
    switch (n.kind) {
      case Kind::Not:
        return *a == 0;
      case Kind::Select:
        return of(ops[*a != 0 ? 1 : 2]);  // the other branch may be missing or overflow
      case Kind::FloorScale:
      case Kind::CeilScale:
        return scale(*a, n);
      case Kind::And:
      case Kind::Or:
        a = *a != 0;
        break;
      default:
        break;
    }
    for (Expr o : ops.subspan(1)) {
      Value b = of(o);
      if (!b) return {};
      a = binary(n.kind, *a, *b);
      if (!a) return {};
    }
    return a;
  }

  static Value binary(Kind kind, int64_t a, int64_t b) {
    int64_t r = 0;
    switch (kind) {
      case Kind::Product:
        return __builtin_mul_overflow(a, b, &r) ? Value{} : Value{r};
      case Kind::FloorDiv:
        return b == 0 ? Value{0} : a == kMin && b == -1 ? Value{} : Value{floor_div(a, b)};
      case Kind::Mod:
        return b == 0 ? Value{0} : Value{floor_mod(a, b)};
      case Kind::Min:
        return std::min(a, b);
      case Kind::Max:
        return std::max(a, b);
      case Kind::Eq:
        return a == b;
      case Kind::Le:
        return a <= b;
      case Kind::Lt:
        return a < b;
      case Kind::And:
        return a != 0 && b != 0;
      case Kind::Or:
        return a != 0 || b != 0;
      default:
        return {};
    }
  }
};

void visit(const Store::Impl& s, Expr e, std::unordered_set<uint32_t>& seen, std::vector<Expr>& out) {
  if (!seen.insert(e.id).second) return;
  for (Expr o : s.operands(e)) visit(s, o, seen, out);
  out.push_back(e);
}

}  // namespace

std::optional<int64_t> Store::evaluate(Expr e,
                                       const std::function<std::optional<int64_t>(Expr)>& value_of_symbol) const {
  return Evaluator{*impl_, value_of_symbol, {}}.of(e);
}

std::vector<Expr> topological(const Store& store, std::span<const Expr> roots) {
  std::unordered_set<uint32_t> seen;  // small beside the store, which grows with the model
  std::vector<Expr> out;
  for (Expr e : roots) visit(store.impl(), e, seen, out);
  return out;
}

static Expr substituted(Store::Impl& s, Expr e, const std::unordered_map<uint32_t, Expr>& by_symbol_id,
                        std::unordered_map<uint32_t, Expr>& memo) {
  if (s.set_of[e.id] == 0) return e;
  if (s.node(e).kind == Kind::Symbol) {
    auto it = by_symbol_id.find(e.id);
    return it == by_symbol_id.end() ? e : it->second;
  }
  if (auto it = memo.find(e.id); it != memo.end()) return it->second;
  bool touched =
      std::ranges::any_of(s.symbol_sets[s.set_of[e.id]], [&](Expr x) { return by_symbol_id.contains(x.id); });
  Expr result = e;
  if (touched) {
    auto span = s.operands(e);
    std::vector<Expr> before(span.begin(), span.end()), after;
    for (Expr o : before) after.push_back(substituted(s, o, by_symbol_id, memo));
    Prover k(s);
    if (after != before) result = s.rebuild(k, e, after);
  }
  memo.emplace(e.id, result);
  return result;
}

Expr Store::substitute(Expr e, const std::unordered_map<uint32_t, Expr>& by_symbol_id) {
  std::unordered_map<uint32_t, Expr> memo;
  return by_symbol_id.empty() ? e : substituted(*impl_, e, by_symbol_id, memo);
}
Expr Store::substitute(Expr e, Expr symbol, Expr value) { return substitute(e, {{symbol.id, value}}); }

}  // namespace dlcb::sym
