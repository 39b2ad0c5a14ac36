// Imports a model and evaluates its graph with the CPU reference, so that what the importer and the operators'
// definitions say together can be compared with any other implementation, with no GPU and no later pass.
//
//   onnx_reference_run --out PREFIX MODEL INPUT.pb ...   writes PREFIX.0.pb, PREFIX.1.pb, ... (TensorProto)
//   onnx_reference_run --import MODEL [NAME[DIMS]...]  imports only: prints node counts, inputs, outputs and
//   constraints
#include <fmt/format.h>

#include <map>

#include "graph/expand.h"
#include "import/import.h"
#include "import/onnx/model_file.h"
#include "import/onnx/onnx.pb.h"
#include "ops/reference.h"

namespace {

using namespace dlcb;
using graph::Graph;
using graph::ValueId;

int fail(const Diagnostic& d) {
  fmt::print(stderr, "{}", to_text(d));
  return static_cast<int>(exit_code(d.kind));
}

std::string type_of(const Graph& g, ValueId v) {
  std::string text = fmt::format("{}[", name_of(g.value(v).dtype));
  for (size_t i = 0; i < g.value(v).dims.size(); ++i) text += (i ? ", " : "") + sym::print(g.sym(), g.value(v).dims[i]);
  return text + "]";
}

// Runs the nodes in order; composite operators are expanded first, so every body is a scalar expression.
class Interpreter {
 public:
  Interpreter(Graph& g, const std::map<uint32_t, int64_t>& symbols) : g_(g), symbols_(symbols) {}

  void set(ValueId v, ops::Tensor t) { values_[v.id] = std::move(t); }

  Result<ops::TensorView> get(ValueId v) {
    if (const auto it = values_.find(v.id); it != values_.end()) return ops::TensorView(it->second);
    const graph::Value& value = g_.value(v);
    if (!value.constant && !value.elements) return diag(DiagKind::UndefinedValue, {value.name});
    ops::Tensor t = ops::Tensor::zeros(value.dtype, concrete(value.dims));
    if (value.constant)
      t.bytes.assign(value.constant->bytes.begin(), value.constant->bytes.end());
    else
      for (size_t i = 0; i < value.elements->size(); ++i)
        t.set_integer(static_cast<int64_t>(i), symbol_value((*value.elements)[i]));
    return ops::TensorView(values_[v.id] = std::move(t));
  }

  Status run() {
    for (uint32_t i = 0; i < g_.node_count(); ++i) {
      const graph::Node& node = g_.node({i});
      if (!node.op || symbol_value(node.predicate) == 0) continue;
      if (node.op->name == "merge") {
        const bool first = symbol_value(node.attrs.exprs("cond").at(0)) != 0;
        DLCB_ASSIGN(const ops::TensorView taken, get(node.inputs[first ? 0 : 1]));
        values_[node.outputs[0].id] = {
            taken.dtype, {taken.dims.begin(), taken.dims.end()}, {taken.bytes.begin(), taken.bytes.end()}};
        continue;
      }
      ops::ReferenceInputs inputs;
      inputs.tensor = [&](ValueId v) -> std::optional<ops::TensorView> {
        auto t = get(v);
        if (!t) return std::nullopt;
        return *t;
      };
      inputs.symbol = [&](sym::Expr e) { return find(e); };
      DLCB_ASSIGN(auto results, ops::evaluate(g_.scalars(), node.definition, inputs));
      for (size_t k = 0; k < results.size(); ++k) values_[node.outputs[k].id] = std::move(results[k]);
    }
    return ok();
  }

  // The guards that can be decided before the run.
  Status check() {
    for (const graph::Constraint& c : g_.constraints)
      if (g_.sym().evaluate(c.condition, [&](sym::Expr s) { return find(s); }) == 0)
        return diag(DiagKind::GuardFailed, {sym::print(g_.sym(), c.condition) + ": " + c.why},
                    graph::location(g_, c.origins));
    return ok();
  }

  // Dim symbols are given; a Data symbol is read from its tensor, which runs before.
  std::optional<int64_t> find(sym::Expr symbol) {
    if (const auto it = symbols_.find(symbol.id); it != symbols_.end()) return it->second;
    for (const graph::HostRead& read : g_.host_reads)
      if (read.symbol == symbol) {
        auto t = get(read.value);
        if (!t) return std::nullopt;
        ops::Tensor copy{t->dtype, {t->dims.begin(), t->dims.end()}, {t->bytes.begin(), t->bytes.end()}};
        return copy.integer(read.element);
      }
    return std::nullopt;
  }
  int64_t symbol_value(sym::Expr e) {
    return g_.sym().evaluate(e, [&](sym::Expr s) { return find(s); }).value_or(0);
  }
  std::vector<int64_t> concrete(std::span<const sym::Expr> dims) {
    std::vector<int64_t> out;
    for (const sym::Expr d : dims) out.push_back(symbol_value(d));
    return out;
  }

 private:
  Graph& g_;
  std::map<uint32_t, int64_t> symbols_;
  std::map<uint32_t, ops::Tensor> values_;
};

int32_t onnx_type(DType t) {
  for (int32_t n = 1; n <= onnx::TensorProto::BFLOAT16; ++n)
    if (auto known = importer::onnx::dtype_of(n); known && *known == t) return n;
  return 0;
}

int import_only(const std::string& path, std::vector<std::string> declared_texts) {
  auto declared = parse_declared_inputs(declared_texts);
  if (!declared) return fail(declared.error());
  sym::Store sym;
  ops::ScalarStore scalars(sym);
  auto g = import_model(path, *declared, sym, scalars);
  if (!g) return fail(g.error());
  std::map<std::string, int> count;
  for (uint32_t i = 0; i < g->node_count(); ++i) ++count[std::string(g->node({i}).op->name)];
  fmt::print("{} nodes:", g->node_count());
  for (const auto& [name, n] : count) fmt::print(" {} {}", name, n);
  fmt::print("\n");
  for (const ValueId v : g->inputs) fmt::print("  input {}: {}\n", g->value(v).name, type_of(*g, v));
  for (size_t i = 0; i < g->outputs.size(); ++i)
    fmt::print("  output {}: {}\n", g->output_names[i], type_of(*g, g->outputs[i]));
  for (const auto& r : g->host_reads)
    fmt::print("  read {} = {}[{}]\n", sym::print(sym, r.symbol), g->value(r.value).name, r.element);
  for (const auto& c : g->constraints)
    fmt::print("  require {} ({}; {} '{}')\n", sym::print(sym, c.condition), c.why,
               c.origins.empty() ? "" : c.origins[0].op, c.origins.empty() ? "" : c.origins[0].node);
  return 0;
}

int run(const std::string& path, const std::vector<std::string>& input_files, const std::string& out) {
  sym::Store sym;
  ops::ScalarStore scalars(sym);
  auto g = import_model(path, {}, sym, scalars);
  if (!g) return fail(g.error());
  auto reader = importer::onnx::ModelFile::open(path);
  if (!reader) return fail(reader.error());
  std::map<uint32_t, int64_t> symbols;
  std::vector<ops::Tensor> tensors;
  if (input_files.size() != g->inputs.size())
    return fail(
        diag(DiagKind::BadFlag, {fmt::format("{} inputs for a model of {}", input_files.size(), g->inputs.size())}));
  for (size_t i = 0; i < input_files.size(); ++i) {
    auto bytes = read_file(input_files[i]);
    if (!bytes) return fail(bytes.error());
    onnx::TensorProto proto;
    if (!proto.ParseFromString(*bytes)) return fail(diag(DiagKind::BadTensor, {input_files[i], "is no tensor"}));
    auto t = (*reader)->read(proto, input_files[i]);
    if (!t) return fail(t.error());
    const auto& dims = g->value(g->inputs[i]).dims;
    for (size_t a = 0; a < dims.size() && a < t->dims.size(); ++a) symbols[dims[a].id] = t->dims[a];
    tensors.push_back({t->dtype, t->dims, {t->data.bytes.begin(), t->data.bytes.end()}});
  }
  for (uint32_t i = 0; i < g->node_count(); ++i) {
    if (!g->node({i}).op || g->node({i}).op->kind != ops::OpKind::Expands) continue;
    if (auto expanded = graph::expand_node(*g, {i}); !expanded) return fail(expanded.error());
  }
  g->sort_topologically();
  Interpreter interpreter(*g, symbols);
  for (size_t i = 0; i < tensors.size(); ++i) interpreter.set(g->inputs[i], std::move(tensors[i]));
  if (auto checked = interpreter.check(); !checked) return fail(checked.error());
  if (auto done = interpreter.run(); !done) return fail(done.error());
  for (size_t i = 0; i < g->outputs.size(); ++i) {
    auto t = interpreter.get(g->outputs[i]);
    if (!t) return fail(t.error());
    onnx::TensorProto proto;
    proto.set_data_type(onnx_type(t->dtype));
    for (const int64_t d : t->dims) proto.add_dims(d);
    proto.set_raw_data(std::string(reinterpret_cast<const char*>(t->bytes.data()), t->bytes.size()));
    if (auto written = write_file(fmt::format("{}.{}.pb", out, i), proto.SerializeAsString()); !written)
      return fail(written.error());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> args(argv + 1, argv + argc);
  try {
    if (args.size() >= 2 && args[0] == "--import") return import_only(args[1], {args.begin() + 2, args.end()});
    if (args.size() >= 3 && args[0] == "--out") return run(args[2], {args.begin() + 3, args.end()}, args[1]);
  } catch (const InternalError& e) {
    fmt::print(stderr, "internal error: {} ({}:{})\n", e.message, e.file, e.line);
    return static_cast<int>(ExitCode::Internal);
  }
  fmt::print(stderr, "usage: onnx_reference_run --import MODEL [NAME[DIMS]...] | --out PREFIX MODEL INPUT.pb...\n");
  return static_cast<int>(ExitCode::Usage);
}
