#include "graph/expand.h"
#include "graph/fixture.h"

using namespace dlcb;
using namespace dlcb::graph;
using testing::Fixture;

namespace {

Graph copy(const Graph& old) {
  std::vector<ValueId> map;
  Graph g = Graph::begin_copy(old, map);
  for (uint32_t n = 0; n < old.node_count(); ++n)
    if (old.node({n}).op) REQUIRE(g.copy_node(old, {n}, map));
  g.finish_copy(old, map);
  return g;
}

}  // namespace

TEST_CASE("a plain copy prints the same") {
  Fixture f;
  ValueId x = f.input("x", DType::F32, {"N", "T"}), y = f.input("y", DType::F32, {"N", "L"}),
          flag = f.input("flag", DType::Bool, {});
  ValueId w = f.constant<float>("w", DType::F32, {4}, {1, 2, 3, 4});
  f.g.push_predicate(f.g.elements(flag, {})->at(0));
  ValueId b = f.add("add", {x, w}, {}, "/branch");
  f.g.pop_predicate();
  ValueId a = f.add("add", {x, y}, {}, "/sum");
  f.g.add_output("a", a);
  f.g.add_output("b", b);
  Graph again = copy(f.g);
  CHECK(print(again) == print(f.g));
  CHECK(verify(again).empty());
}

TEST_CASE("uses move to another value, bodies included") {
  Fixture f;
  ValueId x = f.input("x", DType::F32, {"N"});
  ValueId a = f.add("relu", {x}), b = f.add("exp", {x}), c = f.add("neg", {a});
  f.g.add_output("c", c);
  f.g.add_output("a", a);
  f.g.replace_uses(a, b);
  f.g.remove(f.g.value(a).producer);
  CHECK(f.g.node(f.g.value(c).producer).inputs[0] == b);
  CHECK(f.g.outputs[1] == b);
  CHECK(verify(f.g).empty());
  f.g.sort_topologically();
  CHECK(f.g.node_count() == 2);
  CHECK(verify(f.g).empty());
}

TEST_CASE("an expansion keeps origin, name and place") {
  Fixture f;
  ValueId x = f.input("x", DType::F32, {"N", "T"});
  ValueId s = f.add("softmax", {x}, {{"axis", int64_t{-1}}}, "/soft");
  ValueId y = f.add("neg", {s});
  f.g.add_output("y", y);
  REQUIRE(f.g.node(f.g.value(s).producer).op->kind == ops::OpKind::Expands);
  REQUIRE(expand_node(f.g, f.g.value(s).producer));
  f.g.sort_topologically();
  INFO(print(f.g));
  CHECK(verify(f.g).empty());
  CHECK(f.g.node_count() > 2);
  CHECK(f.g.node({0}).origins[0].node == "/soft");
  ValueId now = f.g.node(f.g.value(y).producer).inputs[0];
  CHECK(f.g.value(now).name == "/soft");
  CHECK(f.dims(now) == "N, T");
  CHECK(f.g.constraints.empty());
}

TEST_CASE("a substituted symbol is gone from every dim") {
  Fixture f;
  ValueId x = f.input("x", DType::F32, {"N", "T"});
  ValueId r = f.add("reshape", {x}, {{"shape", f.exprs({"N*T"})}});
  f.g.add_output("r", r);
  f.g.substitute({{f.expr("T").id, f.expr("2*N")}});
  CHECK(f.dims(x) == "N, 2*N");
  CHECK(f.dims(r) == "2*N*N");
  CHECK(verify(f.g).empty());
  for (const ops::OutputDef& out : f.g.node({0}).definition.outputs)
    CHECK(f.s.index_extent(out.index[0]) == out.dims[0]);
}
