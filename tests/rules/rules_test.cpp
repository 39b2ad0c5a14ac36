// Every row of sym/rules.def: both sides agree over small integers wherever the guard holds, the row lowers the
// declared order without copying a name, it keeps to the patterns that the matcher supports, and it cites a law that
// exists.
#include "sym/rules.h"

#include <fstream>
#include <map>
#include <sstream>

#include "catch.h"

using namespace dlcb;
using namespace dlcb::sym;

namespace {

void count_names(const Store& s, Expr e, std::map<Expr, int>& counts) {
  if (s.kind(e) == Kind::Symbol) counts[e]++;
  for (Expr o : s.operands(e)) count_names(s, o, counts);
}

bool supported(const Store& s, Expr e) {
  bool sum = s.kind(e) == Kind::Sum;
  for (size_t i = 0; sum && i < s.operands(e).size(); i++) sum = s.coefficients(e)[i] == 1;
  if (s.kind(e) == Kind::Sum && (!sum || s.sum_constant(e) != 0)) return false;
  for (Expr o : s.operands(e)) {
    if (!supported(s, o)) return false;
  }
  return true;
}

std::string laws() {
  std::ifstream in("../compiler/sym/laws.md");
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("every rule holds, lowers the order and cites a law") {
  Store s;
  declare_rule_names(s);
  const std::string law_text = laws();
  REQUIRE_FALSE(law_text.empty());
  for (const Rule& rule : rules()) {
    INFO(rule.name << ": " << rule.left << " -> " << rule.right << " if " << rule.guard);
    Expr left = *parse(s, rule.left, false), right = *parse(s, rule.right, false), guard = *parse(s, rule.guard, false);
    CHECK(rule_weight(s, right) < rule_weight(s, left));
    std::map<Expr, int> before, after;
    count_names(s, left, before);
    count_names(s, right, after);
    for (auto [name, n] : after) CHECK(n <= before[name]);
    CHECK(supported(s, left));
    CHECK(law_text.find("**Law " + std::string(rule.law.substr(4)) + ".**") != std::string::npos);

    std::vector<Expr> names(s.symbols(left).begin(), s.symbols(left).end());
    std::vector<int64_t> values(names.size());
    auto lookup = [&](Expr e) -> std::optional<int64_t> {
      return values[static_cast<size_t>(std::find(names.begin(), names.end(), e) - names.begin())];
    };
    int64_t holds = 0;
    std::function<void(size_t)> each = [&](size_t i) {
      if (i == names.size()) {
        if (*s.evaluate(guard, lookup) == 0) return;
        holds++;
        if (s.evaluate(left, lookup) != s.evaluate(right, lookup)) {
          for (size_t k = 0; k < names.size(); k++) INFO(s.symbol_name(names[k]) << " = " << values[k]);
          REQUIRE(s.evaluate(left, lookup) == s.evaluate(right, lookup));
        }
        return;
      }
      Bounds b = s.bounds(names[i]);
      for (int64_t v = std::max<int64_t>(b.lo, -7); v <= std::min<int64_t>(b.hi, 7); v++) {
        values[i] = v;
        each(i + 1);
      }
    };
    each(0);
    CHECK(holds > 3);
  }
}

TEST_CASE("every rule fires") {
  for (const Rule& rule : rules()) {
    Store s;
    declare_rule_names(s);
    INFO(rule.name << ": " << rule.left << " -> " << rule.right << " if " << rule.guard);
    Expr left = *parse(s, rule.left, false), guard = *parse(s, rule.guard, false);
    // A constant pattern is tried with constants; the guard is assumed.
    if (auto k = s.find_symbol("k"); s.contains(left, *k)) {
      left = s.substitute(left, *k, s.constant(1));
      guard = s.substitute(guard, *k, s.constant(1));
    }
    Facts facts(s);
    facts.assume(guard);
    CHECK(rule_weight(s, facts.simplify(left)) < rule_weight(s, left));
  }
}
