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
