#include "shape/guards.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "graph/contradiction.h"
#include "shape/integer_set.h"
#include "sym/dim_limit.h"

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

  // What a constraint asks of dims, and the values read from inputs (a sample rate, a flag) with which it asks it.
  struct Demand {
    const Constraint* constraint;
    sym::Expr goal, context;  // the constraint is "goal or not context"
  };
  struct Group {
    sym::Expr symbol, context;
    std::vector<Demand> demands;
  };

  Demand demand(const Constraint& c) const {
    Demand d{&c, c.condition, s_.constant(1)};
    if (s_.kind(c.condition) != sym::Kind::Or) return d;
    sym::Expr about_dims = s_.constant(0), others = s_.constant(0);
    for (sym::Expr part : s_.operands(c.condition)) {
      const bool dims = std::ranges::any_of(s_.symbols(part), [&](sym::Expr x) { return g_.source(x).has_value(); });
      sym::Expr& side = dims ? about_dims : others;
      side = s_.logical_or(side, part);
    }
    if (s_.as_const(about_dims) || s_.as_const(others)) return d;
    return {&c, about_dims, s_.logical_not(others)};
  }

  std::string with_context(std::string goal, sym::Expr context, const std::string& context_text) const {
    if (s_.as_const(context)) return goal;
    if (goal.find(" or ") != std::string::npos) goal = "(" + goal + ")";
    return goal + " if " + context_text;
  }

  // The same goal in several contexts is one constraint: both branches of an If may ask it.
  std::vector<Constraint> join_contexts() const {
    std::vector<Constraint> joined;
    std::map<sym::Expr, size_t> by_goal;
    sym::Facts none(s_);
    for (Constraint c : g_.constraints) {
      c.condition = none.simplify(c.condition);
      const Demand d = demand(c);
      const auto [found, fresh] = by_goal.emplace(d.goal, joined.size());
      if (fresh) {
        joined.push_back(c);
        continue;
      }
      Constraint& first = joined[found->second];
      const sym::Expr context = s_.logical_or(demand(first).context, d.context);
      first.condition = s_.logical_or(d.goal, s_.logical_not(context));
      first.origins.insert(first.origins.end(), c.origins.begin(), c.origins.end());
    }
    return joined;
  }

  // Demands on one symbol are intersected exactly, symbol by symbol; the others are kept unless the rest implies them.
  Status constraints() {
    const std::vector<Constraint> joined = join_contexts();
    std::vector<Constraint> rest;
    std::vector<Group> groups;
    for (const Constraint& c : joined) {
      const Demand d = demand(c);
      std::span<const sym::Expr> free = s_.symbols(d.goal);
      if (free.size() != 1 || s_.bounds(free[0]).lo < 0) {
        rest.push_back(c);
        continue;
      }
      auto group =
          std::ranges::find_if(groups, [&](const Group& g) { return g.symbol == free[0] && g.context == d.context; });
      if (group == groups.end()) group = groups.insert(group, {free[0], d.context, {}});
      group->demands.push_back(d);
    }
    std::ranges::stable_partition(groups, [&](const Group& g) { return s_.as_const(g.context).has_value(); });
    for (const Group& g : groups) DLCB_TRY(one_symbol(g, rest));
    keep_unimplied(rest);
    return ok();
  }

  Status one_symbol(const Group& group, std::vector<Constraint>& rest) {
    const sym::Expr symbol = group.symbol;
    const bool always = s_.as_const(group.context).has_value();
    const sym::Bounds domain = s_.bounds(symbol);
    const auto known = always_.find(symbol);
    std::optional<IntegerSet> set;
    std::vector<Demand> merged;
    auto keep_apart = [&](const Demand& d) { rest.push_back(*d.constraint); };
    for (const Demand& d : group.demands) {
      auto one = solutions(s_, d.goal, symbol);
      auto both = one && set ? IntegerSet::intersect(*set, *one) : one;
      if (!both || (!always && !both->meets(domain))) {
        keep_apart(d);
        continue;
      }
      if (!one->meets(domain)) return no_value(symbol, *one, *d.constraint);
      const IntegerSet before = set ? *set : known != always_.end() ? known->second : IntegerSet({true}, 0, 1);
      if (one->covers(before, domain)) continue;  // says nothing new
      std::erase_if(merged, [&](const Demand& m) { return solutions(s_, m.goal, symbol)->covers(*one, domain); });
      merged.push_back(d);
      set = both;
    }
    if (!set || merged.empty()) return ok();
    if (!set->meets(domain)) return no_value(symbol, *set, *merged[0].constraint);
    auto text = set->text(sym::outline(s_, symbol));
    auto condition = set->condition(s_, symbol);
    if (!text || !condition) {
      std::ranges::for_each(merged, keep_apart);
      return ok();
    }
    if (always) always_.emplace(symbol, *set);
    merged_guard(group, *condition, *text, merged);
    return ok();
  }

  Status no_value(sym::Expr symbol, const IntegerSet& set, const Constraint& c) const {
    const std::string condition = sym::outline(s_, c.condition);
    const auto text = set.empty() ? condition : set.text(sym::outline(s_, symbol)).value_or(condition);
    return graph::no_value_left(g_, symbol, "only " + text + " can", c);
  }

  void merged_guard(const Group& group, sym::Expr condition, std::string text, const std::vector<Demand>& merged) {
    Guard guard;
    guard.condition = s_.logical_or(condition, s_.logical_not(group.context));
    guard.text = with_context(std::move(text), group.context, sym::outline(s_, group.context));
    show_symbols(group.context, guard);
    guard.shown.push_back({sym::outline(s_, group.symbol), group.symbol});
    for (const Demand& d : merged) {
      const Constraint& c = *d.constraint;
      if (guard.why.find(c.why) == std::string::npos) guard.why += (guard.why.empty() ? "" : "; ") + c.why;
      for (const graph::Origin& o : c.origins)
        if (guard.origins.size() < kMaxOrigins &&
            std::find(guard.origins.begin(), guard.origins.end(), o) == guard.origins.end())
          guard.origins.push_back(o);
    }
    blame(std::span(&group.symbol, 1), guard);
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
      sym::assume_dim_limit(facts, goal);
      for (sym::Expr g : given) facts.assume(facts.simplify(g));
      if (facts.proves(one)) return true;
    }
    return false;
  }

  Guard model_guard(const Constraint& c) {
    Guard guard;
    guard.condition = c.condition;
    guard.why = c.why;
    guard.origins = c.origins;
    show_symbols(c.condition, guard);
    const Demand d = demand(c);
    std::vector<sym::Expr> texts{d.goal, d.context};  // then the goal's sides; all share their definitions
    sym::Expr main = s_.kind(d.goal) == sym::Kind::Or ? s_.operands(d.goal)[0] : d.goal;
    if (s_.kind(main) == sym::Kind::Eq || s_.kind(main) == sym::Kind::Le || s_.kind(main) == sym::Kind::Lt)
      for (sym::Expr side : s_.operands(main))
        if (s_.kind(side) != sym::Kind::Symbol && s_.kind(side) != sym::Kind::Const) texts.push_back(side);
    const sym::Outline outlined = sym::outline(s_, texts);
    guard.text = with_context(outlined.texts[0], d.context, outlined.texts[1]) + outlined.where;
    for (size_t i = 2; i < texts.size(); ++i) guard.shown.push_back({outlined.texts[i], texts[i]});
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
  std::map<sym::Expr, IntegerSet> always_;  // by symbol, what its guard without a context leaves
};

}  // namespace

Result<std::vector<Guard>> guards(const graph::Graph& g) { return Guards(g).run(); }

}  // namespace dlcb::shape
