// The table of guarded rewrite rules (rules.def) and its application. Rows are text, read by the parser of expressions:
// names starting with k stand for constants, p and q for booleans, all others for any integer expression. Private to
// compiler/sym and its tests.
#pragma once
#include <span>
#include <string_view>

#include "sym/prover.h"

namespace dlcb::sym {

struct Rule {
  std::string_view name, left, right, guard, law;
};

std::span<const Rule> rules();
// A Store with the names that rows may use declared.
void declare_rule_names(Store& store);
// The order that every row lowers: weight of the text's expression with every name counted once as `leaf`.
int64_t rule_weight(const Store& store, Expr e);

// e after the first row that matches its root and whose guard is proved, or e.
Expr apply_rules(Store::Impl& s, Prover& k, Expr e);

}  // namespace dlcb::sym
