#include "graph/fixture.h"
#include "shape/solve.h"

using namespace dlcb;
using namespace dlcb::graph;
using testing::Fixture;

namespace {

void need(Fixture& f, const std::string& condition, const std::string& node = "n") {
  REQUIRE(f.g.require(f.expr(condition), "needs " + condition, {{"Op", node, ""}}));
}

std::string remaining(const Fixture& f) {
  std::string text;
  for (const Constraint& c : f.g.constraints) text += (text.empty() ? "" : "; ") + sym::print(f.s, c.condition);
  return text;
}

shape::SolveReport solved(Fixture& f) {
  auto r = shape::solve(f.g);
  INFO((r ? "" : to_text(r.error())));
  REQUIRE(r);
  return *r;
}

}  // namespace

TEST_CASE("equal symbols become the first one, with a note") {
  Fixture f;
  ValueId x = f.input("ids", DType::I64, {"B", "S"}), y = f.input("mask", DType::I64, {"B2", "S2"});
  need(f, "S == S2", "/add");
  need(f, "B2 == B");
  auto report = solved(f);
  CHECK(f.dims(y) == "B, S");
  CHECK(f.dims(x) == "B, S");
  CHECK(remaining(f).empty());
  REQUIRE(report.notes.size() == 2);
  CHECK(report.notes[0].text == "'S2' is forced to equal S (needs S == S2)");
  CHECK(report.notes[0].where.node == "/add");
  REQUIRE(f.g.eliminated.size() == 2);
  CHECK(f.g.eliminated[0].sources.at(0).axis == 1);
}

TEST_CASE("arithmetic is inverted and symbols are substituted into the rest") {
  Fixture f;
  ValueId x = f.input("x", DType::F32, {"A", "B", "C"});
  need(f, "2*B + 3 == 2*A + 7");
  need(f, "C == A + B");
  solved(f);
  CHECK(f.dims(x) == "A, A + 2, 2*A + 2");
  CHECK(remaining(f).empty());
}

TEST_CASE("constants are found through linear, divided and enumerated forms") {
  Fixture f;
  ValueId x = f.input("x", DType::F32, {"A", "B", "C"});
  need(f, "3*A == 12");
  need(f, "B // 4 == 2");
  need(f, "B % 4 == 3");
  need(f, "A*C == 8 * A");
  solved(f);
  CHECK(f.dims(x) == "4, 11, 8");
  CHECK(remaining(f).empty());
}

TEST_CASE("a divisibility contradiction is found, with the operator that needs it") {
  Fixture f;
  f.input("x", DType::F32, {"A", "B"});
  f.g.constraints.push_back({f.expr("2*A == 4*B + 1"), "halves must match", {}, -1, -1, {{"Reshape", "/r", ""}}});
  auto r = shape::solve(f.g);
  REQUIRE_FALSE(r);
  CHECK(r.error().kind == DiagKind::ShapeContradiction);
  CHECK(r.error().where.node == "/r");
}

TEST_CASE("common factors cancel only where they are known to be positive") {
  Fixture f;
  ValueId x = f.input("x", DType::F32, {"N", "A", "B"});
  need(f, "N*A == N*B");
  solved(f);
  CHECK(f.dims(x) == "N, A, B");
  CHECK(remaining(f) != "");
  f.g.declare_range(f.expr("N"), {1, 8});
  solved(f);
  CHECK(f.dims(x) == "N, A, A");
}

TEST_CASE("a dynamic dim that is forced to a constant is an error that names the operator") {
  Fixture f;
  f.input("x", DType::F32, {"N", "T"});
  need(f, "T == 128", "/pos/add");
  auto r = shape::solve(f.g, {.dynamic = {"T"}});
  REQUIRE_FALSE(r);
  CHECK(r.error().kind == DiagKind::DimForced);
  CHECK(message(r.error()) == "dim 'T' was asked to be dynamic but the model forces it to 128");
  CHECK(r.error().where.node == "/pos/add");
}

TEST_CASE("ranges move to the symbol that stays") {
  Fixture f;
  f.input("x", DType::F32, {"S"});
  f.input("y", DType::F32, {"S2"});
  f.g.declare_range(f.expr("S2"), {1, 8});
  need(f, "S == S2");
  solved(f);
  REQUIRE(f.g.ranges.size() == 1);
  CHECK(f.g.ranges[0].symbol == f.expr("S"));
  CHECK(f.s.bounds(f.expr("S")).hi == 8);
}

TEST_CASE("a range and a constraint that leave nothing are reported") {
  Fixture f;
  f.input("x", DType::F32, {"T"});
  need(f, "T % 10 == 9");
  f.g.declare_range(f.expr("T"), {1, 6});
  auto r = shape::solve(f.g);
  REQUIRE_FALSE(r);
  CHECK(r.error().kind == DiagKind::EmptyRange);
}

TEST_CASE("broadcast cases that cannot be are dropped") {
  Fixture f;
  ValueId x = f.input("x", DType::F32, {"A"}), y = f.input("y", DType::F32, {"B"});
  need(f, "2 <= A");
  need(f, "2 <= B");
  f.g.constraints.push_back({f.expr("A == B or A == 1 or B == 1"), "equal or 1", {}, -1, -1, {}});
  solved(f);
  CHECK(f.dims(y) == "A");
  CHECK(f.dims(x) == "A");
}

TEST_CASE("an equality that orders its sides becomes the order") {
  Fixture f;
  f.input("x", DType::F32, {"A", "B"});
  need(f, "A == min(1000000000, A)");
  need(f, "B == max(A, B)");
  solved(f);
  CHECK(remaining(f) == "A <= 1000000000; A <= B");
}

TEST_CASE("a sum of sizes that is zero has no part that is not") {
  Fixture f;
  f.input("x", DType::F32, {"A", "B"});
  need(f, "(A//2)*(B//3) + 2*(B//3) == 0");
  solved(f);
  CHECK(remaining(f) == "B//3 == 0");
}
