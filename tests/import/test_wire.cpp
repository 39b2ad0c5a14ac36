// Damaged files: every one is named with what is wrong, and none crashes the reader.
#include <random>

#include "import/onnx/model_file.h"
#include "import/onnx/wire.h"
#include "model_builder.h"

using namespace dlcb;
using namespace dlcb::testing;
using importer::onnx::ModelFile;

namespace {

ModelProto sample() {
  GraphBuilder then_body;
  then_body.node("Constant", {}, {"a"}, {attr("value", floats("", {400}, std::vector<float>(400, 3)))}).output("a");
  GraphBuilder g;
  g.input("x", {"N", 4})
      .initializer(floats("w", {4, 300}, std::vector<float>(1200, 2)))
      .initializer(floats("small", {2}, {1, 2}));
  g.node("If", {"c"}, {"y"}, {attr("then_branch", then_body.graph), attr("else_branch", then_body.graph)}).output("y");
  return model_of(g);
}

DiagKind kind_of(const std::string& bytes) {
  ModelFolder folder;
  auto opened = ModelFile::open(folder.write("m.onnx", bytes));
  REQUIRE(!opened);
  CHECK(message(opened.error()).find("m.onnx") != std::string::npos);
  return opened.error().kind;
}

}  // namespace

TEST_CASE("large payloads stay in the file, small ones are copied") {
  ModelFolder folder;
  const std::string bytes = sample().SerializeAsString();
  auto file = ModelFile::open(folder.write("m.onnx", bytes));
  REQUIRE(file);
  const auto& graph = (*file)->proto().graph();
  const TensorProto& w = graph.initializer(0);
  CHECK_FALSE(w.has_raw_data());
  CHECK(w.mapped_size() == 4800);
  CHECK(graph.initializer(1).raw_data().size() == 8);
  const TensorProto& nested = graph.node(0).attribute(0).g().node(0).attribute(0).t();
  CHECK(nested.mapped_size() == 1600);
  for (const TensorProto* t : {&w, &nested}) {
    auto data = (*file)->read(*t, "t");
    REQUIRE(data);
    float first = 0;
    std::memcpy(&first, data->data.bytes.data(), 4);
    CHECK(first == (t == &w ? 2.0f : 3.0f));
  }
}

TEST_CASE("files that are no models") {
  CHECK(kind_of("") == DiagKind::NotAModel);
  CHECK(kind_of("this is not a model\n") == DiagKind::NotAModel);
  CHECK(kind_of(std::string("\x00\x00\x00\x00", 4)) == DiagKind::NotAModel);
  CHECK(kind_of("\x89PNG\r\n\x1a\n and more") == DiagKind::NotAModel);
  ModelProto no_graph;
  no_graph.set_ir_version(8);
  CHECK(kind_of(no_graph.SerializeAsString()) == DiagKind::NotAModel);
  CHECK(ModelFile::open("/does/not/exist.onnx").error().kind == DiagKind::CannotOpen);
}

TEST_CASE("every truncation of a model is refused") {
  const std::string whole = sample().SerializeAsString();
  ModelFolder folder;
  for (size_t size = 0; size < whole.size(); size += size < 200 ? 1 : 97) {
    INFO(size);
    auto file = ModelFile::open(folder.write("m.onnx", std::string_view(whole).substr(0, size)));
    if (file) continue;  // cut between two fields, after the graph
    CHECK((file.error().kind == DiagKind::TruncatedModel || file.error().kind == DiagKind::NotAModel));
  }
  CHECK(kind_of(whole.substr(0, whole.size() / 2)) == DiagKind::TruncatedModel);
}

TEST_CASE("random damage is refused or read, never worse") {
  const std::string whole = sample().SerializeAsString();
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = whole;
    for (int change = 0; change < 1 + round % 4; ++change) bytes[random() % bytes.size()] = static_cast<char>(random());
    auto skeleton = importer::onnx::skeleton_of(std::as_bytes(std::span(bytes)), "m.onnx");
    if (!skeleton) continue;
    ModelProto parsed;
    if (!parsed.ParseFromString(*skeleton)) continue;
    for (const TensorProto& t : parsed.graph().initializer())
      if (t.has_mapped_size()) CHECK(t.mapped_offset() + t.mapped_size() <= bytes.size());
  }
}

TEST_CASE("a file cannot claim our own fields") {
  GraphBuilder g;
  TensorProto t = floats("w", {2}, {1, 2});
  t.clear_raw_data();
  t.set_mapped_offset(1u << 30);
  t.set_mapped_size(8);
  g.initializer(t).output("w");
  ModelFolder folder;
  auto file = ModelFile::open(folder.write("m.onnx", model_of(g).SerializeAsString()));
  REQUIRE(file);
  auto data = (*file)->read((*file)->proto().graph().initializer(0), "w");
  REQUIRE(!data);
  CHECK(data.error().kind == DiagKind::BadTensor);
}
