#include <functional>

#include "catch.h"
#include "shape/integer_set.h"

using namespace dlcb;
using shape::IntegerSet;

namespace {

sym::Expr parse(sym::Store& s, std::string_view text) {
  auto e = sym::parse(s, text, true);
  REQUIRE(e);
  return *e;
}

int64_t value_at(const sym::Store& s, sym::Expr e, int64_t n) {
  return s.evaluate(e, [&](sym::Expr) { return std::optional<int64_t>(n); }).value();
}

// The intersection said again must agree with the raw conditions at every n.
void check_merge(const std::vector<std::string>& conditions, const std::string& expected_text) {
  sym::Store s;
  std::vector<sym::Expr> raw;
  std::optional<IntegerSet> set;
  sym::Expr h = s.symbol("H", sym::SymbolKind::Dim);
  for (const std::string& text : conditions) {
    raw.push_back(parse(s, text));
    auto one = shape::solutions(s, raw.back(), h);
    INFO(text);
    REQUIRE(one);
    set = set ? IntegerSet::intersect(*set, *one) : one;
    REQUIRE(set);
  }
  auto merged = set->condition(s, h);
  REQUIRE(merged);
  for (int64_t n = 0; n <= 2000; ++n) {
    bool all = true;
    for (sym::Expr e : raw) all &= value_at(s, e, n) != 0;
    INFO(n);
    REQUIRE(set->contains(n) == all);
    REQUIRE((value_at(s, *merged, n) != 0) == all);
  }
  CHECK(set->text("H") == expected_text);
}

}  // namespace

TEST_CASE("one-symbol constraints become short and exact") {
  check_merge({"H <= 512"}, "H <= 512");
  check_merge({"7 <= H"}, "H >= 7");
  check_merge({"H % 100 == 0"}, "H % 100 == 0");
  check_merge({"H == 1 or H == 7"}, "H in {1, 7}");
  check_merge({"3 <= H", "H <= 9"}, "3 <= H <= 9");
  check_merge({"H % 8 == 0", "H % 12 == 0", "24 <= H"}, "H % 24 == 0 and H >= 1");
  check_merge({"(H - 7)//2 + 1 >= 1"}, "H >= 7");
  check_merge({"2*((H + 31)//32) == (H + 15)//16 or (H + 15)//16 == 1"}, "H % 32 in {0, 17..31} or 1 <= H <= 16");
  check_merge({"min(H, 5) == 5 or H == 2"}, "H >= 5 or H == 2");
  check_merge({"select(H <= 10, H, 2*H) == 6"}, "H == 6");
}

TEST_CASE("a detector's three up-sampling joins merge into one guard") {
  check_merge({"2*((H + 31)//32) == (H + 15)//16 or (H + 15)//16 == 1",
               "2*((H + 15)//16) == (H + 7)//8 or (H + 7)//8 == 1", "2*((H + 7)//8) == (H + 3)//4 or (H + 3)//4 == 1"},
              "H % 32 in {0, 29, 30, 31} or H in {1..8, 13..16}");
}

TEST_CASE("what is not eventually periodic is left alone") {
  sym::Store s;
  sym::Expr h = s.symbol("H", sym::SymbolKind::Dim);
  CHECK_FALSE(shape::solutions(s, parse(s, "H*H == 4*H"), h));
  CHECK_FALSE(shape::solutions(s, parse(s, "100 % H == 0"), h));
  CHECK_FALSE(shape::solutions(s, parse(s, "H % 5000 == 0"), h));
}

TEST_CASE("set questions look at a whole period") {
  IntegerSet even({true, false}, 0, 2), fours({true, false, false, false}, 0, 4), none({false}, 0, 1);
  CHECK(even.covers(fours, {0, sym::kMax}));
  CHECK_FALSE(fours.covers(even, {0, sym::kMax}));
  CHECK(fours.covers(even, {4, 5}));
  CHECK_FALSE(fours.meets({5, 7}));
  CHECK(fours.meets({5, 8}));
  CHECK(none.empty());
  CHECK(IntegerSet({false, true, false, true, false, true}, 2, 4) == IntegerSet({false, true}, 0, 2));
  CHECK(IntegerSet({false, false, false, true, false}, 4, 1).only_value() == 3);
}
