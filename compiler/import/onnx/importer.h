// Walks a model's graphs, branches and functions, finds each node's translator and keeps the names of values in their
// scopes. Unsupported operators poison their outputs, so that one run finds all of them.
#pragma once
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "import/declared_input.h"
#include "import/onnx/node_context.h"

namespace dlcb::onnx {
class FunctionProto;
class GraphProto;
class ModelProto;
class NodeProto;
class OperatorSetIdProto;
class SparseTensorProto;
class TensorProto;
class ValueInfoProto;
}  // namespace dlcb::onnx

namespace dlcb::importer::onnx {

class ModelFile;

constexpr int kFirstOpset = 7, kLastOpset = 27;

class Importer {
 public:
  Importer(ModelFile& file, std::span<const DeclaredInput> declared, sym::Store& sym, ops::ScalarStore& scalars);
  Result<graph::Graph> run();

 private:
  // The names visible in one graph, branch or function body.
  struct Scope {
    Scope* parent = nullptr;                       // nullptr: the main graph or a function
    const dlcb::onnx::GraphProto* body = nullptr;  // nullptr: a function
    int opset = 0;
    std::string prefix;  // of node names inside an inlined function
    std::unordered_map<std::string, ValueId> values;
    std::unordered_map<std::string, const dlcb::onnx::TensorProto*> initializers;  // read when first used
    std::unordered_map<std::string, const dlcb::onnx::SparseTensorProto*> sparse;
    int depth = 0;
  };
  // Stands for a value that an unsupported node would have made.
  static constexpr ValueId kPoison{UINT32_MAX - 1};

  struct Unsupported {
    int count = 0;
    std::vector<std::string> nodes;  // the first few
  };

  // Inputs (inputs.cpp).
  void add_inputs(Scope& scope);
  void add_input(const dlcb::onnx::ValueInfoProto& info, Scope& scope);
  std::vector<sym::Expr> model_dims(const dlcb::onnx::ValueInfoProto& info);
  std::vector<sym::Expr> declared_dims(const DeclaredInput& input);
  sym::Expr named_dim(const std::string& name);
  sym::Expr unnamed_dim(const std::string& input, int axis);
  void check_declared_names();
  void add_outputs(Scope& scope);

  // Bodies and nodes (importer.cpp).
  int opset_of(std::span<const dlcb::onnx::OperatorSetIdProto* const> imports) const;
  void add_initializers(const dlcb::onnx::GraphProto& graph, Scope& scope);
  void import_nodes(std::span<const dlcb::onnx::NodeProto* const> nodes, Scope& scope);
  void import_node(const dlcb::onnx::NodeProto& node, Scope& scope);
  void translate(const dlcb::onnx::NodeProto& node, Scope& scope, std::vector<ValueId> inputs);
  ValueId lookup(const std::string& name, Scope& scope, const dlcb::onnx::NodeProto* user);
  void define_outputs(const dlcb::onnx::NodeProto& node, Scope& scope, const std::vector<ValueId>& values);
  void poison_outputs(const dlcb::onnx::NodeProto& node, Scope& scope);
  void note_unsupported(const dlcb::onnx::NodeProto& node, const std::string& prefix, const std::string& reason);
  Status unsupported_report() const;
  graph::Origin origin_of(const dlcb::onnx::NodeProto& node, const std::string& prefix) const;

  // Functions and control flow (control.cpp).
  const dlcb::onnx::FunctionProto* find_function(const dlcb::onnx::NodeProto& node) const;
  void inline_function(const dlcb::onnx::FunctionProto& function, const dlcb::onnx::NodeProto& call, Scope& scope,
                       const std::vector<ValueId>& inputs);
  void import_control(NodeContext& n, Scope& scope);
  void import_if(NodeContext& n, Scope& scope);
  std::vector<ValueId> import_branch(NodeContext& n, const dlcb::onnx::GraphProto& body, Scope& scope, Expr condition);
  void import_loop(NodeContext& n, Scope& scope);
  void import_scan(NodeContext& n, Scope& scope);
  // The body's outputs; `arguments` bind its inputs.
  std::vector<ValueId> import_body(const dlcb::onnx::GraphProto& body, Scope& outer,
                                   const std::vector<ValueId>& arguments);
  // Lists what is unsupported in a body that cannot be imported.
  void scan_body(const dlcb::onnx::GraphProto& body, Scope& outer);

  ModelFile& file_;
  const dlcb::onnx::ModelProto& model_;
  std::span<const DeclaredInput> declared_;
  graph::Graph graph_;
  bool branch_chosen_ = false;  // dims are those of one branch of an If, which the model may not take
  std::unordered_map<std::string, Expr> named_dims_;                        // of the model and the command line
  std::map<std::pair<std::string, std::string>, Unsupported> unsupported_;  // by operator and reason
};

}  // namespace dlcb::importer::onnx
