#include "shape/solve.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/text.h"
#include "graph/contradiction.h"
#include "shape/integer_set.h"
#include "shape/linear.h"

namespace dlcb::shape {
namespace {

using graph::Constraint;

class Solver {
 public:
  Solver(graph::Graph& g, const SolveOptions& options) : g_(g), s_(g.sym()), options_(options) {}

  Result<SolveReport> run() {
    // Each round either eliminates a symbol or is the last one, so the rounds end.
    bool changed = true;
    while (changed) {
      changed = false;
      DLCB_TRY(simplify_constraints(changed));
      if (!changed) DLCB_TRY(force_single_values(changed));
    }
    simplify_dims();
    return std::move(report_);
  }

 private:
  // One pass over the constraints in the order they were met. Stops at the first elimination.
  Status simplify_constraints(bool& changed) {
    sym::Facts known(s_);
    std::vector<Constraint> todo(g_.constraints.rbegin(), g_.constraints.rend()), kept;
    std::set<uint32_t> seen;
    while (!todo.empty()) {
      Constraint c = std::move(todo.back());
      todo.pop_back();
      const sym::Expr stated = c.condition;
      c.condition = reduce_equality(s_, known, without_false_cases(known, c.condition));
      if (s_.kind(c.condition) == sym::Kind::And) {
        std::vector<sym::Expr> parts(s_.operands(c.condition).begin(), s_.operands(c.condition).end());
        for (sym::Expr part : parts) {
          todo.push_back(c);
          todo.back().condition = part;
        }
        continue;
      }
      sym::Tri truth = known.prove(c.condition);
      if (truth == sym::Tri::No) {
        c.condition = stated;  // says more than the 0 it was reduced to
        return contradiction(c);
      }
      if (truth == sym::Tri::Yes) continue;
      if (auto solved = solve_for_symbol(g_, c.condition)) {
        for (auto it = todo.rbegin(); it != todo.rend(); ++it) kept.push_back(std::move(*it));
        g_.constraints = std::move(kept);
        changed = true;
        return eliminate(solved->symbol, solved->value, c);
      }
      known.assume(c.condition);
      if (seen.insert(c.condition.id).second) kept.push_back(std::move(c));
    }
    g_.constraints = std::move(kept);
    g_.reset_facts();
    return ok();
  }

  // "a == b or a == 1 or b == 1": the cases that cannot be are left out.
  sym::Expr without_false_cases(const sym::Facts& known, sym::Expr condition) {
    if (s_.kind(condition) != sym::Kind::Or) return condition;
    std::vector<sym::Expr> cases(s_.operands(condition).begin(), s_.operands(condition).end());
    sym::Expr result = s_.constant(0);
    for (sym::Expr c : cases)
      if (known.prove(c) != sym::Tri::No) result = s_.logical_or(result, c);
    return result;
  }

  // A symbol whose constraints leave one value is that value, whatever form they have.
  Status force_single_values(bool& changed) {
    std::vector<Constraint> all = g_.constraints;
    std::set<uint32_t> tried;
    for (const Constraint& c : all) {
      std::span<const sym::Expr> free = s_.symbols(c.condition);
      if (free.size() != 1 || s_.symbol_kind(free[0]) != sym::SymbolKind::Dim) continue;
      sym::Expr symbol = free[0];
      if (!tried.insert(symbol.id).second) continue;
      std::optional<IntegerSet> set;
      for (const Constraint& other : all) {
        if (s_.symbols(other.condition).size() != 1 || !s_.contains(other.condition, symbol)) continue;
        auto more = solutions(s_, other.condition, symbol);
        auto both = more && set ? IntegerSet::intersect(*set, *more) : more;
        if (both) set = both;
      }
      if (!set) continue;
      sym::Bounds domain = s_.bounds(symbol);
      if (!set->meets(domain))
        return graph::no_value_left(
            g_, symbol, "only " + set->text(s_.symbol_name(symbol)).value_or(sym::outline(s_, c.condition)) + " can",
            c);
      auto value = only_member(*set, domain);
      if (!value || !g_.source(symbol)) continue;
      changed = true;
      return eliminate(symbol, s_.constant(*value), c);
    }
    return ok();
  }

  static std::optional<int64_t> only_member(const IntegerSet& set, sym::Bounds domain) {
    std::optional<int64_t> found;
    int64_t last = std::max(std::max<int64_t>(domain.lo, 0), set.start()) + 2 * set.period();
    for (int64_t n = std::max<int64_t>(domain.lo, 0); n <= std::min(last, domain.hi); ++n) {
      if (!set.contains(n)) continue;
      if (found) return std::nullopt;
      found = n;
    }
    return found;
  }

  Status eliminate(sym::Expr symbol, sym::Expr value, const Constraint& because) {
    std::string name(s_.symbol_name(symbol));
    std::optional<int64_t> literal = s_.as_const(value);
    Location where = graph::location(g_, because.origins);
    std::vector<sym::Expr> symbols{symbol};
    if (literal && std::find(options_.dynamic.begin(), options_.dynamic.end(), name) != options_.dynamic.end()) {
      std::vector<Note> notes = graph::symbol_notes(g_, symbols);
      notes.push_back({because.why, {}});
      return diag(DiagKind::DimForced, {name, std::to_string(*literal)}, where, std::move(notes));
    }
    sym::Bounds allowed = s_.bounds(symbol);
    if (literal && (*literal < allowed.lo || *literal > allowed.hi))
      return graph::no_value_left(g_, symbol, "only " + name + " == " + std::to_string(*literal) + " can", because);
    report_.notes.push_back(
        {quote(name) + " is forced to equal " + sym::outline(s_, value) + " (" + because.why + ")", where});

    graph::Eliminated e{symbol, value, {}, because.why, because.origins};
    for (size_t i = 0; i < g_.inputs.size(); ++i) {
      const auto& dims = g_.value(g_.inputs[i]).dims;
      for (size_t axis = 0; axis < dims.size(); ++axis)
        if (dims[axis] == symbol) e.sources.push_back({symbol, static_cast<int>(i), static_cast<int>(axis)});
    }
    g_.eliminated.push_back(std::move(e));
    if (g_.on_rewrite) g_.on_rewrite({"forced dim", {sym::outline(s_, symbol)}, {sym::outline(s_, value)}});
    g_.substitute({{symbol.id, value}});
    move_range(symbol, value, allowed, because);
    g_.reset_facts();
    return ok();
  }

  // What the user promised of an eliminated symbol is a promise about its value.
  void move_range(sym::Expr symbol, sym::Expr value, sym::Bounds allowed, const Constraint& because) {
    bool declared = std::erase_if(g_.ranges, [&](const graph::Range& r) { return r.symbol == symbol; }) > 0;
    if (!declared || s_.as_const(value)) return;
    if (s_.kind(value) == sym::Kind::Symbol) return g_.declare_range(value, allowed);
    for (sym::Expr limit : {s_.le(s_.constant(allowed.lo), value), s_.le(value, s_.constant(allowed.hi))})
      g_.constraints.push_back(
          {limit, "the range given for '" + std::string(s_.symbol_name(symbol)) + "'", {}, -1, -1, because.origins});
  }

  Diagnostic contradiction(const Constraint& c) {
    std::vector<ops::ValueId> operands;
    std::string_view op;
    if (c.node.valid()) {
      operands = g_.node(c.node).inputs;
      op = g_.node(c.node).op->name;
    }
    return graph::contradiction(g_, {c.condition, c.why, c.operand, c.axis}, op, operands, c.origins);
  }

  void simplify_dims() {
    std::unordered_map<uint32_t, sym::Expr> done;
    auto simplify = [&](std::vector<sym::Expr>& dims) {
      for (sym::Expr& d : dims) {
        if (s_.kind(d) == sym::Kind::Const || s_.kind(d) == sym::Kind::Symbol) continue;
        auto [it, fresh] = done.try_emplace(d.id, d);
        if (fresh) it->second = g_.facts().simplify(d);
        d = it->second;
      }
    };
    for (uint32_t v = 0; v < g_.value_count(); ++v) simplify(g_.value({v}).dims);
    for (uint32_t n = 0; n < g_.node_count(); ++n)
      for (ops::OutputDef& out : g_.node({n}).definition.outputs) simplify(out.dims);
  }

  graph::Graph& g_;
  sym::Store& s_;
  const SolveOptions& options_;
  SolveReport report_;
};

}  // namespace

Result<SolveReport> solve(graph::Graph& g, const SolveOptions& options) { return Solver(g, options).run(); }

}  // namespace dlcb::shape
