// Random expressions with fixed seeds: construction, printing, substitution, bounds, congruences and simplification
// must never change a value, and the prover must never contradict one.
#include "catch.h"
#include "random_expr.h"
#include "sym/expr.h"

using namespace dlcb;
using namespace dlcb::sym;
using namespace dlcb::sym::test;

namespace {

constexpr int kTrees = 4000;

bool within(Bounds b, int64_t v) { return b.lo <= v && v <= b.hi; }
bool satisfies(Congruence c, int64_t v) {
  return c.modulus == 0 ? v == c.remainder : (v - c.remainder) % c.modulus == 0;
}

}  // namespace

TEST_CASE("constructors keep the value, bounds and congruences hold") {
  Store s;
  Symbols symbols(s);
  Random r(1, symbols.all.size());
  for (int n = 0; n < kTrees; n++) {
    Tree t = r.in(0, 3) ? r.integer(static_cast<int>(r.in(1, 5))) : r.boolean(4);
    Expr e = build(s, t, symbols.all);
    std::string text = print(s, e);
    for (int k = 0; k < 12; k++) {
      auto values = symbols.values(r, {&t});
      int64_t expected = reference(t, values);
      auto got = s.evaluate(e, symbols.lookup(values));
      if (got != expected || !within(s.bounds(e), expected) || !satisfies(s.congruence(e), expected)) {
        INFO(text << " tree " << n << " at H=" << values[0] << " W=" << values[1] << " D=" << values[2] << " i="
                  << values[3] << " j=" << values[4] << " bounds " << s.bounds(e).lo << ".." << s.bounds(e).hi);
        REQUIRE(got == std::optional<int64_t>(expected));
        REQUIRE(within(s.bounds(e), expected));
        REQUIRE(satisfies(s.congruence(e), expected));
      }
    }
  }
}

TEST_CASE("printing and parsing give the same expression") {
  Store s;
  Symbols symbols(s);
  Random r(2, symbols.all.size());
  for (int n = 0; n < kTrees; n++) {
    Expr e = build(s, r.integer(static_cast<int>(r.in(1, 5))), symbols.all);
    std::string text = print(s, e);
    Result<Expr> back = parse(s, text, false);
    INFO(text);
    REQUIRE(bool(back));
    INFO("read back: " << print(s, *back));
    REQUIRE(*back == e);
  }
}

// Each of 40 steps uses what the steps before it made more than once: as a tree it has far more than 2^40 nodes.
TEST_CASE("expressions that share deeply are printed in the size of their nodes and read back") {
  for (uint32_t seed = 0; seed < 20; seed++) {
    Store s;
    Symbols symbols(s);
    Random r(seed, symbols.all.size());
    std::vector<Expr> made = symbols.all;
    for (int step = 0; step < 40; step++) {
      Expr x = made.back(), y = made[made.size() - static_cast<size_t>(r.in(1, 4))];
      Expr z = symbols.all[static_cast<size_t>(r.in(0, 2))], k = s.constant(r.in(2, 9));
      switch (r.in(0, 4)) {
        case 0:
          made.push_back(s.min(s.floordiv(s.add(x, z), k), s.max(x, s.sub(y, k))));
          break;
        case 1:
          made.push_back(s.select(s.le(x, s.add(y, z)), s.mod(x, k), s.floordiv(x, s.add(z, k))));
          break;
        case 2:
          made.push_back(s.add(s.max(x, z), s.mul(k, s.floordiv(s.add(x, k), s.add(y, z)))));
          break;
        case 3:
          made.push_back(s.floor_scale(s.add(s.floordiv(x, k), s.mod(x, s.add(z, k))), 0.7));
          break;
        default:
          made.push_back(s.mul(s.min(x, z), s.floordiv(x, s.max(y, k))));
      }
    }
    const Expr e = made.back();
    size_t edges = 1;
    for (Expr node : topological(s, std::span(&e, 1))) edges += s.operands(node).size();
    const std::string text = print(s, e);
    INFO("seed " << seed << ", " << edges << " edges: " << text);
    REQUIRE(text.size() <= edges * 180);  // an operand's text has at most 160 characters
    Result<Expr> back = parse(s, text, false);
    REQUIRE(bool(back));
    REQUIRE(*back == e);
    REQUIRE(outline(s, e).size() <= 600);
  }
}

TEST_CASE("substitution commutes with evaluation") {
  Store s;
  Symbols symbols(s);
  Random r(3, symbols.all.size());
  for (int n = 0; n < kTrees / 2; n++) {
    Tree t = r.integer(4), replacement = r.integer(2);
    Expr e = build(s, t, symbols.all);
    Expr d = symbols.all[2], value = build(s, replacement, symbols.all);
    Expr after = s.substitute(e, d, value);
    for (int k = 0; k < 8; k++) {
      auto values = symbols.values(r, {&t, &replacement}), inner = values;
      inner[2] = reference(replacement, values);
      if (inner[2] < -6 || inner[2] > 6) continue;  // outside what was declared of D
      INFO(print(s, e) << " with D = " << print(s, value) << " is " << print(s, after));
      REQUIRE(s.evaluate(after, symbols.lookup(values)) == std::optional<int64_t>(reference(t, inner)));
    }
  }
}

TEST_CASE("the prover and the simplifier are sound under assumptions") {
  Store s;
  Symbols symbols(s);
  Random r(4, symbols.all.size());
  int decided = 0, tested = 0;
  for (int n = 0; n < kTrees / 2; n++) {
    std::vector<Tree> assumed;
    Facts facts(s);
    for (int64_t k = r.in(0, 3); k > 0; k--) {
      assumed.push_back(r.boolean(2));
      facts.assume(build(s, assumed.back(), symbols.all));
    }
    Tree goal = r.boolean(3), term = r.integer(3);
    Expr condition = build(s, goal, symbols.all), e = build(s, term, symbols.all);
    Tri answer = facts.prove(condition);
    Expr simple = facts.simplify(e);
    Bounds bounds = facts.bounds(e);
    decided += answer != Tri::Unknown;
    std::vector<const Tree*> trees{&goal, &term};
    for (const Tree& a : assumed) trees.push_back(&a);
    for (int k = 0; k < 150; k++) {
      auto values = symbols.values(r, trees);
      if (!std::all_of(assumed.begin(), assumed.end(), [&](const Tree& a) { return reference(a, values) != 0; }))
        continue;
      tested++;
      int64_t expected = reference(term, values);
      bool holds = reference(goal, values) != 0;
      bool ok = (answer == Tri::Unknown || holds == (answer == Tri::Yes)) && within(bounds, expected) &&
                s.evaluate(simple, symbols.lookup(values)) == std::optional<int64_t>(expected);
      if (ok) continue;
      std::string given;
      for (Expr a : facts.assumptions()) given += print(s, a) + "; ";
      INFO("case " << n << " given " << given << " at H=" << values[0] << " W=" << values[1] << " D=" << values[2]
                   << " i=" << values[3] << " j=" << values[4]);
      INFO(print(s, condition) << " answered " << int(answer) << "; " << print(s, e) << " became " << print(s, simple)
                               << " bounds " << bounds.lo << ".." << bounds.hi << ", expected " << expected
                               << ", holds " << holds);
      REQUIRE(ok);
    }
  }
  CHECK(decided > kTrees / 10);
  CHECK(tested > kTrees);
}
