#include "graph/fixture.h"
#include "shape/guards.h"
#include "shape/solve.h"

using namespace dlcb;
using namespace dlcb::graph;
using testing::Fixture;

namespace {

void need(Fixture& f, const std::string& condition, const std::string& node = "n") {
  REQUIRE(f.g.require(f.expr(condition), "needs " + condition, {{"Op", node, ""}}));
}

std::vector<shape::Guard> list(Fixture& f) {
  auto r = shape::solve(f.g);
  REQUIRE(r);
  auto guards = shape::guards(f.g);
  INFO((guards ? "" : to_text(guards.error())));
  REQUIRE(guards);
  return *guards;
}

std::string texts(const std::vector<shape::Guard>& guards) {
  std::string text;
  for (const shape::Guard& g : guards) text += (text.empty() ? "" : "; ") + g.text;
  return text;
}

}  // namespace

TEST_CASE("input dims are sources or are checked, in the model's names") {
  Fixture f;
  f.input("x", DType::F32, {"N", "3", "H", "H"});
  f.input("y", DType::F32, {"M", "N"});
  need(f, "M == N + 1", "/cat");
  auto guards = list(f);
  CHECK(texts(guards) == "x.1 == 3; x.3 == H; M == N + 1; y.1 == N");
  CHECK(guards[2].kind == shape::GuardKind::InputDim);
  CHECK(guards[2].input == 1);
  CHECK(guards[2].axis == 0);
  CHECK(guards[2].origins.at(0).node == "/cat");
}

TEST_CASE("a bound comes out as a bound and blames its input dim") {
  Fixture f;
  f.input("ids", DType::I64, {"B", "S"});
  need(f, "S <= 512", "/embed");
  auto guards = list(f);
  REQUIRE(texts(guards) == "S <= 512");
  CHECK(guards[0].input == 0);
  CHECK(guards[0].axis == 1);
  CHECK(guards[0].shown.at(0).text == "S");
}

TEST_CASE("guards on one dim are merged and those that say nothing new are dropped") {
  Fixture f;
  f.input("x", DType::F32, {"H"});
  need(f, "2*((H + 31)//32) == (H + 15)//16 or (H + 15)//16 == 1", "/a");
  need(f, "2*((H + 15)//16) == (H + 7)//8 or (H + 7)//8 == 1", "/b");
  need(f, "2*((H + 7)//8) == (H + 3)//4 or (H + 3)//4 == 1", "/c");
  need(f, "0 <= H + 3", "/d");
  auto guards = list(f);
  CHECK(texts(guards) == "H % 32 in {0, 29, 30, 31} or H in {1..8, 13..16}");
  CHECK(guards[0].origins.size() == 3);
}

TEST_CASE("a guard that the user's range implies is not checked twice") {
  Fixture f;
  f.input("x", DType::F32, {"N", "S"});
  need(f, "N <= 16");
  need(f, "S <= 512");
  f.g.declare_range(f.expr("N"), {1, 8});
  auto guards = list(f);
  CHECK(texts(guards) == "1 <= N <= 8; S <= 512");
  CHECK(guards[0].kind == shape::GuardKind::Range);
  CHECK(guards[0].bounds == sym::Bounds{1, 8});
}

TEST_CASE("guards on several dims stay as they are unless implied") {
  Fixture f;
  f.input("x", DType::F32, {"A", "B"});
  need(f, "A == B or A == 1 or B == 1");
  need(f, "A + B <= 100");
  f.g.constraints.push_back({f.expr("A + B <= 200"), "weaker", {}, -1, -1, {}});
  auto guards = list(f);
  REQUIRE(guards.size() == 2);
  CHECK(guards[0].axis == 1);
  CHECK(guards[0].why == "needs A == B or A == 1 or B == 1");
}

TEST_CASE("a guard of one case is implied by a stronger one of the same case") {
  Fixture f;
  f.input("x", DType::F32, {"A", "B"});
  need(f, "65 <= max(1, A) or not B == 8");
  need(f, "192 <= A or not B == 8");
  need(f, "B == 8 or 33 <= max(1, A)");
  CHECK(texts(list(f)) == "192 <= A or B != 8; B == 8 or 33 <= max(1, A)");
}

// `rate` is no dim: a value that the host reads from an input.
TEST_CASE("what is needed under a condition on values is merged and said per condition") {
  Fixture f;
  f.input("x", DType::F32, {"A", "B"});
  need(f, "65 <= max(1, A) or not rate == 16", "/a");
  need(f, "(A + 320)//512 == 1 or not rate == 16", "/b");
  need(f, "rate == 16 or 33 <= max(1, A)", "/c");
  need(f, "A == B or A == 1 or not rate == 16", "/d");
  auto guards = list(f);
  REQUIRE(texts(guards) == "192 <= A <= 703 if rate == 16; A >= 33 if rate != 16; (A == 1 or A == B) if rate == 16");
  CHECK(guards[0].condition == f.expr("(192 <= A and A <= 703) or not rate == 16"));
  CHECK(guards[0].axis == 0);
  CHECK(guards[0].origins.at(0).node == "/b");
}

TEST_CASE("what both branches need is needed; what is needed anyway is not said of a branch") {
  Fixture f;
  f.input("x", DType::F32, {"A", "B", "C"});
  need(f, "A == B or not rate == 16", "/then");
  need(f, "rate == 16 or A == B", "/else");
  need(f, "C >= 7 or rate == 16", "/narrow");
  need(f, "C >= 9", "/wide");
  need(f, "C >= 5 or rate == 8", "/none");
  auto guards = list(f);
  CHECK(texts(guards) == "C >= 9; A == B");
  CHECK(guards[1].origins.size() == 2);
}

TEST_CASE("a guard is said as simply as the rules allow") {
  Fixture f;
  f.input("x", DType::F32, {"A", "B"});
  need(f, "A == select(B == 0, 0, A)");
  CHECK(texts(list(f)) == "A == 0 or B != 0");
}

TEST_CASE("a branch that no size can take is not a contradiction") {
  Fixture f;
  f.input("x", DType::F32, {"A"});
  need(f, "A == 3 or not rate == 16");
  need(f, "A == 4 or not rate == 16");
  const std::string text = texts(list(f));
  CHECK(text == "A == 3 if rate == 16; A == 4 if rate == 16");
}

TEST_CASE("a range that the constraints leave empty is reported") {
  Fixture f;
  f.input("x", DType::F32, {"T"});
  need(f, "7 <= T or T == 0", "/conv");
  f.g.declare_range(f.expr("T"), {1, 6});
  auto r = shape::solve(f.g);
  REQUIRE_FALSE(r);
  INFO(to_text(r.error()));
  CHECK(r.error().kind == DiagKind::EmptyRange);
  CHECK(message(r.error()).find("T in 1..6") != std::string::npos);
}

TEST_CASE("nothing assumes that a dim is not zero") {
  Fixture f;
  f.input("x", DType::F32, {"N"});
  need(f, "1 <= N");
  CHECK(texts(list(f)) == "N >= 1");
}
