// Integer expressions: parameters for what does not change, one multiply-add a term for the rest, multiply-shift
// instead of division.
#include <fmt/format.h>

#include <algorithm>

#include "kernel/scope.h"
#include "sym/scale.h"

namespace dlcb::kernel {

using sym::Expr;
using sym::Kind;

namespace {

uint64_t mix(uint64_t h, uint64_t v) {
  h ^= v + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2);
  return h * 0xff51afd7ed558ccdull;
}

}  // namespace

// A hash that does not see names of symbols or values of parameters: the order of terms, and with it the text, is then
// the same for equal structures.
uint64_t Emitter::structure(Expr e) {
  sym::Store& sym = region_.sym;
  if (!region_.variant(e)) {
    auto c = sym.as_const(e);
    return c && std::abs(*c) <= kLiteralLimit ? mix(1, static_cast<uint64_t>(*c)) : 2;
  }
  if (sym.kind(e) == Kind::Symbol) {
    if (sym.symbol_kind(e) == sym::SymbolKind::Data) return 3;
    const Val* v = lookup(memo_key(MemoKind::Index, e.id));
    return v ? std::hash<std::string>()(v->names[0]) : 4;
  }
  uint64_t h = mix(5, static_cast<uint64_t>(sym.kind(e)));
  const bool ordered = sym.kind(e) == Kind::FloorDiv || sym.kind(e) == Kind::Mod || sym.kind(e) == Kind::Select;
  uint64_t unordered = 0;
  std::vector<Expr> operands(sym.operands(e).begin(), sym.operands(e).end());
  for (Expr operand : operands) {
    if (ordered)
      h = mix(h, structure(operand));
    else
      unordered += mix(6, structure(operand));
  }
  return mix(h, unordered);
}

Val Emitter::index(Expr e) {
  if (const Val* known = lookup(memo_key(MemoKind::Index, e.id))) return *known;
  if (!region_.variant(e)) return {Level::Uniform, {params_.integer(e)}};
  Scope* saved = current_;
  current_ = home(region_.symbols(e), region_.unsafe(e));
  Val v = remember(memo_key(MemoKind::Index, e.id), build_index(e));
  current_ = saved;
  return v;
}

Val Emitter::build_index(Expr e) {
  sym::Store& sym = region_.sym;
  auto operand = [&](size_t i) { return sym.operands(e)[i]; };
  switch (sym.kind(e)) {
    case Kind::Symbol: {
      ops::Scalar bound = region_.scalars.binding(e);
      DLCB_CHECK(bound.valid(), "no loop binds an index symbol");
      Val v = value(bound);
      return define("i32", "i", v.level, [&](int lane) { return fmt::format("i32({})", v.names[lane]); });
    }
    case Kind::Sum:
    case Kind::Product:
      return sum_of_products(e);
    case Kind::FloorDiv:
      return floor_division(e);
    case Kind::Mod: {
      Expr a = operand(0), b = operand(1);
      return sum_of_products(sym.sub(a, sym.mul(b, sym.floordiv(a, b))));
    }
    case Kind::Min:
    case Kind::Max:
    case Kind::And:
    case Kind::Or:
      return chain(e);
    case Kind::Not: {
      Val a = index(operand(0));
      return define("i32", "i", a.level, [&](int lane) { return fmt::format("{} ^ 1", a.names[lane]); });
    }
    case Kind::Eq:
    case Kind::Le:
    case Kind::Lt:
      return comparison(e);
    case Kind::Select: {
      Val c = index(operand(0)), a = index(operand(1)), b = index(operand(2));
      Level level = finest({c.level, a.level, b.level});
      return define("i32", "i", level, [&](int lane) {
        return fmt::format("{} != 0 ? {} : {}", at(c, level, lane), at(a, level, lane), at(b, level, lane));
      });
    }
    case Kind::FloorScale:
    case Kind::CeilScale: {
      const char* round = sym.kind(e) == Kind::FloorScale ? "d_floorf_" : "d_ceilf_";
      const double scale = sym.scale(e);
      Val a = index(operand(0));
      const char* type = sym::is_f32(scale) ? "float" : "double";
      return define("i32", "i", a.level, [&](int lane) {
        return fmt::format("i32({}(double({}({}) * {}({}))))", round, type, a.names[lane], type, scale);
      });
    }
    case Kind::Const:
      break;
  }
  DLCB_CHECK(false, "a constant is not variant");
  return {};
}

// Min, Max, And, Or of any number of operands.
Val Emitter::chain(Expr e) {
  const Kind kind = region_.sym.kind(e);
  const char* op = kind == Kind::Min ? "<" : kind == Kind::Max ? ">" : kind == Kind::And ? "&" : "|";
  std::vector<Val> vals;
  Level level = Level::Uniform;
  const std::vector<Expr> operands(region_.sym.operands(e).begin(), region_.sym.operands(e).end());
  for (Expr operand : operands) {
    vals.push_back(index(operand));
    level = finest(level, vals.back().level);
  }
  return define("i32", "i", level, [&](int lane) {
    std::string text = at(vals[0], level, lane);
    for (size_t i = 1; i < vals.size(); i++) {
      const std::string next = at(vals[i], level, lane);
      text = kind == Kind::Min || kind == Kind::Max ? fmt::format("({0} {1} {2} ? {0} : {2})", text, op, next)
                                                    : fmt::format("{} {} {}", text, op, next);
    }
    return text;
  });
}

// Coarser terms are added up first, so that a thread does them once for many elements.
Val Emitter::sum_of_products(Expr e) {
  std::vector<Monomial> terms = monomials(region_, e);
  std::vector<std::pair<uint64_t, size_t>> order;
  for (size_t i = 0; i < terms.size(); i++) {
    uint64_t h = terms[i].atoms.empty() ? UINT64_MAX : 7;
    for (Expr atom : terms[i].atoms) h += structure(atom);
    order.push_back({h, i});
  }
  std::ranges::stable_sort(order, {}, &std::pair<uint64_t, size_t>::first);
  std::vector<std::vector<Val>> factors(terms.size());
  std::vector<Level> levels(terms.size(), Level::Uniform);
  for (auto [h, i] : order) {
    if (region_.sym.is_const(terms[i].coefficient, 0)) continue;
    for (Expr atom : terms[i].atoms) {
      factors[i].push_back(index(atom));
      levels[i] = finest(levels[i], factors[i].back().level);
    }
  }
  std::optional<Val> sum;
  for (Level level : {Level::Uniform, Level::Group, Level::Slot}) {
    std::vector<size_t> here;
    for (auto [h, i] : order) {
      if (levels[i] == level && !region_.sym.is_const(terms[i].coefficient, 0)) here.push_back(i);
    }
    if (here.empty()) continue;
    const bool plain = !sum && here.size() == 1 && factors[here[0]].size() <= 1 &&
                       (factors[here[0]].empty() || region_.sym.is_const(terms[here[0]].coefficient, 1));
    if (plain) {
      sum = factors[here[0]].empty() ? Val{Level::Uniform, {params_.integer(terms[here[0]].coefficient)}}
                                     : factors[here[0]][0];
      continue;
    }
    std::optional<Val> before = sum;
    sum = define("i32", "i", level, [&](int lane) {
      std::string text = before ? at(*before, level, lane) : "";
      for (size_t i : here) {
        std::string term;
        for (const Val& f : factors[i]) term += (term.empty() ? "" : " * ") + at(f, level, lane);
        Expr c = terms[i].coefficient;
        const bool minus = !text.empty() && !term.empty() && region_.sym.is_const(c, -1);
        if (term.empty() || !(region_.sym.is_const(c, 1) || minus)) {
          std::string number = params_.integer(c);
          term = term.empty() ? number : fmt::format("{} * {}", term, number[0] == '-' ? "(" + number + ")" : number);
          if (term[0] == '-') term = "(" + term + ")";
        }
        text += text.empty() ? term : fmt::format(" {} {}", minus ? '-' : '+', term);
      }
      return text;
    });
  }
  return sum ? *sum : Val{Level::Uniform, {"0"}};
}

Val Emitter::floor_division(Expr e) {
  sym::Store& sym = region_.sym;
  Expr a = sym.operands(e)[0], b = sym.operands(e)[1];
  bool any_sign = region_.variant(b);
  if (!any_sign && region_.facts.bounds(b).lo < 0) {
    // floor(a / b) = floor(-a / -b); multiplying by a reciprocal wants a positive divisor.
    if (region_.facts.proves(sym.le(b, sym.constant(0)))) {
      a = sym.neg(a);
      b = sym.neg(b);
    } else {
      any_sign = !region_.facts.proves(sym.le(sym.constant(0), b));
    }
  }
  const bool negative = region_.facts.bounds(a).lo < 0;
  Val n = index(a);
  if (any_sign) {
    Val d = index(b);
    Level level = finest(n.level, d.level);
    return define("i32", "i", level, [&](int lane) {
      std::string x = at(n, level, lane), y = at(d, level, lane);
      return fmt::format("{1} == 0 ? 0 : {0} / {1} - ({0} % {1} != 0 && ({0} < 0) != ({1} < 0))", x, y);
    });
  }
  return define("i32", "i", n.level, [&](int lane) {
    const std::string& x = n.names[lane];
    if (!negative) return params_.divide(x, b);
    return fmt::format("{} >= 0 ? {} : -1 - {}", x, params_.divide(x, b), params_.divide("-1 - " + x, b));
  });
}

// In a vector of consecutive, aligned elements a comparison with a multiple of the width has one outcome.
bool Emitter::same_in_vector(Expr e) {
  sym::Store& sym = region_.sym;
  if (shape.width == 1 || shape.sides == 2 || !vector.symbol.valid() || sym.kind(e) == Kind::Eq) return false;
  if (!region_.depends(e, vector.symbol)) return false;
  Expr difference = sym.sub(sym.operands(e)[0], sym.operands(e)[1]), slope, rest;
  if (!affine(region_, difference, vector.symbol, &slope, &rest)) return false;
  const bool rising = sym.is_const(slope, 1), falling = sym.is_const(slope, -1);
  // v + bound < 0 and v >= bound with bound a multiple of the width.
  Expr one = sym.constant(1), bound;
  const bool strict = sym.kind(e) == Kind::Lt;
  if (rising)
    bound = strict ? rest : sym.sub(rest, one);
  else if (falling)
    bound = strict ? sym.add(rest, one) : rest;
  else
    return false;
  return multiple(bound);
}

Val Emitter::comparison(Expr e) {
  sym::Store& sym = region_.sym;
  const char* op = sym.kind(e) == Kind::Eq ? "==" : sym.kind(e) == Kind::Le ? "<=" : "<";
  const bool once = same_in_vector(e);
  Val a = index(sym.operands(e)[0]), b = index(sym.operands(e)[1]);
  Level level = finest(a.level, b.level);
  if (once && level == Level::Slot) {
    return define("i32", "i", Level::Group, [&](int group) {
      return fmt::format("{} {} {}", at(a, Level::Slot, group * shape.width), op,
                         at(b, Level::Slot, group * shape.width));
    });
  }
  return define("i32", "i", level,
                [&](int lane) { return fmt::format("{} {} {}", at(a, level, lane), op, at(b, level, lane)); });
}

// Whether an expression is known to be a multiple of the vector width.
bool Emitter::multiple(Expr e) {
  sym::Store& sym = region_.sym;
  if (region_.facts.divides(shape.width, e)) return true;
  for (Expr known : vector.multiples) {
    if (e == known) return true;
  }
  std::vector<Expr> operands(sym.operands(e).begin(), sym.operands(e).end());
  if (sym.kind(e) == Kind::Product) return std::ranges::any_of(operands, [&](Expr f) { return multiple(f); });
  if (sym.kind(e) != Kind::Sum || sym.sum_constant(e) % shape.width != 0) return false;
  std::vector<int64_t> factors(sym.coefficients(e).begin(), sym.coefficients(e).end());
  for (size_t i = 0; i < operands.size(); i++) {
    if (factors[i] % shape.width != 0 && !multiple(operands[i])) return false;
  }
  return true;
}

// As multiple(), but invariant factors may become conditions that the host checks.
bool Emitter::multiple_or_condition(Expr e) {
  sym::Store& sym = region_.sym;
  std::vector<Expr> needed;
  for (const Monomial& m : monomials(region_, e)) {
    if (multiple(m.coefficient) || std::ranges::any_of(m.atoms, [&](Expr a) { return multiple(a); })) continue;
    Expr condition = sym.eq(sym.mod(m.coefficient, sym.constant(shape.width)), sym.constant(0));
    if (sym.as_const(condition) || region_.facts.prove(condition) == sym::Tri::No) return false;
    needed.push_back(condition);
  }
  for (Expr c : needed) {
    if (std::ranges::find(conditions, c) == conditions.end()) conditions.push_back(c);
  }
  return true;
}

}  // namespace dlcb::kernel
