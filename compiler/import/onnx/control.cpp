// Functions are inlined. Of an If with a known condition only that branch is imported, otherwise both, each under its
// predicate, and their results are merged. Loop and Scan are unrolled when the number of rounds is known.
#include <fmt/format.h>

#include <algorithm>

#include "import/onnx/importer.h"
#include "import/onnx/model_file.h"
#include "import/onnx/onnx.pb.h"
#include "import/onnx/ops/table.h"

namespace dlcb::importer::onnx {

using dlcb::onnx::AttributeProto;
using dlcb::onnx::FunctionProto;
using dlcb::onnx::GraphProto;
using dlcb::onnx::NodeProto;

namespace {

constexpr int kMaxDepth = 64;         // of calls and bodies: a function may call itself in a hostile file
constexpr int64_t kMaxRounds = 1024;  // of an unrolled loop

using Attributes = std::unordered_map<std::string, const AttributeProto*>;

// Puts the call's attribute values where the function's nodes refer to them by name.
void bind_attributes(NodeProto& node, const Attributes& values) {
  auto* list = node.mutable_attribute();
  for (int i = list->size() - 1; i >= 0; --i) {
    AttributeProto& a = *list->Mutable(i);
    if (a.has_g())
      for (NodeProto& inner : *a.mutable_g()->mutable_node()) bind_attributes(inner, values);
    for (GraphProto& g : *a.mutable_graphs())
      for (NodeProto& inner : *g.mutable_node()) bind_attributes(inner, values);
    if (a.ref_attr_name().empty()) continue;
    const auto it = values.find(a.ref_attr_name());
    if (it == values.end()) {  // the caller leaves an optional attribute out, so the node has none either
      list->DeleteSubrange(i, 1);
      continue;
    }
    const std::string name = a.name();
    a = *it->second;
    a.set_name(name);
  }
}

const GraphProto& body_of(const NodeContext& n, std::string_view name) {
  const AttributeProto* a = n.attribute(name);
  if (!a || !a->has_g()) n.bad_attribute(name, "is not a graph");
  return a->g();
}

}  // namespace

const FunctionProto* Importer::find_function(const NodeProto& node) const {
  for (const FunctionProto& f : model_.functions())
    if (f.name() == node.op_type() && f.domain() == node.domain() && f.overload() == node.overload()) return &f;
  return nullptr;
}

void Importer::inline_function(const FunctionProto& f, const NodeProto& call, Scope& scope,
                               const std::vector<ValueId>& inputs) {
  Scope inner;
  inner.depth = scope.depth + 1;
  const Location where{"", call.op_type(), call.name(), ""};
  if (inner.depth > kMaxDepth)
    throw Refusal{diag(DiagKind::MalformedModel, {"functions call each other without end"}, where)};
  if (inputs.size() > static_cast<size_t>(f.input_size()))
    throw Refusal{diag(DiagKind::MalformedModel,
                       {fmt::format("function '{}' takes {} inputs, not {}", f.name(), f.input_size(), inputs.size())},
                       where)};
  inner.opset = opset_of({f.opset_import().data(), static_cast<size_t>(f.opset_import_size())});
  if (f.opset_import_size() == 0) inner.opset = scope.opset;
  inner.prefix = scope.prefix + (call.name().empty() ? f.name() : call.name()) + "/";
  for (int i = 0; i < f.input_size(); ++i)
    inner.values[f.input(i)] = static_cast<size_t>(i) < inputs.size() ? inputs[static_cast<size_t>(i)] : ValueId{};

  Attributes attributes;
  for (const AttributeProto& a : f.attribute_proto()) attributes[a.name()] = &a;
  for (const AttributeProto& a : call.attribute()) attributes[a.name()] = &a;
  FunctionProto body = f;
  for (NodeProto& node : *body.mutable_node()) bind_attributes(node, attributes);
  import_nodes({body.node().data(), static_cast<size_t>(body.node_size())}, inner);
  std::vector<ValueId> results;
  for (int i = 0; i < f.output_size(); ++i) {
    const bool wanted = i < call.output_size() && !call.output(i).empty();
    results.push_back(wanted ? lookup(f.output(i), inner, &call) : ValueId{});
  }
  define_outputs(call, scope, results);
}

std::vector<ValueId> Importer::import_body(const GraphProto& body, Scope& outer,
                                           const std::vector<ValueId>& arguments) {
  Scope scope;
  scope.parent = &outer;
  scope.opset = outer.opset;
  scope.prefix = outer.prefix;
  scope.depth = outer.depth + 1;
  if (scope.depth > kMaxDepth) throw Refusal{diag(DiagKind::MalformedModel, {"bodies are nested too deeply"})};
  add_initializers(body, scope);
  for (size_t i = 0; i < arguments.size(); ++i) scope.values[body.input(static_cast<int>(i)).name()] = arguments[i];
  import_nodes({body.node().data(), static_cast<size_t>(body.node_size())}, scope);
  std::vector<ValueId> results;
  for (const auto& output : body.output()) results.push_back(lookup(output.name(), scope, nullptr));
  return results;
}

void Importer::scan_body(const GraphProto& body, Scope& outer) {
  for (const NodeProto& node : body.node()) {
    if (!find_function(node) && (!(node.domain().empty() || node.domain() == "ai.onnx") || !find_row(node.op_type())))
      note_unsupported(node, outer.prefix, "unknown operator");
    for (const AttributeProto& a : node.attribute())
      if (a.has_g()) scan_body(a.g(), outer);
  }
}

void Importer::import_control(NodeContext& n, Scope& scope) {
  if (n.variant() == "if")
    import_if(n, scope);
  else if (n.variant() == "loop")
    import_loop(n, scope);
  else
    import_scan(n, scope);
}

std::vector<ValueId> Importer::import_branch(NodeContext& n, const GraphProto& body, Scope& scope, Expr condition) {
  graph_.push_predicate(condition);
  std::vector<ValueId> results;
  try {
    results = import_body(body, scope, {});
  } catch (Refusal&) {
    graph_.pop_predicate();
    throw;
  }
  graph_.pop_predicate();
  if (static_cast<int>(results.size()) != n.output_count())
    n.malformed(fmt::format("a branch has {} outputs, but the node has {}", results.size(), n.output_count()));
  return results;
}

void Importer::import_if(NodeContext& n, Scope& scope) {
  const GraphProto& then_body = body_of(n, "then_branch");
  const GraphProto& else_body = body_of(n, "else_branch");
  const Exprs elements = n.elements(n.in(0));
  if (elements.size() != 1) n.malformed("the condition has not exactly one element");
  const Expr condition = elements[0];
  sym::Tri known = graph_.facts().prove(condition);
  if (n.literal(condition)) known = n.literal(condition) != 0 ? sym::Tri::Yes : sym::Tri::No;
  if (known != sym::Tri::Unknown) {
    const auto results = import_body(known == sym::Tri::Yes ? then_body : else_body, scope, {});
    for (size_t i = 0; i < results.size(); ++i) n.out(static_cast<int>(i), results[i]);
    return;
  }
  const auto a = import_branch(n, then_body, scope, condition);
  const auto b = import_branch(n, else_body, scope, n.sym().logical_not(condition));
  for (int i = 0; i < n.output_count(); ++i) {
    const ValueId x = a[static_cast<size_t>(i)], y = b[static_cast<size_t>(i)];
    if (x == kPoison || y == kPoison) {
      n.out(i, kPoison);
      continue;
    }
    if (n.rank(x) != n.rank(y)) {
      // torch's squeeze: If(dim == 1) Squeeze else Identity. No graph can serve both: what is compiled is the one that
      // the declared result has the rank of, or else the first.
      const auto* declared = n.declared_shape(i);
      const bool second = declared && declared->dim_size() == n.rank(y);
      n.require(second ? n.sym().logical_not(condition) : condition,
                fmt::format("the branches of If give different ranks, so only the one for a {} condition is compiled",
                            second ? "false" : "true"),
                0);
      branch_chosen_ = true;
      n.out(i, second ? y : x);
      continue;
    }
    if (n.dtype(x) != n.dtype(y)) n.malformed("the branches' results have different element types");
    n.out(i, n.merge(condition, x, y));
  }
}

void Importer::import_loop(NodeContext& n, Scope& scope) {
  const GraphProto& body = body_of(n, "body");
  const int carried = std::max(n.input_count() - 2, 0), scans = body.output_size() - 1 - carried;
  if (body.input_size() != carried + 2 || scans < 0)
    n.malformed("the loop's body has another number of inputs or outputs than the node");
  const auto known_bool = [&](ValueId v) {
    const Ints value = n.constant_ints(v, "the loop's condition");
    if (value.size() != 1) n.malformed("the loop's condition has not exactly one element");
    return value[0] != 0;
  };
  int64_t rounds = INT64_MAX;
  if (n.has(0)) {
    const Ints count = n.constant_ints(n.in(0), "the loop's trip count");
    if (count.size() != 1) n.malformed("the loop's trip count has not exactly one element");
    rounds = count[0];
  }
  bool running = n.has(1) ? known_bool(n.in(1)) : true;
  ValueId condition = n.has(1) ? n.in(1) : graph_.add_ints("true", DType::Bool, {n.lit(1)}, true);
  std::vector<ValueId> state;
  for (int i = 0; i < carried; ++i) state.push_back(n.in(i + 2));
  std::vector<std::vector<ValueId>> scanned(static_cast<size_t>(scans));
  for (int64_t round = 0; running && round < rounds; ++round) {
    if (round == kMaxRounds) n.unsupported(fmt::format("the loop runs more than {} rounds", kMaxRounds));
    std::vector<ValueId> arguments{graph_.add_ints("round", DType::I64, {n.lit(round)}, true), condition};
    arguments.insert(arguments.end(), state.begin(), state.end());
    const auto results = import_body(body, scope, arguments);
    if (std::find(results.begin(), results.end(), kPoison) != results.end()) {
      for (int i = 0; i < n.output_count(); ++i) n.out(i, kPoison);
      return;
    }
    condition = results[0];
    running = known_bool(condition);
    state.assign(results.begin() + 1, results.begin() + 1 + carried);
    for (int i = 0; i < scans; ++i)
      scanned[static_cast<size_t>(i)].push_back(n.unsqueeze(results[static_cast<size_t>(1 + carried + i)], {0}));
  }
  for (int i = 0; i < carried; ++i) n.out(i, state[static_cast<size_t>(i)]);
  for (int i = 0; i < scans; ++i) {
    const auto& rows = scanned[static_cast<size_t>(i)];
    if (rows.empty()) n.unsupported("the loop runs no round and has scan outputs");
    n.out(carried + i, n.concat(rows, 0));
  }
}

void Importer::import_scan(NodeContext& n, Scope& scope) {
  const GraphProto& body = body_of(n, "body");
  const int inputs = static_cast<int>(n.required_integer("num_scan_inputs"));
  const int carried = n.input_count() - inputs, scans = body.output_size() - carried;
  if (n.opset() < 9) n.unsupported("Scan before opset 9");
  if (inputs < 1 || carried < 0 || scans < 0 || body.input_size() != n.input_count())
    n.malformed("the scan's body has another number of inputs or outputs than the node");
  const auto entry = [](const Ints& list, int i) {
    return static_cast<size_t>(i) < list.size() ? list[static_cast<size_t>(i)] : 0;
  };
  const Ints in_axes = n.integers("scan_input_axes"), in_backward = n.integers("scan_input_directions");
  const Ints out_axes = n.integers("scan_output_axes"), out_backward = n.integers("scan_output_directions");
  std::vector<int> axes;
  for (int i = 0; i < inputs; ++i)
    axes.push_back(n.axis_of(entry(in_axes, i), n.rank(n.in(carried + i)), "scan_input_axes"));
  const auto rounds = n.literal(n.dim(n.in(carried), axes[0]));
  if (!rounds) n.unsupported("the number of rounds is not a constant");
  if (*rounds > kMaxRounds || *rounds == 0) n.unsupported(fmt::format("the scan runs {} rounds", *rounds));
  std::vector<ValueId> state;
  for (int i = 0; i < carried; ++i) state.push_back(n.in(i));
  std::vector<std::vector<ValueId>> scanned(static_cast<size_t>(scans));
  for (int64_t round = 0; round < *rounds; ++round) {
    std::vector<ValueId> arguments = state;
    for (int i = 0; i < inputs; ++i) {
      const int axis = axes[static_cast<size_t>(i)];
      const int64_t at = entry(in_backward, i) ? *rounds - 1 - round : round;
      const ValueId x = n.in(carried + i);
      n.require(n.sym().eq(n.dim(x, axis), n.lit(*rounds)), "scan inputs must have the same length", carried + i, axis);
      arguments.push_back(n.squeeze(n.slice(x, axis, n.lit(at), n.lit(1)), {axis}));
    }
    const auto results = import_body(body, scope, arguments);
    if (std::find(results.begin(), results.end(), kPoison) != results.end()) {
      for (int i = 0; i < n.output_count(); ++i) n.out(i, kPoison);
      return;
    }
    state.assign(results.begin(), results.begin() + carried);
    for (int i = 0; i < scans; ++i)
      scanned[static_cast<size_t>(i)].push_back(results[static_cast<size_t>(carried + i)]);
  }
  for (int i = 0; i < carried; ++i) n.out(i, state[static_cast<size_t>(i)]);
  for (int i = 0; i < scans; ++i) {
    auto rows = scanned[static_cast<size_t>(i)];
    const int axis = n.axis_of(entry(out_axes, i), n.rank(rows[0]) + 1, "scan_output_axes");
    for (ValueId& row : rows) row = n.unsqueeze(row, {axis});
    if (entry(out_backward, i)) std::reverse(rows.begin(), rows.end());
    n.out(carried + i, n.concat(rows, axis));
  }
}

}  // namespace dlcb::importer::onnx
