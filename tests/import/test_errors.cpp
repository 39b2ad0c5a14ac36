// Models that are refused: each message names what is wrong and where.
#include "import_fixture.h"

using namespace dlcb;
using namespace dlcb::testing;

namespace {

bool mentions(const Diagnostic& d, const std::string& text) { return to_text(d).find(text) != std::string::npos; }

}  // namespace

TEST_CASE("all unsupported operators are reported at once") {
  GraphBuilder g;
  g.input("x", {"N", 4});
  g.node("NonMaxSuppression", {"x"}, {"a"}).node("Relu", {"a"}, {"b"}).node("NonMaxSuppression", {"b"}, {"c"});
  g.node("Relu", {"x"}, {"d"}, {}, "my.ops")
      .node("Dropout", {"x", "", "yes"}, {"e"})
      .initializer(tensor<uint8_t>("yes", TensorProto::BOOL, {}, {1}));
  g.output("c").output("d");
  Imported m(g);
  CHECK(m.error().kind == DiagKind::UnsupportedOps);
  CHECK(message(m.error()) == "4 of the model's operators are not supported");
  CHECK(mentions(m.error(),
                 "NonMaxSuppression (2 nodes): unknown operator; '/NonMaxSuppression_1', '/NonMaxSuppression_3'"));
  CHECK(mentions(m.error(), "my.ops::Relu (1 node): domain 'my.ops' is not known"));
  CHECK(mentions(m.error(), "Dropout (1 node): training mode"));
}

TEST_CASE("unsupported operators inside branches that cannot be imported are found too") {
  GraphBuilder body;
  body.node("Unique", {"x"}, {"u"}).output("u");
  GraphBuilder g;
  g.input("x", {4}).node("NonZero", {"x"}, {"c"});
  g.node("If", {"c"}, {"y"}, {attr("then_branch", body.graph), attr("else_branch", body.graph)}).output("y");
  Imported m(g);
  CHECK(mentions(m.error(), "NonZero"));
  CHECK(mentions(m.error(), "Unique (2 nodes)"));
}

TEST_CASE("opsets outside the supported range") {
  GraphBuilder g;
  g.input("x", {4}).node("Relu", {"x"}, {"y"}).output("y");
  CHECK(Imported(g, 99).error().kind == DiagKind::UnsupportedOpset);
  CHECK(Imported(g, 6).error().kind == DiagKind::UnsupportedOpset);
  CHECK(mentions(Imported(g, 99).error(), "opset 99 of domain 'ai.onnx' is not supported (supported: 7 to 27)"));
  ModelProto none = model_of(g);
  none.clear_opset_import();
  CHECK(Imported(none).error().kind == DiagKind::UnsupportedOpset);
}

TEST_CASE("other domains that the model imports and does not need are ignored") {
  GraphBuilder g;
  g.input("x", {4}).node("Relu", {"x"}, {"y"}).output("y");
  ModelProto m = model_of(g);
  m.add_opset_import()->set_domain("ai.onnx.ml");
  m.mutable_opset_import(1)->set_version(99);
  CHECK(Imported(m).output() == "f32[4]");
}

TEST_CASE("a value that nothing makes is named with its user") {
  GraphBuilder g;
  g.input("x", {4}).node("Add", {"x", "ghost"}, {"y"}).output("y");
  Imported m(g);
  CHECK(m.error().kind == DiagKind::UndefinedValue);
  CHECK(mentions(m.error(), "'ghost'"));
  CHECK(mentions(m.error(), "/Add_1"));
  GraphBuilder out;
  out.input("x", {4}).output("nothing");
  CHECK(Imported(out).error().kind == DiagKind::UndefinedValue);
}

TEST_CASE("graphs that are no graphs") {
  GraphBuilder cycle;
  cycle.input("x", {4}).node("Add", {"x", "b"}, {"a"}).node("Relu", {"a"}, {"b"}).output("b");
  CHECK(Imported(cycle).error().kind == DiagKind::MalformedModel);
  GraphBuilder twice;
  twice.input("x", {4}).node("Relu", {"x"}, {"y"}).node("Relu", {"x"}, {"y"}).output("y");
  CHECK(Imported(twice).error().kind == DiagKind::MalformedModel);
  GraphBuilder inputs;
  inputs.input("x", {4}).input("x", {4}).node("Relu", {"x"}, {"y"}).output("y");
  CHECK(Imported(inputs).error().kind == DiagKind::MalformedModel);
}

TEST_CASE("inputs: types, ranks and names that do not work") {
  GraphBuilder strings;
  strings.input("x", {4}, TensorProto::STRING).node("Identity", {"x"}, {"y"}).output("y");
  CHECK(Imported(strings).error().kind == DiagKind::UnsupportedType);

  GraphBuilder unranked;
  unranked.input("x", {}).node("Relu", {"x"}, {"y"}).output("y");
  unranked.graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  Imported m(unranked);
  CHECK(m.error().kind == DiagKind::UnknownShape);
  CHECK(Imported(unranked, 18, {"x[B,3]"}).output() == "f32[B, 3]");

  GraphBuilder g;
  g.input("images", {4}).node("Relu", {"images"}, {"y"}).output("y");
  Imported wrong(g, 18, {"image[4]"});
  CHECK(wrong.error().kind == DiagKind::UnknownInput);
  CHECK(mentions(wrong.error(), "'images'"));
}

TEST_CASE("attributes of the wrong kind or value are named") {
  GraphBuilder g;
  g.input("x", {2, 3}).node("Concat", {"x", "x"}, {"y"}, {attr("axis", 5)}).output("y");
  Imported m(g);
  CHECK(m.error().kind == DiagKind::BadAttribute);
  CHECK(mentions(m.error(), "attribute 'axis' is 5, which is no axis of a tensor of rank 2"));
  CHECK(mentions(m.error(), "/Concat_1"));
  GraphBuilder text;
  text.input("x", {2, 3}).node("Concat", {"x", "x"}, {"y"}, {attr("axis", "one")}).output("y");
  CHECK(Imported(text).error().kind == DiagKind::BadAttribute);
}

TEST_CASE("contradicting shapes are reported at the node") {
  GraphBuilder g;
  g.input("x", {"N", 4})
      .initializer(floats("w", {5, 3}, std::vector<float>(15)))
      .node("MatMul", {"x", "w"}, {"y"})
      .output("y");
  Imported m(g);
  CHECK(mentions(m.error(), "/MatMul_1"));
}

TEST_CASE("a function that calls itself ends in an error") {
  GraphBuilder g;
  g.input("x", {4}).node("F", {"x"}, {"y"}, {}, "own").output("y");
  ModelProto m = model_of(g);
  auto* f = m.add_functions();
  f->set_name("F");
  f->set_domain("own");
  f->add_input("a");
  f->add_output("b");
  NodeProto* n = f->add_node();
  n->set_op_type("F");
  n->set_domain("own");
  n->add_input("a");
  n->add_output("b");
  CHECK(Imported(m).error().kind == DiagKind::MalformedModel);
}

TEST_CASE("a literal index outside a literal dim contradicts it") {
  const auto gather = [](const char* op, std::vector<int64_t> indices, TestDim dim) {
    GraphBuilder g;
    g.input("x", {dim}).initializer(ints("i", std::move(indices))).node(op, {"x", "i"}, {"y"}).output("y");
    return g;
  };
  for (const char* op : {"Gather", "GatherElements"}) {
    Imported m(gather(op, {-3, 2, 5}, 3));
    CHECK(m.error().kind == DiagKind::ShapeContradiction);
    CHECK(mentions(m.error(), "index 5 must lie within a dim of 3"));
    CHECK(Imported(gather(op, {-3, 2}, 3)).output() == "f32[2]");
    CHECK(Imported(gather(op, {-3, 5}, "N")).output() == "f32[2]");
  }
  GraphBuilder nd;
  nd.input("x", {4, 3}).initializer(tensor<int64_t>("i", TensorProto::INT64, {2, 2}, {3, 0, 0, -4}));
  CHECK(mentions(Imported(nd.node("GatherND", {"x", "i"}, {"y"}).output("y")).error(), "index -4"));
}

TEST_CASE("outputs that cannot be what the model declares") {
  const auto relu = [](int type, std::vector<TestDim> dims) {
    GraphBuilder declared, g;
    declared.input("y", std::move(dims), type);
    g.input("x", {"N", 3}).node("Relu", {"x"}, {"y"});
    *g.graph.add_output() = declared.graph.input(0);
    return g;
  };
  CHECK(Imported(relu(TensorProto::FLOAT, {"M", 3})).output() == "f32[N, 3]");
  CHECK(Imported(relu(TensorProto::FLOAT, {7, ""})).output() == "f32[N, 3]");
  Imported type(relu(TensorProto::FLOAT16, {"N", 3}));
  CHECK(type.error().kind == DiagKind::MalformedModel);
  CHECK(mentions(type.error(), "output 'y' is declared as f16, but the model makes f32[N, 3]"));
  Imported dim(relu(TensorProto::FLOAT, {"N", 4}));
  CHECK(dim.error().kind == DiagKind::ShapeContradiction);
  CHECK(mentions(dim.error(), "output 'y' is declared with 4 for dim 1, but the model makes f32[N, 3]"));
  CHECK(mentions(Imported(relu(TensorProto::FLOAT, {7})).error(), "rank 1"));
  CHECK(Imported(relu(TensorProto::FLOAT16, {4}), 18, {"x:f16[4,4]"}).output() == "f16[4, 4]");
}

TEST_CASE("an output's declared shape may be that of neither branch") {
  GraphBuilder squeezed, same, g;
  squeezed.node("Squeeze", {"x"}, {"t"}, {attr("axes", std::vector<int64_t>{0})}).output("t");
  same.node("Identity", {"x"}, {"e"}).output("e");
  g.input("x", {"N", 3}).input("c", {}, TensorProto::BOOL);
  g.node("If", {"c"}, {"y"}, {attr("then_branch", squeezed.graph), attr("else_branch", same.graph)});
  GraphBuilder declared;
  declared.input("y", {2, 1, 3});
  *g.graph.add_output() = declared.graph.input(0);
  CHECK(Imported(g, 11).output() == "f32[3]");
}

TEST_CASE("more dims than a bundle can describe") {
  GraphBuilder input;
  input.input("x", std::vector<TestDim>(33, 1)).node("Relu", {"x"}, {"y"}).output("y");
  CHECK(Imported(input).error().kind == DiagKind::RankMismatch);
  GraphBuilder made;
  made.input("x", {2}).initializer(ints("s", std::vector<int64_t>(33, 1))).node("Expand", {"x", "s"}, {"y"});
  Imported m(made.output("y"));
  CHECK(m.error().kind == DiagKind::RankMismatch);
  CHECK(mentions(m.error(), "rank 33"));
}

TEST_CASE("a few sparse elements do not claim gigabytes") {
  GraphBuilder g;
  g.input("x", {4}).node("Add", {"x", "w"}, {"y"}).output("y");
  auto* sparse = g.graph.add_sparse_initializer();
  *sparse->mutable_values() = floats("w", {1}, {1});
  *sparse->mutable_indices() = ints("", {0});
  sparse->add_dims(int64_t{1} << 31);
  Imported m(g);
  CHECK(m.error().kind == DiagKind::BadTensor);
  CHECK(mentions(m.error(), "'w'"));
}
