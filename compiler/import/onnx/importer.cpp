#include "import/onnx/importer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "import/onnx/model_file.h"
#include "import/onnx/node_order.h"
#include "import/onnx/onnx.pb.h"
#include "import/onnx/ops/table.h"

namespace dlcb::importer::onnx {

using dlcb::onnx::GraphProto;
using dlcb::onnx::NodeProto;
using dlcb::onnx::OperatorSetIdProto;
using dlcb::onnx::SparseTensorProto;
using dlcb::onnx::TensorProto;

namespace {

constexpr size_t kNamedNodes = 5;  // named in the report for each operator and reason

bool is_onnx_domain(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

std::string file_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

std::string qualified(const NodeProto& node) {
  return is_onnx_domain(node.domain()) ? node.op_type() : node.domain() + "::" + node.op_type();
}

}  // namespace

Importer::Importer(ModelFile& file, std::span<const DeclaredInput> declared, sym::Store& sym, ops::ScalarStore& scalars)
    : file_(file), model_(file.proto()), declared_(declared), graph_(sym, scalars) {
  graph_.file = file_name(file.path());
}

int Importer::opset_of(std::span<const OperatorSetIdProto* const> imports) const {
  for (const OperatorSetIdProto* import : imports) {
    if (!is_onnx_domain(import->domain())) continue;
    if (import->version() < kFirstOpset || import->version() > kLastOpset)
      throw Refusal{diag(DiagKind::UnsupportedOpset, {fmt::format("{}", import->version()), "ai.onnx",
                                                      fmt::format("{} to {}", kFirstOpset, kLastOpset)})};
    return static_cast<int>(import->version());
  }
  return 0;  // allowed as long as no operator of ONNX is used
}

Result<graph::Graph> Importer::run() {
  try {
    Scope scope;
    scope.opset = opset_of({model_.opset_import().data(), static_cast<size_t>(model_.opset_import_size())});
    add_initializers(model_.graph(), scope);
    add_inputs(scope);
    import_nodes({model_.graph().node().data(), static_cast<size_t>(model_.graph().node_size())}, scope);
    DLCB_TRY(unsupported_report());
    add_outputs(scope);
    return std::move(graph_);
  } catch (Refusal& refusal) {
    if (refusal.diagnostic.where.file.empty()) refusal.diagnostic.where.file = graph_.file;
    return std::move(refusal.diagnostic);
  }
}

void Importer::add_initializers(const GraphProto& graph, Scope& scope) {
  scope.body = &graph;
  for (const TensorProto& t : graph.initializer()) scope.initializers[t.name()] = &t;
  for (const SparseTensorProto& t : graph.sparse_initializer()) scope.sparse[t.values().name()] = &t;
}

ValueId Importer::lookup(const std::string& name, Scope& scope, const NodeProto* user) {
  for (Scope* s = &scope; s; s = s->parent) {
    if (const auto it = s->values.find(name); it != s->values.end()) return it->second;
    const auto dense = s->initializers.find(name);
    const auto sparse = s->sparse.find(name);
    if (dense == s->initializers.end() && sparse == s->sparse.end()) continue;
    auto data = dense != s->initializers.end() ? file_.read(*dense->second, name) : file_.read(*sparse->second, name);
    if (!data) throw Refusal{std::move(data.error())};
    return s->values[name] = graph_.add_constant(name, data->dtype, data->dims, data->data);
  }
  const Location where =
      user ? Location{"", user->op_type(), user->name().empty() && user->output_size() ? user->output(0) : user->name(),
                      ""}
           : Location{};
  throw Refusal{diag(DiagKind::UndefinedValue, {name}, where)};
}

void Importer::import_nodes(std::span<const NodeProto* const> nodes, Scope& scope) {
  auto order = node_order(nodes);
  if (!order) throw Refusal{std::move(order.error())};
  for (const size_t i : *order) import_node(*nodes[i], scope);
}

graph::Origin Importer::origin_of(const NodeProto& node, const std::string& prefix) const {
  std::string output;
  for (const std::string& name : node.output())
    if (output.empty()) output = name;
  return {qualified(node), node.name().empty() ? "" : prefix + node.name(), output};
}

void Importer::import_node(const NodeProto& node, Scope& scope) {
  std::vector<ValueId> inputs;
  bool poisoned = false;
  for (const std::string& name : node.input()) {
    inputs.push_back(name.empty() ? ValueId{} : lookup(name, scope, &node));
    poisoned = poisoned || inputs.back() == kPoison;
  }
  while (!inputs.empty() && !inputs.back().valid()) inputs.pop_back();
  try {
    if (const auto* function = find_function(node)) {
      inline_function(*function, node, scope, inputs);
      return;
    }
    if (!is_onnx_domain(node.domain())) {
      note_unsupported(node, scope.prefix, fmt::format("domain '{}' is not known", node.domain()));
      return poison_outputs(node, scope);
    }
    if (scope.opset == 0)
      throw Refusal{diag(DiagKind::UnsupportedOpset,
                         {"(not stated)", "ai.onnx", fmt::format("{} to {}", kFirstOpset, kLastOpset)})};
    if (poisoned) {
      if (!find_row(node.op_type())) note_unsupported(node, scope.prefix, "unknown operator");
      for (const auto& a : node.attribute())
        if (a.has_g()) scan_body(a.g(), scope);
      return poison_outputs(node, scope);
    }
    translate(node, scope, std::move(inputs));
  } catch (Refusal& refusal) {
    const DiagKind kind = refusal.diagnostic.kind;
    if (kind != DiagKind::UnsupportedOps && kind != DiagKind::UnsupportedType) throw;
    note_unsupported(node, scope.prefix,
                     kind == DiagKind::UnsupportedOps ? refusal.diagnostic.args.at(0) : message(refusal.diagnostic));
    poison_outputs(node, scope);
  }
}

void Importer::translate(const NodeProto& node, Scope& scope, std::vector<ValueId> inputs) {
  const OpRow* row = find_row(node.op_type());
  if (!row) {
    note_unsupported(node, scope.prefix, "unknown operator");
    return poison_outputs(node, scope);
  }
  NodeContext context(graph_, origin_of(node, scope.prefix), file_, node, scope.opset, std::move(inputs));
  context.set_variant(row->variant);
  context.set_body(scope.body);
  if (row->translate)
    row->translate(context);
  else
    import_control(context, scope);
  define_outputs(node, scope, context.results());
}

void Importer::define_outputs(const NodeProto& node, Scope& scope, const std::vector<ValueId>& values) {
  for (int i = 0; i < node.output_size(); ++i) {
    const std::string& name = node.output(i);
    if (name.empty()) continue;
    const ValueId v = static_cast<size_t>(i) < values.size() ? values[static_cast<size_t>(i)] : ValueId{};
    if (!v.valid())
      throw Refusal{diag(DiagKind::UnsupportedOps, {fmt::format("output {} ('{}') is not supported", i, name)})};
    if (!scope.values.emplace(name, v).second)
      throw Refusal{diag(DiagKind::MalformedModel, {fmt::format("value '{}' is made twice", name)},
                         {"", node.op_type(), node.name(), ""})};
    if (v != kPoison && graph_.value(v).producer.valid()) graph_.rename(v, name);
  }
}

void Importer::poison_outputs(const NodeProto& node, Scope& scope) {
  for (const std::string& name : node.output())
    if (!name.empty()) scope.values.emplace(name, kPoison);
}

void Importer::note_unsupported(const NodeProto& node, const std::string& prefix, const std::string& reason) {
  Unsupported& u = unsupported_[{qualified(node), reason}];
  ++u.count;
  const graph::Origin origin = origin_of(node, prefix);
  if (u.nodes.size() < kNamedNodes) u.nodes.push_back(quote(origin.node.empty() ? origin.output : origin.node));
}

Status Importer::unsupported_report() const {
  if (unsupported_.empty()) return ok();
  int total = 0;
  std::vector<Note> notes;
  for (const auto& [key, u] : unsupported_) {
    total += u.count;
    const std::string more = static_cast<size_t>(u.count) > u.nodes.size()
                                 ? fmt::format(" and {} more", u.count - static_cast<int>(u.nodes.size()))
                                 : "";
    notes.push_back({fmt::format("{} ({} {}): {}; {}{}", key.first, u.count, u.count == 1 ? "node" : "nodes",
                                 key.second, join(u.nodes, ", "), more),
                     {}});
  }
  return diag(DiagKind::UnsupportedOps, {fmt::format("{}", total)}, {graph_.file, "", "", ""}, std::move(notes));
}

}  // namespace dlcb::importer::onnx
