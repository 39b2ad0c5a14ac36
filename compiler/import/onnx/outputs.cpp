// Graph outputs: what the model declares of them must be possible. A dim's name in a declaration is not compared:
// exporters name the dims of outputs as they like.
#include <fmt/format.h>

#include "graph/contradiction.h"
#include "import/onnx/importer.h"
#include "import/onnx/model_file.h"
#include "import/onnx/onnx.pb.h"

namespace dlcb::importer::onnx {

using dlcb::onnx::TypeProto;
using dlcb::onnx::ValueInfoProto;

namespace {

void check_type(const graph::Graph& g, const TypeProto::Tensor& declared, const graph::Value& made,
                const std::string& name, const Location& where) {
  if (declared.elem_type() == 0) return;  // not stated
  const auto type = dtype_of(declared.elem_type());
  if (type && *type == made.dtype) return;
  const std::string said = type ? std::string(name_of(*type)) : message(type.error());
  throw Refusal{diag(DiagKind::MalformedModel,
                     {fmt::format("output '{}' is declared as {}, but the model makes {}", name, said,
                                  graph::type_text(g.sym(), made.dtype, made.dims))},
                     where)};
}

void check_shape(graph::Graph& g, const TypeProto::Tensor& declared, const graph::Value& made, const std::string& name,
                 const Location& where) {
  if (!declared.has_shape()) return;
  const auto& dims = declared.shape().dim();
  const auto fail = [&](const std::string& what) {
    throw Refusal{diag(DiagKind::ShapeContradiction,
                       {fmt::format("output '{}' is declared with {}", name, what),
                        fmt::format("the model makes {}", graph::type_text(g.sym(), made.dtype, made.dims))},
                       where)};
  };
  if (dims.size() != static_cast<int>(made.dims.size())) fail(fmt::format("rank {}", dims.size()));
  for (int axis = 0; axis < dims.size(); ++axis) {
    if (!dims[axis].has_dim_value() || dims[axis].dim_value() < 0) continue;
    const Expr equal = g.sym().eq(made.dims[static_cast<size_t>(axis)], g.sym().constant(dims[axis].dim_value()));
    if (g.facts().prove(equal) == sym::Tri::No) fail(fmt::format("{} for dim {}", dims[axis].dim_value(), axis));
  }
}

}  // namespace

void Importer::add_outputs(Scope& scope) {
  for (const ValueInfoProto& output : model_.graph().output()) {
    const ValueId v = lookup(output.name(), scope, nullptr);
    graph_.add_output(output.name(), v);
    // Inputs declared on the command line may change what the outputs are.
    if (!declared_.empty() || !output.type().has_tensor_type()) continue;
    const Location where{graph_.file, "", "", fmt::format("output '{}'", output.name())};
    check_type(graph_, output.type().tensor_type(), graph_.value(v), output.name(), where);
    if (!branch_chosen_) check_shape(graph_, output.type().tensor_type(), graph_.value(v), output.name(), where);
  }
}

}  // namespace dlcb::importer::onnx
