// Random expressions for property tests: a plain tree that is evaluated by the definitions of sym/laws.md alone, and
// the same tree built through the Store's constructors.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "sym/expr.h"
#include "sym/scale.h"

namespace dlcb::sym::test {

struct Tree {
  Kind kind = Kind::Const;
  int64_t value = 0;  // Const: value; Symbol: index in the list of symbols
  double scale = 1;
  std::vector<Tree> kids;
};

inline bool mentions(const Tree& t, int64_t symbol) {
  if (t.kind == Kind::Symbol) return t.value == symbol;
  return std::any_of(t.kids.begin(), t.kids.end(), [&](const Tree& k) { return mentions(k, symbol); });
}

inline int64_t reference_div(int64_t a, int64_t b) {
  return b == 0 ? 0 : static_cast<int64_t>(std::floor(static_cast<long double>(a) / static_cast<long double>(b)));
}

inline int64_t reference(const Tree& t, const std::vector<int64_t>& values) {
  std::vector<int64_t> v;
  for (const Tree& k : t.kids) v.push_back(reference(k, values));
  switch (t.kind) {
    case Kind::Const:
      return t.value;
    case Kind::Symbol:
      return values[static_cast<size_t>(t.value)];
    case Kind::Sum:
      return v[0] + v[1];
    case Kind::Product:
      return v[0] * v[1];
    case Kind::FloorDiv:
      return reference_div(v[0], v[1]);
    case Kind::Mod:
      return v[1] == 0 ? 0 : v[0] - v[1] * reference_div(v[0], v[1]);
    case Kind::Min:
      return std::min(v[0], v[1]);
    case Kind::Max:
      return std::max(v[0], v[1]);
    case Kind::Select:
      return v[0] != 0 ? v[1] : v[2];
    case Kind::Eq:
      return v[0] == v[1];
    case Kind::Le:
      return v[0] <= v[1];
    case Kind::Lt:
      return v[0] < v[1];
    case Kind::And:
      return v[0] != 0 && v[1] != 0;
    case Kind::Or:
      return v[0] != 0 || v[1] != 0;
    case Kind::Not:
      return v[0] == 0;
    case Kind::FloorScale:
      return static_cast<int64_t>(std::floor(sym::scaled(v[0], t.scale)));
    case Kind::CeilScale:
      return static_cast<int64_t>(std::ceil(sym::scaled(v[0], t.scale)));
  }
  return 0;
}

inline Expr build(Store& s, const Tree& t, const std::vector<Expr>& symbols) {
  std::vector<Expr> v;
  for (const Tree& k : t.kids) v.push_back(build(s, k, symbols));
  switch (t.kind) {
    case Kind::Const:
      return s.constant(t.value);
    case Kind::Symbol:
      return symbols[static_cast<size_t>(t.value)];
    case Kind::Sum:
      return s.add(v[0], v[1]);
    case Kind::Product:
      return s.mul(v[0], v[1]);
    case Kind::FloorDiv:
      return s.floordiv(v[0], v[1]);
    case Kind::Mod:
      return s.mod(v[0], v[1]);
    case Kind::Min:
      return s.min(v[0], v[1]);
    case Kind::Max:
      return s.max(v[0], v[1]);
    case Kind::Select:
      return s.select(v[0], v[1], v[2]);
    case Kind::Eq:
      return s.eq(v[0], v[1]);
    case Kind::Le:
      return s.le(v[0], v[1]);
    case Kind::Lt:
      return s.lt(v[0], v[1]);
    case Kind::And:
      return s.logical_and(v[0], v[1]);
    case Kind::Or:
      return s.logical_or(v[0], v[1]);
    case Kind::Not:
      return s.logical_not(v[0]);
    case Kind::FloorScale:
      return s.floor_scale(v[0], t.scale);
    case Kind::CeilScale:
      return s.ceil_scale(v[0], t.scale);
  }
  return {};
}

class Random {
 public:
  Random(uint32_t seed, size_t symbols) : engine_(seed), symbols_(symbols) {}
  int64_t in(int64_t lo, int64_t hi) {
    return lo + static_cast<int64_t>(engine_() % static_cast<uint64_t>(hi - lo + 1));
  }

  Tree leaf() {
    if (in(0, 3) == 0) return {.kind = Kind::Const, .value = in(-4, 9), .kids = {}};
    return {.kind = Kind::Symbol, .value = in(0, static_cast<int64_t>(symbols_) - 1), .kids = {}};
  }
  Tree positive_const() { return {.kind = Kind::Const, .value = in(1, 8), .kids = {}}; }

  Tree integer(int depth) {
    if (depth == 0) return leaf();
    switch (in(0, 13)) {
      case 0:
      case 1:
      case 2:
        return two(Kind::Sum, depth);
      case 3:
        return {.kind = Kind::Product, .kids = {positive_const(), integer(depth - 1)}};
      case 4:
        return two(Kind::Product, depth);
      case 5:
      case 6:
        return {.kind = Kind::FloorDiv, .kids = {integer(depth - 1), positive_const()}};
      case 7:
        return two(Kind::FloorDiv, depth);
      case 8:
        return {.kind = Kind::Mod, .kids = {integer(depth - 1), positive_const()}};
      case 9:
        return two(Kind::Mod, depth);
      case 10:
        return two(Kind::Min, depth);
      case 11:
        return two(Kind::Max, depth);
      case 12:
        return {.kind = Kind::Select, .kids = {boolean(depth - 1), integer(depth - 1), integer(depth - 1)}};
      default: {
        constexpr double kScales[] = {0.5, 2, 1.5, 1.0 / 3, 0.7, 1.0 / 49, -0.25, static_cast<double>(1.0f / 3)};
        return {.kind = in(0, 1) ? Kind::FloorScale : Kind::CeilScale,
                .scale = kScales[in(0, 7)],
                .kids = {integer(depth - 1)}};
      }
    }
  }
  Tree boolean(int depth) {
    if (depth > 0 && in(0, 2) == 0) {
      switch (in(0, 2)) {
        case 0:
          return {.kind = Kind::And, .kids = {boolean(depth - 1), boolean(depth - 1)}};
        case 1:
          return {.kind = Kind::Or, .kids = {boolean(depth - 1), boolean(depth - 1)}};
        default:
          return {.kind = Kind::Not, .kids = {boolean(depth - 1)}};
      }
    }
    constexpr Kind kKinds[] = {Kind::Eq, Kind::Le, Kind::Lt};
    int d = std::max(depth - 1, 0);
    return {.kind = kKinds[in(0, 2)], .kids = {integer(d), integer(d)}};
  }

 private:
  Tree two(Kind kind, int depth) {
    Tree a = integer(depth - 1), b = integer(depth - 1);
    return {.kind = kind, .kids = {std::move(a), std::move(b)}};
  }
  std::mt19937 engine_;
  size_t symbols_;
};

// Two dims, a data symbol of any sign, and indices i < H and j < W (values 0, 1 are the extents of 3, 4).
struct Symbols {
  std::vector<Expr> all;
  explicit Symbols(Store& s) {
    Expr h = s.symbol("H", SymbolKind::Dim), w = s.symbol("W", SymbolKind::Dim);
    all = {h, w, s.symbol("D", SymbolKind::Data, {-6, 6}), s.index("i", h), s.index("j", w)};
  }
  // Random legal values for the trees: a dim whose index none of them mentions may be 0.
  std::vector<int64_t> values(Random& r, const std::vector<const Tree*>& trees) const {
    auto extent = [&](int64_t index) {
      bool used = std::any_of(trees.begin(), trees.end(), [&](const Tree* t) { return mentions(*t, index); });
      return used ? r.in(1, 9) : r.in(0, 9);
    };
    int64_t h = extent(3), w = extent(4);
    return {h, w, r.in(-6, 6), h == 0 ? 0 : r.in(0, h - 1), w == 0 ? 0 : r.in(0, w - 1)};
  }
  std::function<std::optional<int64_t>(Expr)> lookup(const std::vector<int64_t>& values) const {
    return [this, &values](Expr e) -> std::optional<int64_t> {
      auto it = std::find(all.begin(), all.end(), e);
      return it == all.end() ? std::nullopt : std::optional<int64_t>(values[static_cast<size_t>(it - all.begin())]);
    };
  }
};

}  // namespace dlcb::sym::test
