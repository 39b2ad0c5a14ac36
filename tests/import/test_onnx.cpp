// What translation must get right beside operators: names, scopes, symbols, branches, functions, shape arithmetic.
#include "import_fixture.h"

using namespace dlcb;
using namespace dlcb::testing;

TEST_CASE("dims: numbers, shared names, nameless and negative ones") {
  GraphBuilder g;
  g.input("u", {"?", "?"})
      .input("x", {"N", 4, "", -1})
      .input("y", {"N", 4, 2, 5})
      .node("Add", {"x", "y"}, {"z"})
      .output("z");
  Imported m(g);
  CHECK(m.type(m.graph().inputs[0]) == "f32[u.0, u.1]");
  CHECK(m.type(m.graph().inputs[1]) == "f32[N, 4, x.2, x.3]");
  CHECK(m.type(m.graph().inputs[2]) == "f32[N, 4, 2, 5]");
}

TEST_CASE("a dim that has no name is another dim than one that is called so") {
  GraphBuilder g;
  g.input("a", {"", 3}).input("b", {"a.0", 3}).node("Add", {"a", "b"}, {"y"}).output("y");
  Imported m(g);
  CHECK(m.type(m.graph().inputs[0]) == "f32[a.0_, 3]");
  CHECK(m.type(m.graph().inputs[1]) == "f32[a.0, 3]");
}

TEST_CASE("declared inputs override the model's") {
  GraphBuilder g;
  g.input("x", {1, 3, 224, 224}).node("Relu", {"x"}, {"y"}).output("y");
  Imported m(g, 18, {"x[B=1..8,3,H,H]"});
  CHECK(m.output() == "f32[B, 3, H, H]");
  REQUIRE(m.graph().ranges.size() == 1);
  CHECK(m.graph().ranges[0].bounds.hi == 8);
}

TEST_CASE("initializers listed as inputs are constants unless declared") {
  GraphBuilder g;
  g.input("x", {4})
      .input("w", {4})
      .initializer(floats("w", {4}, {1, 2, 3, 4}))
      .node("Add", {"x", "w"}, {"y"})
      .output("y");
  CHECK(Imported(g).graph().inputs.size() == 1);
  CHECK(Imported(g, 18, {"w[4]"}).graph().inputs.size() == 2);
}

TEST_CASE("names keep every character and the model's output names") {
  GraphBuilder g;
  g.input("a:0 \"{}\"", {"dim/0 #"}).node("Relu", {"a:0 \"{}\""}, {"out:0"}).output("out:0");
  Imported m(g);
  CHECK(m.graph().value(m.graph().inputs[0]).name == "a:0 \"{}\"");
  CHECK(m.graph().output_names[0] == "out:0");
  CHECK(m.graph().value(m.graph().outputs[0]).name == "out:0");
  CHECK(m.sym.symbol_name(m.graph().value(m.graph().inputs[0]).dims[0]) == "dim/0 #");
}

TEST_CASE("outputs may be inputs, constants, or the same value twice") {
  GraphBuilder g;
  g.input("x", {})
      .initializer(floats("w", {}, {1}))
      .node("Relu", {"x"}, {"y"})
      .output("x")
      .output("w")
      .output("y")
      .output("y");
  Imported m(g);
  CHECK(m.graph().outputs.size() == 4);
  CHECK(m.output(1) == "f32[]");
  CHECK(m.graph().outputs[2] == m.graph().outputs[3]);
}

TEST_CASE("nodes out of order are sorted") {
  GraphBuilder g;
  g.input("x", {4}).node("Exp", {"b"}, {"c"}).node("Abs", {"a"}, {"b"}).node("Relu", {"x"}, {"a"}).output("c");
  CHECK(Imported(g).ops() == std::vector<std::string>{"relu", "abs", "exp"});
}

TEST_CASE("shape arithmetic leaves no node") {
  GraphBuilder g;
  g.input("x", {"N", "C", 4, 8})
      .initializer(ints("zero", {0}))
      .initializer(ints("minus", {-1}))
      .initializer(ints("axes", {0}));
  g.initializer(tensor<int64_t>("first", TensorProto::INT64, {}, {0}));
  g.node("Shape", {"x"}, {"s"}).node("Gather", {"s", "first"}, {"n"}).node("Unsqueeze", {"n", "axes"}, {"n1"});
  g.node("Concat", {"n1", "minus"}, {"target"}, {attr("axis", 0)})
      .node("Reshape", {"x", "target"}, {"y"})
      .output("y")
      .output("target");
  Imported m(g);
  CHECK(m.output() == "f32[N, 32*C]");
  CHECK(m.elements(1) == "[N, -1]");
}

TEST_CASE("Shape with start and end, Size, and slices of shapes") {
  GraphBuilder g;
  g.input("x", {"N", 3, "H", "W"})
      .initializer(ints("lowest", {INT64_MIN + 1}))
      .initializer(ints("highest", {INT64_MAX}));
  g.node("Shape", {"x"}, {"a"}, {attr("start", -2)})
      .node("Shape", {"x"}, {"b"}, {attr("start", 1), attr("end", -1)})
      .node("Size", {"x"}, {"c"});
  g.node("Slice", {"a", "lowest", "highest"}, {"d"}).output("a").output("b").output("c").output("d");
  Imported m(g);
  CHECK(m.elements(0) == "[H, W]");
  CHECK(m.elements(1) == "[3, H]");
  CHECK(m.output(2) == "i64[]");
  CHECK(m.elements(3) == "[H, W]");
}

TEST_CASE("Reshape: 0 copies, allowzero does not, -1 survives an empty batch") {
  GraphBuilder g;
  g.input("x", {"N", 4, 8}).initializer(ints("t", {0, -1})).node("Reshape", {"x", "t"}, {"y"}).output("y");
  CHECK(Imported(g).output() == "f32[N, 32]");
  GraphBuilder zero;
  zero.input("x", {0, 4})
      .initializer(ints("t", {4, 0}))
      .node("Reshape", {"x", "t"}, {"y"}, {attr("allowzero", 1)})
      .output("y");
  CHECK(Imported(zero).output() == "f32[4, 0]");
}

TEST_CASE("a size that is 0 when the model runs means the operand's dim to ONNX") {
  // x, whose dims are the names in `from`, as the sizes of the names in `to`; the guards.
  const auto guards = [](std::vector<TestDim> from, std::vector<std::string> to, int allow_zero = 0) {
    GraphBuilder g;
    g.input("x", std::move(from)).input("sizes", {"N", "H", "C"});
    g.node("Shape", {"sizes"}, {"all"}).initializer(ints("-1", {-1}));
    g.node("Split", {"all"}, {"N", "H", "C"}, {attr("num_outputs", 3)});
    g.node("Concat", std::move(to), {"shape"}, {attr("axis", 0)});
    g.node("Reshape", {"x", "shape"}, {"y"}, {attr("allowzero", allow_zero)}).output("y");
    Imported m(g);
    std::string text;
    for (const graph::Constraint& c : m.graph().constraints)
      if (c.why.find("allowzero") != std::string::npos)
        text += (text.empty() ? "" : "; ") + sym::print(m.sym, c.condition);
    return text;
  };
  CHECK(guards({"N", 4, 4}, {"N", "-1"}).empty());  // no difference
  CHECK(guards({"N", "H", "C"}, {"N", "H", "C"}).empty());
  CHECK(guards({"C", "H", "N"}, {"N", "H", "C"}) == "C == 0 or 1 <= N; N == 0 or 1 <= C");
  CHECK(guards({"C", "H", "N"}, {"N", "H", "C"}, 1).empty());
  CHECK(guards({"C", 4}, {"-1", "H"}) == "1 <= H");
  CHECK(guards({"N"}, {"N", "H", "C"}) == "1 <= H; 1 <= C");  // nothing to copy
  CHECK(guards({"C", "H"}, {"H"}).empty());                   // nothing else could be empty
}

TEST_CASE("of an If with a known condition only that branch is imported") {
  GraphBuilder good, bad, g;
  good.node("Relu", {"x"}, {"r"}).output("r");
  bad.node("Unknown", {"x"}, {"r"}).output("r");
  g.input("x", {"N", 4})
      .initializer(tensor<int64_t>("one", TensorProto::INT64, {}, {1}))
      .node("Shape", {"x"}, {"s"})
      .node("Size", {"s"}, {"rank"});
  g.initializer(tensor<int64_t>("two", TensorProto::INT64, {}, {2})).node("Equal", {"rank", "two"}, {"c"});
  g.node("If", {"c"}, {"y"}, {attr("then_branch", good.graph), attr("else_branch", bad.graph)}).output("y");
  CHECK(Imported(g).output() == "f32[N, 4]");
}

TEST_CASE("an If on an input imports both branches under their predicates") {
  GraphBuilder a, b, g;
  a.node("Relu", {"x"}, {"t"}).node("Exp", {"t"}, {"r"}).output("r");
  b.node("Abs", {"x"}, {"t"}).node("Log", {"t"}, {"r"}).output("r");
  g.input("x", {"N", 4})
      .input("rate", {}, TensorProto::INT64)
      .initializer(tensor<int64_t>("k", TensorProto::INT64, {}, {16000}));
  g.node("Equal", {"rate", "k"}, {"c"})
      .node("If", {"c"}, {"y"}, {attr("then_branch", a.graph), attr("else_branch", b.graph)})
      .output("y");
  Imported m(g);
  CHECK(m.output() == "f32[N, 4]");
  const auto ops = m.ops();
  CHECK(ops.back() == "merge");
  REQUIRE(m.graph().host_reads.size() == 1);
  CHECK(m.graph().value(m.graph().host_reads[0].value).name == "rate");
  CHECK_FALSE(m.sym.is_const(m.graph().node({static_cast<uint32_t>(ops.size() - 2)}).predicate, 1));
}

TEST_CASE("functions are inlined with their attributes") {
  GraphBuilder g;
  g.input("x", {"N", 4})
      .node("Leaky", {"x"}, {"y"}, {attr("slope", 0.25)}, "own")
      .node("Leaky", {"y"}, {"z"}, {}, "own")
      .output("z");
  ModelProto m = model_of(g);
  auto* f = m.add_functions();
  f->set_name("Leaky");
  f->set_domain("own");
  f->add_input("a");
  f->add_output("b");
  *f->add_opset_import() = m.opset_import(0);
  *f->add_attribute_proto() = attr("slope", 0.5);
  NodeProto* n = f->add_node();
  n->set_op_type("LeakyRelu");
  n->set_name("act");
  n->add_input("a");
  n->add_output("b");
  AttributeProto* alpha = n->add_attribute();
  alpha->set_name("alpha");
  alpha->set_type(AttributeProto::FLOAT);
  alpha->set_ref_attr_name("slope");
  Imported imported(m);
  CHECK(imported.ops() == std::vector<std::string>{"leaky_relu", "leaky_relu"});
  CHECK(imported.graph().node({0}).attrs.real("alpha") == 0.25);
  CHECK(imported.graph().node({1}).attrs.real("alpha") == 0.5);
  CHECK(imported.graph().node({0}).origins[0].node == "/Leaky_1/act");
}

TEST_CASE("loops with a known trip count are unrolled") {
  GraphBuilder body, g;
  body.input("i", {}, TensorProto::INT64).input("c", {}, TensorProto::BOOL).input("v", {4});
  body.node("Identity", {"c"}, {"c_out"})
      .node("Add", {"v", "x"}, {"v_out"})
      .node("Identity", {"v_out"}, {"scan"})
      .output("c_out")
      .output("v_out")
      .output("scan");
  g.input("x", {4})
      .initializer(tensor<int64_t>("three", TensorProto::INT64, {}, {3}))
      .initializer(floats("start", {4}, {0, 0, 0, 0}));
  g.node("Loop", {"three", "", "start"}, {"last", "all"}, {attr("body", body.graph)}).output("last").output("all");
  Imported m(g);
  CHECK(m.output(0) == "f32[4]");
  CHECK(m.output(1) == "f32[3, 4]");
}
