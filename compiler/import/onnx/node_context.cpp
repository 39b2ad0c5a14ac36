#include "import/onnx/node_context.h"

#include <fmt/format.h>

#include "import/onnx/model_file.h"
#include "import/onnx/onnx.pb.h"

namespace dlcb::importer::onnx {

using dlcb::onnx::AttributeProto;

NodeContext::NodeContext(graph::Graph& graph, graph::Origin origin, ModelFile& file, const dlcb::onnx::NodeProto& node,
                         int opset, std::vector<ValueId> inputs)
    : Emitter(graph, std::move(origin)),
      file_(file),
      node_(node),
      opset_(opset),
      inputs_(std::move(inputs)),
      outputs_(static_cast<size_t>(node.output_size())) {}

const dlcb::onnx::TensorShapeProto* NodeContext::declared_shape(int output) const {
  if (!body_ || !wants(output)) return nullptr;
  for (const auto* list : {&body_->value_info(), &body_->output()})
    for (const dlcb::onnx::ValueInfoProto& value : *list)
      if (value.name() == node_.output(output) && value.type().tensor_type().has_shape())
        return &value.type().tensor_type().shape();
  return nullptr;
}

ValueId NodeContext::in(int i) const {
  if (!has(i)) malformed(fmt::format("{} needs an input {}, but has {}", node_.op_type(), i, input_count()));
  return inputs_[static_cast<size_t>(i)];
}

bool NodeContext::wants(int i) const { return i < node_.output_size() && !node_.output(i).empty(); }

void NodeContext::out(int i, ValueId v) {
  if (i < output_count()) outputs_[static_cast<size_t>(i)] = v;
}

TensorData NodeContext::read(const dlcb::onnx::TensorProto& tensor) {
  return take(file_.read(tensor, origin().output));
}
TensorData NodeContext::read(const dlcb::onnx::SparseTensorProto& tensor) {
  return take(file_.read(tensor, origin().output));
}

const AttributeProto* NodeContext::attribute(std::string_view name) const {
  for (const AttributeProto& a : node_.attribute())
    if (a.name() == name) return &a;
  return nullptr;
}

int64_t NodeContext::integer(std::string_view name, int64_t fallback) const {
  const AttributeProto* a = attribute(name);
  if (!a) return fallback;
  if (a->type() != AttributeProto::INT && !(a->type() == AttributeProto::UNDEFINED && a->has_i()))
    bad_attribute(name, "is not an integer");
  return a->i();
}

int64_t NodeContext::required_integer(std::string_view name) const {
  if (!attribute(name)) bad_attribute(name, "is missing");
  return integer(name, 0);
}

double NodeContext::real(std::string_view name, double fallback) const {
  const AttributeProto* a = attribute(name);
  if (!a) return fallback;
  if (a->type() != AttributeProto::FLOAT && !(a->type() == AttributeProto::UNDEFINED && a->has_f()))
    bad_attribute(name, "is not a float");
  return a->f();
}

std::string NodeContext::text(std::string_view name, std::string_view fallback) const {
  const AttributeProto* a = attribute(name);
  if (!a) return std::string(fallback);
  if (a->type() != AttributeProto::STRING && !(a->type() == AttributeProto::UNDEFINED && a->has_s()))
    bad_attribute(name, "is not a string");
  return a->s();
}

Ints NodeContext::integers(std::string_view name) const {
  const AttributeProto* a = attribute(name);
  if (!a) return {};
  if (a->type() != AttributeProto::INTS && a->type() != AttributeProto::UNDEFINED)
    bad_attribute(name, "is not a list of integers");
  return {a->ints().begin(), a->ints().end()};
}

std::vector<double> NodeContext::reals(std::string_view name) const {
  const AttributeProto* a = attribute(name);
  if (!a) return {};
  if (a->type() != AttributeProto::FLOATS && a->type() != AttributeProto::UNDEFINED)
    bad_attribute(name, "is not a list of floats");
  return {a->floats().begin(), a->floats().end()};
}

DType NodeContext::dtype_attr(std::string_view name, DType fallback) const {
  if (!attribute(name)) return fallback;
  return take(dtype_of(static_cast<int32_t>(integer(name, 0))));
}

std::optional<Ints> NodeContext::axes_operand(int input) {
  if (has(input)) return constant_ints(in(input), "axes");
  if (has_attr("axes")) return integers("axes");
  return std::nullopt;
}

}  // namespace dlcb::importer::onnx
