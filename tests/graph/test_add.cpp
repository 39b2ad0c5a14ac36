#include "graph/fixture.h"

using namespace dlcb;
using namespace dlcb::graph;
using testing::Fixture;

TEST_CASE("proved requirements vanish, unknown ones are recorded and assumed") {
  Fixture f;
  ValueId x = f.input("x", DType::F32, {"N", "T"}), y = f.input("y", DType::F32, {"N", "T"}),
          z = f.input("z", DType::F32, {"N", "L"});
  f.add("add", {x, y}, {}, "same");
  CHECK(f.g.constraints.empty());
  f.add("add", {x, z}, {}, "maybe");
  REQUIRE(f.g.constraints.size() == 1);
  CHECK(f.g.constraints[0].origins[0].node == "maybe");
  f.add("add", {x, z}, {}, "again");
  CHECK(f.g.constraints.size() == 1);
}

TEST_CASE("a contradiction names the node, both operands and where their dims come from") {
  Fixture f;
  ValueId x = f.input("speech", DType::F32, {"N", "7"});
  ValueId w = f.constant<float>("w", DType::F32, {5}, {1, 2, 3, 4, 5});
  ValueId h = f.add("relu", {x}, {}, "/act");
  Diagnostic d = f.refused("add", {h, w}, {}, "/sum");
  CHECK(d.kind == DiagKind::ShapeContradiction);
  std::string text = to_text(d);
  INFO(text);
  CHECK(text.find("'/sum'") != std::string::npos);
  CHECK(text.find("'/act'") != std::string::npos);
  CHECK(text.find("f32[N, 7]") != std::string::npos);
  CHECK(text.find("f32[5]") != std::string::npos);
  CHECK(text.find("'N' is dim 0 of input 'speech'") != std::string::npos);
}

TEST_CASE("a contradiction with an earlier constraint shows that constraint") {
  Fixture f;
  ValueId x = f.input("x", DType::F32, {"N", "T"});
  REQUIRE(f.g.require(f.expr("T == 8"), "the first says so", {{"First", "one", ""}}));
  auto second = f.g.require(f.expr("T == 9"), "the second says so", {{"Second", "two", ""}});
  REQUIRE_FALSE(second);
  std::string text = to_text(second.error());
  INFO(text);
  CHECK(text.find("the first says so") != std::string::npos);
  CHECK(text.find("'one'") != std::string::npos);
  CHECK(text.find("'T' is dim 1 of input 'x'") != std::string::npos);
  CHECK(x.valid());
}

TEST_CASE("inside a branch a requirement holds only if the branch is taken") {
  Fixture f;
  ValueId x = f.input("x", DType::F32, {"T"}), rate = f.input("rate", DType::I64, {});
  auto r = f.g.elements(rate, {});
  REQUIRE(r);
  sym::Expr taken = f.s.eq(r->at(0), f.s.constant(16000));
  ValueId w8 = f.constant<float>("w8", DType::F32, {8}, std::vector<float>(8)),
          w9 = f.constant<float>("w9", DType::F32, {9}, std::vector<float>(9));
  ValueId e = f.input("e", DType::F32, {"8"});
  f.g.push_predicate(taken);
  ValueId a = f.add("add", {x, w8});
  CHECK(f.g.facts().prove(f.expr("T == 8 or T == 1")) == sym::Tri::Yes);
  f.add("add", {e, w9});  // never right, so the branch must not be taken
  f.g.pop_predicate();
  CHECK(f.g.facts().prove(f.expr("T == 8 or T == 1")) == sym::Tri::Unknown);
  CHECK(f.g.node(f.g.value(a).producer).predicate == taken);
  REQUIRE(f.g.constraints.size() == 2);
  CHECK(f.g.constraints[1].condition == f.s.logical_not(taken));
  CHECK(verify(f.g).empty());
}

TEST_CASE("one-element constants become literals of the body") {
  Fixture f;
  ValueId x = f.input("x", DType::F32, {"T"});
  ValueId half = f.constant<uint16_t>("half", DType::F16, {}, {0x3800});
  ValueId one = f.constant<float>("one", DType::F32, {1}, {1.5F});
  ValueId sum = f.add("add", {x, one});
  const Node& n = f.g.node(f.g.value(sum).producer);
  for (ops::Scalar load : f.scalars.loads(n.definition.outputs[0].body)) CHECK(f.scalars.node(load).value == x);
  CHECK(f.dims(sum) == "T");
  CHECK(half.valid());
}

TEST_CASE("a user's range that the model cannot meet is an empty range") {
  Fixture f;
  f.input("x", DType::F32, {"T"});
  sym::Expr condition = f.expr("7 <= T");
  f.g.declare_range(f.expr("T"), {1, 6});
  auto s = f.g.require(condition, "the kernel is longer than its input", {{"Conv", "c", ""}});
  REQUIRE_FALSE(s);
  CHECK(s.error().kind == DiagKind::EmptyRange);
  INFO(to_text(s.error()));
  CHECK(to_text(s.error()).find("T in 1..6") != std::string::npos);
}
