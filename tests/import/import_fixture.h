// Imports models that tests build, and looks at the result.
#pragma once
#include <memory>

#include "import/import.h"
#include "model_builder.h"

namespace dlcb::testing {

// Stores, the imported graph (or the error) and the folder that the model lies in.
struct Imported {
  explicit Imported(const ModelProto& model, std::vector<std::string> inputs = {})
      : result(diag(DiagKind::MalformedModel, {""})) {
    auto declared = parse_declared_inputs(inputs);
    REQUIRE(declared);
    result = import_model(folder.write("model.onnx", model.SerializeAsString()), *declared, sym, scalars);
  }
  explicit Imported(const GraphBuilder& g, int opset = 18, std::vector<std::string> inputs = {})
      : Imported(model_of(g, opset), std::move(inputs)) {}

  graph::Graph& graph() {
    if (!result) INFO(to_text(result.error()));
    if (!result) FAIL(to_text(result.error()));
    return *result;
  }
  const Diagnostic& error() {
    REQUIRE(!result);
    return result.error();
  }
  // "f32[N, 4]" of an output.
  std::string output(size_t i = 0) { return type(graph().outputs.at(i)); }
  std::string type(graph::ValueId v) {
    const graph::Value& value = graph().value(v);
    std::string text(name_of(value.dtype));
    text += "[";
    for (size_t i = 0; i < value.dims.size(); ++i) text += (i ? ", " : "") + sym::print(sym, value.dims[i]);
    return text + "]";
  }
  // Names of the core operators, in order.
  std::vector<std::string> ops() {
    std::vector<std::string> names;
    for (uint32_t i = 0; i < graph().node_count(); ++i) names.emplace_back(graph().node({i}).op->name);
    return names;
  }
  // The elements of an output, printed: "[N, 4]".
  std::string elements(size_t i = 0) {
    const graph::ValueId v = graph().outputs.at(i);
    auto list = graph().elements(v, {});
    REQUIRE(list);
    std::string text = "[";
    for (size_t k = 0; k < list->size(); ++k) text += (k ? ", " : "") + sym::print(sym, (*list)[k]);
    return text + "]";
  }

  ModelFolder folder;
  sym::Store sym;
  ops::ScalarStore scalars{sym};
  Result<graph::Graph> result;
};

}  // namespace dlcb::testing
