// The part of instantiating a rule that comes before its body: how long each group is and how large each letter.
// Evaluation of clauses is the derived class's (notation_eval.cpp).
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ops/notation.h"

namespace dlcb::ops::notation {

constexpr int kNoGroup = -1;

class Layout {
 public:
  Layout(DefineContext& ctx, const Rule& rule, const Attrs& attrs)
      : ctx_(ctx), sym_(ctx.sym), rule_(rule), attrs_(attrs) {}
  virtual ~Layout() = default;

 protected:
  struct Pattern {
    int operand;
    const std::vector<Axis>* axes;
  };

  // An integer expression at one position of its groups (kNoGroup: it has none).
  virtual Result<sym::Expr> eval_integer(const Node& n, int j) = 0;

  void collect_patterns();
  Status solve_lengths();
  Status solve_extents();

  bool is_group(const std::string& letter) const;
  bool is_letter(const std::string& name) const;
  // The groups an axis or expression speaks of, positionwise; one length for all of them.
  void groups_of(const Node& n, std::vector<std::string>& out) const;
  int length_of(const Axis& a) const;

  DefineContext& ctx_;
  sym::Store& sym_;
  const Rule& rule_;
  const Attrs& attrs_;
  std::vector<Pattern> patterns_;
  std::map<std::string, int> length_;  // groups
  int positions_ = 1;                  // length of the groups being walked: what list attributes must have
  std::map<std::string, std::vector<sym::Expr>> extents_;  // letters: one; groups: one per position

 private:
  void add_pattern(const std::string& operand, const std::vector<Axis>& axes);
  void collect(const Node& n);
  int attr_length(const Node& n) const;  // of the list attributes in an expression, or -1
  bool unify(const std::vector<std::string>& groups, int length = -1);
  bool solve_pattern(const Pattern& p);
  bool solve_clauses();
  void solve_broadcast_lengths();
  Status check_ranks() const;
  using Visit = std::function<void(const std::string& letter, int j, sym::Expr dim, int operand, int axis)>;
  void for_each_plain(bool broadcast, const Visit& visit) const;
  void plain_extents();
  void broadcast_extents();
  Status extent_clause(const Clause& c);
  Status require_clause(const Clause& c);
};

}  // namespace dlcb::ops::notation
