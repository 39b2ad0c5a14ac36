// Squeeze where it is not known which dims are 1, written as the operator or as torch's If around it.
#include "import_fixture.h"

using namespace dlcb;
using namespace dlcb::testing;

namespace {

// y = Squeeze(x) with y declared as given (nothing: not at all).
GraphBuilder squeezed(std::vector<TestDim> x, std::optional<std::vector<TestDim>> y, bool as_value_info = false) {
  GraphBuilder g, declared;
  g.input("x", std::move(x)).node("Squeeze", {"x"}, {"t"}).node("Relu", {"t"}, {"y"});
  if (y) *g.graph.add_value_info() = declared.input("t", *y).graph.input(0);
  if (!y || as_value_info) return g.output("y");
  g.graph.clear_value_info();
  g.graph.clear_node();
  g.node("Squeeze", {"x"}, {"y"});
  *g.graph.add_output() = GraphBuilder().input("y", *y).graph.input(0);
  return g;
}

// The output's type and the guards.
std::string result_of(const GraphBuilder& g, int opset = 11, std::vector<std::string> inputs = {}) {
  Imported m(g, opset, std::move(inputs));
  std::string text = m.output();
  for (const graph::Constraint& c : m.graph().constraints) text += "; " + sym::print(m.sym, c.condition);
  return text;
}

}  // namespace

TEST_CASE("Squeeze without axes drops literal ones and keeps what is not known to be one") {
  CHECK(result_of(squeezed({1, 3, 1}, {})) == "f32[3]");
  CHECK(result_of(squeezed({"N", 3, 1, 1}, {})) == "f32[N, 3]; N != 1");
  CHECK(result_of(squeezed({"N", 3, "M"}, {})) == "f32[N, 3, M]; N != 1; M != 1");
  CHECK(result_of(squeezed({"N", 1}, {}), 11, {"x[N=2..8,1]"}) == "f32[N]");
  CHECK(result_of(squeezed({"N", 1}, {}), 11, {"x[1,1]"}) == "f32[]");
}

TEST_CASE("the declared result says which dims Squeeze drops") {
  for (const bool inside : {false, true}) {
    const auto of = [&](std::vector<TestDim> x, std::vector<TestDim> y) { return result_of(squeezed(x, y, inside)); };
    CHECK(of({"N", 3, 1}, {3}) == "f32[3]; N == 1");
    CHECK(of({"N", 3, 1}, {"N", 3}) == "f32[N, 3]; N != 1");
    CHECK(of({"N", "M"}, {}) == "f32[]; N == 1; M == 1");
    CHECK(of({"N", "M"}, {"M"}) == "f32[M]; N == 1; M != 1");
    CHECK(of({"N", "M"}, {"N"}) == "f32[N]; N != 1; M == 1");
    CHECK(of({"N", 5, "M", 7}, {"", 5, 7}) == "f32[N, 5, 7]; N != 1; M == 1");
    CHECK(of({"N", 5, "M", 7}, {5, "", 7}) == "f32[5, M, 7]; N == 1; M != 1");
  }
}

TEST_CASE("a declared result that cannot be is not believed") {
  CHECK(result_of(squeezed({"N", 5}, {std::vector<TestDim>{}}, true)) == "f32[N, 5]; N != 1");
  CHECK(result_of(squeezed({"N", 5}, {{"N", 5, 1}}, true)) == "f32[N, 5]; N != 1");
  CHECK(result_of(squeezed({"N", 1}, {{"N", 1}}, true)) == "f32[N]; N != 1");
}

TEST_CASE("Squeeze is refused where the declared result leaves open which dims are one") {
  Imported m(squeezed({"N", "M"}, {{""}}, true), 11);
  CHECK(m.error().kind == DiagKind::UnsupportedOps);
  CHECK(to_text(m.error()).find("the declared result of rank 1 does not say which dims are 1") != std::string::npos);
  CHECK(result_of(squeezed({"N", "M"}, {{""}}, true), 11, {"x[1,M]"}) == "f32[M]; M != 1");
}

TEST_CASE("an empty list of axes is none") {
  GraphBuilder g;
  g.input("x", {1, "N", 3}).initializer(ints("axes", {})).node("Squeeze", {"x", "axes"}, {"y"}).output("y");
  CHECK(result_of(g, 13) == "f32[N, 3]; N != 1");
}

TEST_CASE("of an If whose branches differ in rank the one that the declared result fits is compiled") {
  const auto choice = [](std::optional<std::vector<TestDim>> declared) {
    GraphBuilder then_body, else_body, g;
    then_body.node("Squeeze", {"x"}, {"t"}, {attr("axes", std::vector<int64_t>{0})}).output("t");
    else_body.node("Identity", {"x"}, {"e"}).output("e");
    g.input("x", {"N", 3}).initializer(ints("zero", {0})).initializer(ints("one", {1}));
    g.node("Shape", {"x"}, {"s"}).node("Gather", {"s", "zero"}, {"n"}).node("Equal", {"n", "one"}, {"c"});
    g.node("If", {"c"}, {"y"}, {attr("then_branch", then_body.graph), attr("else_branch", else_body.graph)});
    if (declared)
      *g.graph.add_output() = GraphBuilder().input("y", *declared).graph.input(0);
    else
      g.output("y");
    return g;
  };
  CHECK(result_of(choice({{"N", 3}})) == "f32[N, 3]; N != 1");
  CHECK(result_of(choice({{2, 3}})) == "f32[N, 3]; N != 1");
  CHECK(result_of(choice({{3}})) == "f32[3]; N == 1");
  CHECK(result_of(choice({})) == "f32[3]; N == 1");
}
