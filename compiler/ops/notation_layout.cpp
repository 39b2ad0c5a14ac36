// Lengths of groups from the operands' ranks, then extents of letters from their dims, then the clauses.
#include "ops/notation_layout.h"

#include <algorithm>

namespace dlcb::ops::notation {

using sym::Expr;

bool Layout::is_group(const std::string& letter) const {
  return std::find(rule_.groups.begin(), rule_.groups.end(), letter) != rule_.groups.end();
}

bool Layout::is_letter(const std::string& name) const {
  return extents_.contains(name) ||
         std::find(rule_.letters.begin(), rule_.letters.end(), name) != rule_.letters.end() ||
         std::any_of(rule_.clauses.begin(), rule_.clauses.end(),
                     [&](const Clause& c) { return c.kind == Clause::Extent && c.name == name; });
}

// ---- which operand is indexed how ----
void Layout::collect_patterns() {
  for (const Clause& c : rule_.clauses)
    if (c.kind == Clause::Pattern) add_pattern(c.name, c.axes);
  collect(rule_.body);
}

void Layout::add_pattern(const std::string& operand, const std::vector<Axis>& axes) {
  if (const int p = ctx_.position(operand); p >= 0) patterns_.push_back({p, &axes});
}

void Layout::collect(const Node& n) {
  if (n.kind == Node::Load) add_pattern(n.text, n.axes);
  for (const Node& a : n.args) collect(a);
  if (n.kind == Node::Load)
    for (const Axis& a : n.axes) collect(a.expr);
}

// ---- lengths of groups ----
void Layout::groups_of(const Node& n, std::vector<std::string>& out) const {
  if ((n.kind == Node::Name || n.kind == Node::Extent) && is_group(n.text)) out.push_back(n.text);
  if (n.kind == Node::Call && (n.text == "all" || n.text == "product")) return;  // these close over their own
  // A load in a coordinate (x[ids[i..]]) names whole groups, not positions; so does a reduction.
  if (n.kind == Node::Reduce) return;
  for (const Node& a : n.args) groups_of(a, out);
}

int Layout::attr_length(const Node& n) const {
  if (n.kind == Node::Name && !is_letter(n.text)) {
    const AttrValue* v = attrs_.find(n.text);
    if (const auto* ints = v ? std::get_if<std::vector<int64_t>>(v) : nullptr) return static_cast<int>(ints->size());
    if (const auto* exprs = v ? std::get_if<std::vector<Expr>>(v) : nullptr) return static_cast<int>(exprs->size());
  }
  for (const Node& a : n.args)
    if (const int length = attr_length(a); length >= 0) return length;
  return -1;
}

bool Layout::unify(const std::vector<std::string>& groups, int length) {
  for (const std::string& g : groups)
    if (auto at = length_.find(g); at != length_.end()) length = at->second;
  bool progress = false;
  if (length >= 0)
    for (const std::string& g : groups) progress |= length_.emplace(g, length).second;
  return progress;
}

// One group of unknown length takes what the others leave of the rank.
bool Layout::solve_pattern(const Pattern& p) {
  int rest = ctx_.rank(p.operand);
  std::vector<const Axis*> open;
  bool progress = false;
  for (const Axis& a : *p.axes) {
    std::vector<std::string> groups;
    groups_of(a.expr, groups);
    if (groups.empty()) {
      --rest;
      continue;
    }
    if (!a.plain) progress |= unify(groups);
    auto at = length_.find(groups[0]);
    if (a.broadcast || at == length_.end())
      open.push_back(&a);
    else
      rest -= at->second;
  }
  if (open.size() != 1 || open[0]->broadcast) return progress;
  std::vector<std::string> groups;
  groups_of(open[0]->expr, groups);
  return unify(groups, std::max(rest, 0)) || progress;
}

bool Layout::solve_clauses() {
  bool progress = false;
  for (const Clause& c : rule_.clauses)
    if (c.kind == Clause::Extent && is_group(c.name)) {
      std::vector<std::string> groups{c.name};
      groups_of(c.expr, groups);
      progress |= unify(groups);
    }
  return progress;
}

// A broadcast group is as long as its longest occurrence.
void Layout::solve_broadcast_lengths() {
  std::map<std::string, int> longest;
  for (const Pattern& p : patterns_) {
    int rest = ctx_.rank(p.operand);
    const Axis* open = nullptr;
    for (const Axis& a : *p.axes) {
      if (a.broadcast && a.group)
        open = &a;
      else
        rest -= length_of(a);
    }
    if (open) longest[open->expr.text] = std::max(longest[open->expr.text], rest);
  }
  for (const auto& [group, length] : longest) length_.emplace(group, length);
}

int Layout::length_of(const Axis& a) const {
  std::vector<std::string> groups;
  groups_of(a.expr, groups);
  if (groups.empty()) return 1;
  auto at = length_.find(groups[0]);
  return at == length_.end() ? 0 : at->second;
}

Status Layout::solve_lengths() {
  for (const Clause& c : rule_.clauses)
    if (c.kind == Clause::Rank) {
      DLCB_ASSIGN(Expr e, eval_integer(c.expr, kNoGroup));
      const auto length = sym_.as_const(e);
      DLCB_CHECK(length.has_value(), "a rank must be a number");
      length_[c.name] = static_cast<int>(std::max<int64_t>(*length, 0));
    }
  for (bool progress = true; progress;) {
    progress = false;
    for (const Pattern& p : patterns_) progress |= solve_pattern(p);
    progress |= solve_clauses();
    if (progress) continue;
    for (const Clause& c : rule_.clauses)  // last, a list attribute may say it
      if (c.kind == Clause::Extent && is_group(c.name) && !length_.contains(c.name))
        if (const int length = attr_length(c.expr); length >= 0) progress |= unify({c.name}, length);
  }
  solve_broadcast_lengths();
  for (const std::string& g : rule_.groups) length_.emplace(g, 0);
  return check_ranks();
}

Status Layout::check_ranks() const {
  for (const Pattern& p : patterns_) {
    int expected = 0;
    bool flexible = false;
    for (const Axis& a : *p.axes) {
      flexible |= a.broadcast && a.group;
      expected += length_of(a);
    }
    const int rank = ctx_.rank(p.operand);
    if (flexible ? rank <= expected : rank == expected) continue;
    return ctx_.fail(DiagKind::RankMismatch,
                     {"operand " + std::to_string(p.operand) + " of " + std::string(ctx_.op.name) + " has rank " +
                      std::to_string(rank) + ", but rank " + std::to_string(expected) + " is needed"},
                     p.operand);
  }
  return ok();
}

// ---- extents ----
void Layout::for_each_plain(bool broadcast, const Visit& visit) const {
  for (const Pattern& p : patterns_) {
    int flexible = ctx_.rank(p.operand);  // what a broadcast group may take up here
    for (const Axis& a : *p.axes)
      if (!(a.broadcast && a.group)) flexible -= length_of(a);
    int axis = 0;
    for (const Axis& a : *p.axes) {
      const int full = length_of(a);
      const int here = a.broadcast && a.group ? flexible : full;
      if (a.plain && a.broadcast == broadcast)
        for (int j = 0; j < here; ++j)
          visit(a.expr.text, full - here + j, ctx_.dims(p.operand)[axis + j], p.operand, axis + j);
      axis += here;
    }
  }
}

void Layout::plain_extents() {
  for_each_plain(false, [&](const std::string& letter, int j, Expr dim, int operand, int axis) {
    auto& extents = extents_[letter];
    if (static_cast<int>(extents.size()) <= j) extents.resize(j + 1);
    if (!extents[j].valid())
      extents[j] = dim;
    else
      ctx_.require_equal(extents[j], dim, "dims named '" + letter + "' must be equal", operand, axis);
  });
}

void Layout::broadcast_extents() {
  std::map<std::string, std::vector<Expr>> wide;  // extents of letters that only occur marked
  for_each_plain(true, [&](const std::string& letter, int j, Expr dim, int operand, int axis) {
    if (auto at = extents_.find(letter); at != extents_.end() && j < static_cast<int>(at->second.size())) {
      if (at->second[j] != dim)
        ctx_.require(sym_.logical_or(sym_.eq(dim, ctx_.constant(1)), sym_.eq(dim, at->second[j])),
                     "the dim must be 1 or equal", operand, axis);
      return;
    }
    auto& extents = wide[letter];
    extents.resize(std::max<size_t>(extents.size(), j + 1), ctx_.constant(1));
    extents[j] = ctx_.broadcast_extent(extents[j], dim, operand, axis);
  });
  extents_.merge(wide);
}

Status Layout::solve_extents() {
  plain_extents();
  broadcast_extents();
  for (const Clause& c : rule_.clauses) {
    if (c.kind == Clause::Extent) DLCB_TRY(extent_clause(c));
    if (c.kind == Clause::Require) DLCB_TRY(require_clause(c));
  }
  for (const std::string& letter : rule_.letters)
    if (is_group(letter)) extents_[letter].resize(length_.at(letter), ctx_.constant(1));
  return ok();
}

Status Layout::extent_clause(const Clause& c) {
  const bool group = is_group(c.name), given = extents_.contains(c.name);
  positions_ = group ? length_.at(c.name) : 1;
  for (int j = 0; j < positions_; ++j) {
    DLCB_ASSIGN(Expr e, eval_integer(c.expr, group ? j : kNoGroup));
    e = ctx_.simplify(e);
    if (given) {
      ctx_.require_equal(extents_[c.name][j], e, "dims named '" + c.name + "' must be equal");
    } else {
      ctx_.require(sym_.le(ctx_.constant(0), e), "a size must not be negative");
      extents_[c.name].push_back(e);
    }
  }
  if (group) extents_[c.name];  // a group of length 0 has its entry too
  return ok();
}

Status Layout::require_clause(const Clause& c) {
  std::vector<std::string> groups;
  groups_of(c.expr, groups);
  positions_ = groups.empty() ? 1 : length_.at(groups[0]);
  for (int j = 0; j < positions_; ++j) {
    DLCB_ASSIGN(Expr condition, eval_integer(c.expr, groups.empty() ? kNoGroup : j));
    ctx_.require(condition, c.name, 0);  // blame the first operand: conditions are about what walks over it
  }
  return ok();
}

}  // namespace dlcb::ops::notation
