// One ONNX node while it is translated: its inputs, outputs and attributes, and the emitter for what it becomes.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "import/emitter.h"
#include "import/onnx/model_file.h"

namespace dlcb::onnx {
class AttributeProto;
class GraphProto;
class NodeProto;
class SparseTensorProto;
class TensorProto;
class TensorShapeProto;
}  // namespace dlcb::onnx

namespace dlcb::importer::onnx {

class NodeContext : public Emitter {
 public:
  NodeContext(graph::Graph& graph, graph::Origin origin, ModelFile& file, const dlcb::onnx::NodeProto& node, int opset,
              std::vector<ValueId> inputs);

  const dlcb::onnx::NodeProto& node() const { return node_; }
  ModelFile& file() { return file_; }
  int opset() const { return opset_; }  // the version of ONNX's operators that the model (or function) imports
  // What the operator's row in the table says beside the function: the core operator's name, a mode.
  std::string_view variant() const { return variant_; }
  void set_variant(std::string_view v) { variant_ = v; }

  // The graph or body that the node lies in, for what it declares of values; nullptr: a function's.
  void set_body(const dlcb::onnx::GraphProto* body) { body_ = body; }
  // What the model says of an output's shape, which may be wrong; nullptr if nothing.
  const dlcb::onnx::TensorShapeProto* declared_shape(int output) const;

  int input_count() const { return static_cast<int>(inputs_.size()); }
  bool has(int i) const { return i < input_count() && inputs_[static_cast<size_t>(i)].valid(); }
  ValueId in(int i) const;  // MalformedModel when absent
  int output_count() const { return static_cast<int>(outputs_.size()); }
  bool wants(int i) const;  // the node names this output
  void out(int i, ValueId v);
  const std::vector<ValueId>& results() const { return outputs_; }

  // A tensor of the model's file.
  TensorData read(const dlcb::onnx::TensorProto& tensor);
  TensorData read(const dlcb::onnx::SparseTensorProto& tensor);

  // Attributes; a missing one is the fallback, one of another type is BadAttribute.
  const dlcb::onnx::AttributeProto* attribute(std::string_view name) const;  // nullptr if missing
  bool has_attr(std::string_view name) const { return attribute(name) != nullptr; }
  int64_t integer(std::string_view name, int64_t fallback) const;
  int64_t required_integer(std::string_view name) const;
  double real(std::string_view name, double fallback) const;
  std::string text(std::string_view name, std::string_view fallback) const;
  Ints integers(std::string_view name) const;  // empty if missing
  std::vector<double> reals(std::string_view name) const;
  DType dtype_attr(std::string_view name, DType fallback) const;

  // axes as an attribute (old opsets) or as an input (new ones); nothing if neither is there.
  std::optional<Ints> axes_operand(int input);

 private:
  ModelFile& file_;
  const dlcb::onnx::NodeProto& node_;
  int opset_;
  std::string_view variant_;
  const dlcb::onnx::GraphProto* body_ = nullptr;
  std::vector<ValueId> inputs_;
  std::vector<ValueId> outputs_;
};

}  // namespace dlcb::importer::onnx
