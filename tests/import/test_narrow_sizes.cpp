// Sizes that models compute in integers of fewer than 64 bits: as sizes they must fit, as data they wrap around.
#include "import_fixture.h"

using namespace dlcb;
using namespace dlcb::testing;

namespace {

// x: f32[N, 4, H]; "n", "h": one element each in `type`.
GraphBuilder sizes_in(int type) {
  GraphBuilder g;
  g.input("x", {"N", 4, "H"})
      .initializer(ints("zero", {0}))
      .initializer(ints("two", {2}))
      .initializer(ints("rest", {-1}));
  g.node("Shape", {"x"}, {"s"}).node("Cast", {"s"}, {"c"}, {attr("to", type)});
  g.node("Gather", {"c", "zero"}, {"n"}).node("Gather", {"c", "two"}, {"h"});
  return g;
}

// y: x as rows of `size`.
GraphBuilder reshaped(GraphBuilder g, const std::string& size) {
  g.node("Cast", {size}, {"wide"}, {attr("to", int(TensorProto::INT64))});
  g.node("Concat", {"wide", "rest"}, {"shape"}, {attr("axis", 0)}).node("Reshape", {"x", "shape"}, {"y"});
  return g.output("y");
}

std::string guards(const GraphBuilder& g, std::vector<std::string> inputs = {}) {
  Imported m(g, 18, std::move(inputs));
  std::string text;
  for (const graph::Constraint& c : m.graph().constraints)
    text += (text.empty() ? "" : "; ") + sym::print(m.sym, c.condition);
  return text;
}

}  // namespace

TEST_CASE("dims fit 32 bits without a guard, and so does what their bounds say") {
  CHECK(guards(reshaped(sizes_in(TensorProto::INT32), "n")) == "");
  GraphBuilder g = sizes_in(TensorProto::INT32);
  g.node("Div", {"n", "h"}, {"q"})
      .node("Min", {"n", "h"}, {"m"})
      .node("Sub", {"n", "h"}, {"d"})
      .node("Abs", {"d"}, {"a"});
  g.node("Max", {"a", "m"}, {"size"});
  CHECK(guards(reshaped(g, "size")).find("2147483647") == std::string::npos);
  GraphBuilder product = sizes_in(TensorProto::INT32);
  product.node("Mul", {"n", "h"}, {"size"});
  CHECK(guards(reshaped(product, "size"), {"x[N=1..1000,4,H=1..1000]"}) == "");
}

TEST_CASE("a size that may leave its type has a guard") {
  GraphBuilder g = sizes_in(TensorProto::INT32);
  g.node("Mul", {"n", "h"}, {"size"});
  CHECK(guards(reshaped(g, "size")) == "H*N <= 2147483647; N == 0 or 1 <= H*N");
  CHECK(guards(reshaped(sizes_in(TensorProto::UINT8), "n")) == "N <= 255");
  GraphBuilder bytes = sizes_in(TensorProto::INT8);
  bytes.node("Add", {"n", "n"}, {"size"});
  CHECK(guards(reshaped(bytes, "size")) == "N <= 63");
}

TEST_CASE("only what is computed on the way has one") {
  GraphBuilder g = sizes_in(TensorProto::INT32);
  g.initializer(tensor<int32_t>("few", TensorProto::INT32, {1}, {100}));
  g.node("Mul", {"n", "h"}, {"unused"})
      .node("Less", {"n", "few"}, {"small"})
      .node("Mul", {"n", "few"}, {"hundredfold"});
  GraphBuilder kept = g, taken = g;
  kept.node("Where", {"small", "hundredfold", "few"}, {"size"});
  CHECK(guards(reshaped(kept, "size")).find("21474836") == std::string::npos);
  taken.node("Where", {"small", "few", "hundredfold"}, {"size"});
  CHECK(guards(reshaped(taken, "size")).find("N <= 21474836;") != std::string::npos);
}

TEST_CASE("what is no size wraps around in the kernel that computes it") {
  GraphBuilder g = sizes_in(TensorProto::INT32);
  g.node("Mul", {"n", "h"}, {"product"}).node("Mul", {"product", "h"}, {"y"}).output("y");
  Imported m(g);
  CHECK(m.graph().constraints.empty());
  const graph::Graph& made = m.graph();
  const graph::Value& y = made.value(made.outputs[0]);
  const graph::Node& last = made.node(y.producer);
  REQUIRE(last.op->name == "mul");
  const auto loads = made.scalars().loads(last.definition.outputs[0].body);
  CHECK(loads.size() == 1);  // of the product, not of an expression that does not wrap; H fits
}

TEST_CASE("literal sizes wrap around as the model's type does") {
  GraphBuilder g;
  g.input("x", {4}).initializer(tensor<uint8_t>("a", TensorProto::UINT8, {1}, {200}));
  g.node("Add", {"a", "a"}, {"b"}).node("Cast", {"b"}, {"shape"}, {attr("to", int(TensorProto::INT64))});
  g.node("Expand", {"one", "shape"}, {"y"}).initializer(floats("one", {1}, {1})).output("y");
  CHECK(Imported(g).output() == "f32[144]");
}
