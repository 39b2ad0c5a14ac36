// What single operators become: attributes and elements that are easily taken from the wrong place.
#include "import_fixture.h"

using namespace dlcb;
using namespace dlcb::testing;

namespace {

AttributeProto strings(const std::string& name, std::vector<std::string> values) {
  AttributeProto a;
  a.set_name(name);
  a.set_type(AttributeProto::STRINGS);
  for (const std::string& v : values) a.add_strings(v);
  return a;
}

AttributeProto reals(const std::string& name, std::vector<float> values) {
  AttributeProto a;
  a.set_name(name);
  a.set_type(AttributeProto::FLOATS);
  for (const float v : values) a.add_floats(v);
  return a;
}

const graph::Node& first(Imported& m, std::string_view op) {
  for (uint32_t i = 0; i < m.graph().node_count(); ++i)
    if (m.graph().node({i}).op->name == op) return m.graph().node({i});
  FAIL("no " << op);
  return m.graph().node({0});
}

}  // namespace

TEST_CASE("activation_alpha is for the activations that take one, in order and over both directions") {
  GraphBuilder g;
  g.input("x", {1, "B", 2})
      .initializer(floats("w", {2, 9, 2}, std::vector<float>(36)))
      .initializer(floats("r", {2, 9, 3}, std::vector<float>(54)));
  g.node("GRU", {"x", "w", "r"}, {"y"},
         {attr("hidden_size", 3), attr("direction", "bidirectional"),
          strings("activations", {"Tanh", "LeakyRelu", "Sigmoid", "HardSigmoid"}),
          reals("activation_alpha", {0.25, 0.5}), reals("activation_beta", {0.125})});
  g.output("y");
  Imported m(g);
  CHECK(first(m, "leaky_relu").attrs.real("alpha") == 0.25);
  CHECK(first(m, "hard_sigmoid").attrs.real("alpha") == 0.5);
  CHECK(first(m, "hard_sigmoid").attrs.real("beta") == 0.125);
}

TEST_CASE("a resize that keeps the aspect ratio has one scale") {
  GraphBuilder g;
  g.input("x", {1, 1, 6, 8}).initializer(ints("sizes", {9, 9}));
  g.node("Resize", {"x", "", "", "sizes"}, {"y"},
         {attr("axes", std::vector<int64_t>{2, 3}), attr("keep_aspect_ratio_policy", "not_larger")});
  g.output("y");
  Imported m(g, 18);
  CHECK(m.output() == "f32[1, 1, 7, 9]");
  CHECK(first(m, "resize").attrs.reals("scales") == std::vector<double>{1, 1, 1.125, 1.125});
}

TEST_CASE("nearest of opset 10 rounds up where the axis shrinks") {
  GraphBuilder g;
  g.input("x", {2, 4}).initializer(floats("scales", {2}, {2, 0.6F})).node("Resize", {"x", "scales"}, {"y"}).output("y");
  Imported m(g, 10);
  REQUIRE(m.ops() == std::vector<std::string>{"resize", "resize"});
  CHECK(m.graph().node({0}).attrs.text("nearest_mode") == "floor");
  CHECK(m.graph().node({1}).attrs.text("nearest_mode") == "ceil");
  CHECK(m.output() == "f32[4, 2]");
}

TEST_CASE("integer constants that no double holds stay as they are") {
  const int64_t big = (int64_t{1} << 62) + 1;
  GraphBuilder g;
  g.input("x", {"N"}, TensorProto::INT64).initializer(ints("p", {1, 1})).initializer(ints("v", {big}));
  g.initializer(ints("d", {3})).initializer(ints("onoff", {-big, big}));
  g.node("Pad", {"x", "p", "v"}, {"y"}).node("OneHot", {"x", "d", "onoff"}, {"z"}).output("y").output("z");
  Imported m(g);
  CHECK(*first(m, "pad").attrs.find("value") == ops::AttrValue(big));
  CHECK(*first(m, "one_hot").attrs.find("off") == ops::AttrValue(-big));
  CHECK(*first(m, "one_hot").attrs.find("on") == ops::AttrValue(big));
}

TEST_CASE("a scale of one element fits every rank") {
  GraphBuilder g;
  g.input("x", {"N"}).initializer(floats("s", {1}, {2})).node("QuantizeLinear", {"x", "s"}, {"q"});
  g.node("DequantizeLinear", {"q", "s"}, {"y"}).output("y");
  CHECK(Imported(g).output() == "f32[N]");
}

TEST_CASE("Range between numbers that are far apart, infinite ones and very many elements") {
  const auto range = [](const TensorProto& start, const TensorProto& limit, const TensorProto& step) {
    GraphBuilder g;
    g.initializer(start).initializer(limit).initializer(step).node("Range", {"a", "b", "c"}, {"y"}).output("y");
    return g;
  };
  const auto number = [](const char* name, int64_t v) { return tensor<int64_t>(name, TensorProto::INT64, {}, {v}); };
  const auto real = [](const char* name, float v) { return floats(name, {}, {v}); };
  Imported far(range(number("a", INT64_MIN), number("b", INT64_MAX), number("c", int64_t{1} << 62)));
  CHECK(far.output() == "i64[4]");
  Imported down(range(number("a", 5), number("b", -5), number("c", INT64_MIN)));
  CHECK(down.output() == "i64[1]");
  CHECK(Imported(range(number("a", INT64_MIN), number("b", INT64_MAX), number("c", 1))).error().kind ==
        DiagKind::MalformedModel);
  CHECK(Imported(range(real("a", 0), real("b", INFINITY), real("c", 1))).error().kind == DiagKind::MalformedModel);
}

TEST_CASE("the position of an extreme is asked of something") {
  const auto constraints = [](std::string_view op, std::vector<TestDim> dims) {
    GraphBuilder g;
    g.input("x", std::move(dims)).node(std::string(op), {"x"}, {"y"}, {attr("axis", 1)}).output("y");
    Imported m(g);
    std::string text;
    for (const graph::Constraint& c : m.graph().constraints)
      text += (text.empty() ? "" : "; ") + sym::print(m.sym, c.condition);
    return text;
  };
  CHECK(constraints("ArgMax", {"N", "M"}) == "N == 0 or 1 <= M");
  CHECK(constraints("ArgMin", {3, "M", 4}) == "1 <= M");
  CHECK(constraints("ArgMin", {"N", 5}).empty());
  CHECK(constraints("Hardmax", {"N", "M"}).empty());
}
