// Graph inputs: which of them are real (old IR versions list weights too), their types, and the symbols of their dims.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "import/onnx/importer.h"
#include "import/onnx/model_file.h"
#include "import/onnx/onnx.pb.h"

namespace dlcb::importer::onnx {

using dlcb::onnx::TensorShapeProto;
using dlcb::onnx::TypeProto;
using dlcb::onnx::ValueInfoProto;

namespace {

const DeclaredInput* find_declared(std::span<const DeclaredInput> declared, const std::string& name) {
  for (const DeclaredInput& d : declared)
    if (d.name == name) return &d;
  return nullptr;
}

// Exporters write these where they know nothing; two of them are not the same dim.
bool is_placeholder(const std::string& name) { return name.empty() || name == "?" || name == "-1" || name == "None"; }

const char* kind_of(const TypeProto& type) {
  switch (type.value_case()) {
    case TypeProto::kSequenceType:
      return "sequence";
    case TypeProto::kMapType:
      return "map";
    case TypeProto::kSparseTensorType:
      return "sparse tensor";
    case TypeProto::kOptionalType:
      return "optional";
    default:
      return "(none given)";
  }
}

}  // namespace

void Importer::check_declared_names() {
  std::vector<std::string> names, quoted;
  for (const ValueInfoProto& info : model_.graph().input()) {
    names.push_back(info.name());
    quoted.push_back(quote(info.name()));
  }
  for (const DeclaredInput& d : declared_) {
    if (std::find(names.begin(), names.end(), d.name) != names.end()) continue;
    Diagnostic error = diag(DiagKind::UnknownInput, {d.name, names.empty() ? "none" : join(quoted, ", ")});
    if (const auto near = closest(d.name, names))
      error.notes.push_back({fmt::format("did you mean {}?", quote(*near)), {}});
    throw Refusal{std::move(error)};
  }
}

sym::Expr Importer::named_dim(const std::string& name) {
  const auto [at, is_new] = named_dims_.try_emplace(name);
  if (is_new) at->second = graph_.sym().fresh(name, sym::SymbolKind::Dim);
  return at->second;
}

std::vector<sym::Expr> Importer::declared_dims(const DeclaredInput& input) {
  std::vector<sym::Expr> dims;
  for (const DeclaredDim& d : input.dims) {
    if (d.name.empty()) {
      dims.push_back(graph_.sym().constant(d.value));
      continue;
    }
    const sym::Expr symbol = named_dim(d.name);
    dims.push_back(symbol);
    if (d.lo == 0 && d.hi == INT64_MAX) continue;
    const bool known = std::any_of(graph_.ranges.begin(), graph_.ranges.end(),
                                   [&](const graph::Range& r) { return r.symbol == symbol; });
    if (!known) graph_.declare_range(symbol, {d.lo, d.hi});
  }
  return dims;
}

std::vector<sym::Expr> Importer::model_dims(const ValueInfoProto& info) {
  std::vector<sym::Expr> dims;
  for (const TensorShapeProto::Dimension& d : info.type().tensor_type().shape().dim()) {
    const int axis = static_cast<int>(dims.size());
    if (d.has_dim_value() && d.dim_value() >= 0)
      dims.push_back(graph_.sym().constant(d.dim_value()));
    else if (!is_placeholder(d.dim_param()))
      dims.push_back(named_dim(d.dim_param()));
    else
      dims.push_back(unnamed_dim(info.name(), axis));
  }
  return dims;
}

// A dim of its own, whatever the model's other dims are called.
sym::Expr Importer::unnamed_dim(const std::string& input, int axis) {
  std::string name = graph::dim_name(input, axis);
  const auto taken = [&] {
    for (const DeclaredInput& d : declared_)
      for (const DeclaredDim& dim : d.dims)
        if (dim.name == name) return true;
    for (const ValueInfoProto& info : model_.graph().input())
      for (const TensorShapeProto::Dimension& d : info.type().tensor_type().shape().dim())
        if (d.dim_param() == name) return true;
    return false;
  };
  while (taken()) name += '_';
  return graph_.sym().fresh(name, sym::SymbolKind::Dim);
}

void Importer::add_input(const ValueInfoProto& info, Scope& scope) {
  const Location where{file_.path(), "", "", fmt::format("input '{}'", info.name())};
  const DeclaredInput* declared = find_declared(declared_, info.name());
  const TypeProto& type = info.type();
  if (!type.has_tensor_type() && !(declared && declared->dtype && type.value_case() == TypeProto::VALUE_NOT_SET))
    throw Refusal{diag(DiagKind::UnsupportedType, {kind_of(type)}, where)};
  DType dtype;
  if (declared && declared->dtype) {
    dtype = *declared->dtype;
  } else {
    auto known = dtype_of(type.tensor_type().elem_type());
    if (!known) {
      known.error().where = where;
      throw Refusal{std::move(known.error())};
    }
    dtype = *known;
  }
  if (!declared && !type.tensor_type().has_shape())
    throw Refusal{diag(DiagKind::UnknownShape, {info.name(), "the model does not state its rank"}, where)};
  auto dims = declared ? declared_dims(*declared) : model_dims(info);
  if (dims.size() > graph::kMaxRank)
    throw Refusal{diag(DiagKind::RankMismatch, {graph::rank_text(dims.size())}, where)};
  if (!scope.values.emplace(info.name(), ValueId{}).second)
    throw Refusal{diag(DiagKind::MalformedModel, {fmt::format("two inputs are named '{}'", info.name())}, where)};
  scope.values[info.name()] = graph_.add_input(info.name(), dtype, std::move(dims));
}

void Importer::add_inputs(Scope& scope) {
  check_declared_names();
  for (const ValueInfoProto& info : model_.graph().input()) {
    const bool weight = scope.initializers.count(info.name()) || scope.sparse.count(info.name());
    if (weight && !find_declared(declared_, info.name())) continue;
    add_input(info, scope);
  }
}

}  // namespace dlcb::importer::onnx
