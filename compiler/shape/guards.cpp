#include "shape/guards.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "graph/contradiction.h"
#include "shape/integer_set.h"

namespace dlcb::shape {
namespace {

using graph::Constraint;

constexpr size_t kMaxOrigins = 8;

class Guards {
 public:
  explicit Guards(const graph::Graph& g) : g_(g), s_(g.sym()) {}

  Result<std::vector<Guard>> run() {
    input_dims();
    for (const graph::Range& r : g_.ranges) range(r);
    DLCB_TRY(constraints());
    return std::move(guards_);
  }

 private:
  std::string dim_text(int input, int axis) const {
    for (const graph::Eliminated& e : g_.eliminated)
      for (const graph::DimSource& d : e.sources)
        if (d.input == input && d.axis == axis) return sym::outline(s_, e.symbol);
    return graph::dim_name(g_.value(g_.inputs[input]).name, axis);
  }

  void input_dims() {
    std::vector<sym::Expr> sourced;
    for (int i = 0; i < std::ssize(g_.inputs); ++i) {
      const auto& dims = g_.value(g_.inputs[i]).dims;
      for (int axis = 0; axis < std::ssize(dims); ++axis) {
        sym::Expr d = dims[axis];
        bool names_it =
            s_.kind(d) == sym::Kind::Symbol && std::find(sourced.begin(), sourced.end(), d) == sourced.end();
        if (names_it)
          sourced.push_back(d);
        else
          guards_.push_back(input_dim(i, axis, d));
      }
    }
  }

  Guard input_dim(int input, int axis, sym::Expr expected) {
    Guard guard;
    guard.kind = GuardKind::InputDim;
    guard.expected = expected;
    guard.input = input;
    guard.axis = axis;
    guard.text = dim_text(input, axis) + " == " + sym::outline(s_, expected);
    guard.why = "the model declares this size";
    for (const graph::Eliminated& e : g_.eliminated)
      for (const graph::DimSource& d : e.sources)
        if (d.input == input && d.axis == axis) {
          guard.why = e.why;
          guard.origins = e.origins;
        }
    show_symbols(expected, guard);
    return guard;
  }

  void range(const graph::Range& r) {
    auto source = g_.source(r.symbol);
    if (!source) return;
    std::string name = sym::outline(s_, r.symbol);
    Guard guard;
    guard.kind = GuardKind::Range;
    guard.bounds = r.bounds;
    guard.input = source->input;
    guard.axis = source->axis;
    bool below = r.bounds.lo > 0, above = r.bounds.hi != sym::kMax;
    if (!below && !above) return;
    if (below && above)
      guard.text = std::to_string(r.bounds.lo) + " <= " + name + " <= " + std::to_string(r.bounds.hi);
    else
      guard.text = below ? name + " >= " + std::to_string(r.bounds.lo) : name + " <= " + std::to_string(r.bounds.hi);
    guard.shown.push_back({name, r.symbol});
    guard.why = "the range given when the model was compiled";
    guards_.push_back(std::move(guard));
  }

  // One-symbol constraints are intersected exactly, symbol by symbol; the others are kept unless the rest implies them.
  Status constraints() {
    std::vector<Constraint> rest;
    std::vector<sym::Expr> order;
    std::map<sym::Expr, std::vector<const Constraint*>> by_symbol;  // reached through `order` only
    for (const Constraint& c : g_.constraints) {
      std::span<const sym::Expr> free = s_.symbols(c.condition);
      if (free.size() == 1 && s_.bounds(free[0]).lo >= 0) {
        if (!by_symbol.contains(free[0])) order.push_back(free[0]);
        by_symbol[free[0]].push_back(&c);
      } else {
        rest.push_back(c);
      }
    }
    for (sym::Expr symbol : order) DLCB_TRY(one_symbol(symbol, by_symbol[symbol], rest));
    keep_unimplied(rest);
    return ok();
  }

  Status one_symbol(sym::Expr symbol, const std::vector<const Constraint*>& list, std::vector<Constraint>& rest) {
    sym::Bounds domain = s_.bounds(symbol);
    std::optional<IntegerSet> set;
    std::vector<const Constraint*> merged;
    for (const Constraint* c : list) {
      auto one = solutions(s_, c->condition, symbol);
      auto both = one && set ? IntegerSet::intersect(*set, *one) : one;
      if (!both) {
        rest.push_back(*c);
        continue;
      }
      if (!one->meets(domain)) return graph::no_value_left(g_, symbol, "only " + words(*one, symbol, *c) + " can", *c);
      IntegerSet before = set.value_or(IntegerSet({true}, 0, 1));
      if (one->covers(before, domain)) continue;  // says nothing new
      std::erase_if(merged,
                    [&](const Constraint* m) { return solutions(s_, m->condition, symbol)->covers(*one, domain); });
      merged.push_back(c);
      set = both;
    }
    if (!set || merged.empty()) return ok();
    if (!set->meets(domain))
      return graph::no_value_left(g_, symbol, "only " + words(*set, symbol, *merged[0]) + " can", *merged[0]);
    std::string name = sym::outline(s_, symbol);
    auto text = set->text(name);
    auto condition = set->condition(s_, symbol);
    if (!text || !condition) {
      for (const Constraint* c : merged) rest.push_back(*c);
      return ok();
    }
    merged_guard(*condition, *text, symbol, merged);
    return ok();
  }

  std::string words(const IntegerSet& set, sym::Expr symbol, const Constraint& c) const {
    if (set.empty()) return sym::outline(s_, c.condition);
    return set.text(sym::outline(s_, symbol)).value_or(sym::outline(s_, c.condition));
  }

  void merged_guard(sym::Expr condition, std::string text, sym::Expr symbol,
                    const std::vector<const Constraint*>& merged) {
    Guard guard;
    guard.condition = condition;
    guard.text = std::move(text);
    guard.shown.push_back({sym::outline(s_, symbol), symbol});
    for (const Constraint* c : merged) {
      if (guard.why.find(c->why) == std::string::npos) guard.why += (guard.why.empty() ? "" : "; ") + c->why;
      for (const graph::Origin& o : c->origins)
        if (guard.origins.size() < kMaxOrigins &&
            std::find(guard.origins.begin(), guard.origins.end(), o) == guard.origins.end())
          guard.origins.push_back(o);
    }
    blame(std::span(&symbol, 1), guard);
    guards_.push_back(std::move(guard));
  }

  // Later constraints first, so that of two that imply each other the one met first stays.
  void keep_unimplied(std::vector<Constraint>& rest) {
    std::vector<bool> dropped(rest.size(), false);
    for (size_t i = rest.size(); i-- > 0 && rest.size() <= 256;) {
      std::vector<sym::Expr> others;
      for (const Guard& guard : guards_)
        if (guard.condition.valid()) others.push_back(guard.condition);
      for (size_t k = 0; k < rest.size(); ++k)
        if (k != i && !dropped[k]) others.push_back(rest[k].condition);
      dropped[i] = follows(others, rest[i].condition);
    }
    for (size_t i = 0; i < rest.size(); ++i)
      if (!dropped[i]) guards_.push_back(model_guard(rest[i]));
  }

  // Of a goal "a or b", a has to follow where b fails; there, what is given as "c or b" says c.
  bool follows(const std::vector<sym::Expr>& given, sym::Expr goal) {
    std::vector<sym::Expr> cases{goal};
    if (s_.kind(goal) == sym::Kind::Or) cases.assign(s_.operands(goal).begin(), s_.operands(goal).end());
    for (sym::Expr one : cases) {
      sym::Facts facts(s_);
      for (sym::Expr other : cases)
        if (other != one) facts.assume(s_.logical_not(other));
      for (sym::Expr g : given) facts.assume(facts.simplify(g));
      if (facts.proves(one)) return true;
    }
    return false;
  }

  Guard model_guard(const Constraint& c) {
    Guard guard;
    guard.condition = c.condition;
    guard.text = sym::outline(s_, c.condition);
    guard.why = c.why;
    guard.origins = c.origins;
    show_symbols(c.condition, guard);
    sym::Expr main = s_.kind(c.condition) == sym::Kind::Or ? s_.operands(c.condition)[0] : c.condition;
    if (s_.kind(main) == sym::Kind::Eq || s_.kind(main) == sym::Kind::Le || s_.kind(main) == sym::Kind::Lt)
      for (sym::Expr side : {s_.operands(main)[0], s_.operands(main)[1]})
        if (s_.kind(side) != sym::Kind::Symbol && s_.kind(side) != sym::Kind::Const)
          guard.shown.push_back({sym::outline(s_, side), side});
    std::vector<sym::Expr> symbols(s_.symbols(c.condition).begin(), s_.symbols(c.condition).end());
    blame(symbols, guard);
    return guard;
  }

  void show_symbols(sym::Expr e, Guard& guard) const {
    for (sym::Expr symbol : s_.symbols(e)) guard.shown.push_back({sym::outline(s_, symbol), symbol});
  }

  // The input dim that is called last among those involved: the earlier ones are what it disagrees with.
  void blame(std::span<const sym::Expr> symbols, Guard& guard) const {
    for (sym::Expr symbol : symbols) {
      if (auto source = g_.source(symbol)) {
        if (std::pair(source->input, source->axis) > std::pair(guard.input, guard.axis)) {
          guard.input = source->input;
          guard.axis = source->axis;
        }
        continue;
      }
      for (const graph::HostRead& read : g_.host_reads) {
        auto input = std::find(g_.inputs.begin(), g_.inputs.end(), read.value);
        if (read.symbol == symbol && input != g_.inputs.end() && guard.input < 0)
          guard.input = static_cast<int>(input - g_.inputs.begin());
      }
    }
  }

  const graph::Graph& g_;
  sym::Store& s_;
  std::vector<Guard> guards_;
};

}  // namespace

Result<std::vector<Guard>> guards(const graph::Graph& g) { return Guards(g).run(); }

}  // namespace dlcb::shape
