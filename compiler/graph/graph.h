// The tensor graph: values with symbolic dims, nodes that name an operator, origins in the user's model, and the shape
// constraints met so far. Nodes are in topological order. Control flow is flat: a node carries a predicate (1 outside
// any branch) and `merge` nodes join branches, because the host program has predicated steps and no jumps.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "bundle_format/limits.h"
#include "ops/op.h"
#include "ops/symbolic.h"

namespace dlcb::graph {

using ops::ValueId;

struct NodeId {
  uint32_t id = UINT32_MAX;
  bool valid() const { return id != UINT32_MAX; }
  friend bool operator==(NodeId, NodeId) = default;
  friend auto operator<=>(NodeId, NodeId) = default;
};

// Where a node comes from. A node made by a rewrite keeps the origins of all nodes it replaces.
struct Origin {
  std::string op;    // "Conv", the model's name of the operator
  std::string node;  // "/enc/conv0"; when the model gives none: "" (messages then say the output's name)
  std::string output;
  friend bool operator==(const Origin&, const Origin&) = default;
};

// Dense, row-major, little-endian elements. `owner` keeps the memory (the mapped model file or a buffer) alive.
struct Constant {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

struct Value {
  std::string name;  // the model's name where it has one, else made up; unique
  DType dtype = DType::F32;
  std::vector<sym::Expr> dims;
  NodeId producer;      // invalid: graph input or constant
  uint32_t output = 0;  // which output of the producer
  std::optional<Constant> constant;
  // Small integer or bool tensors (<= kMaxElements, literal dims) whose elements are known as expressions, row-major.
  std::optional<std::vector<sym::Expr>> elements;
  sym::Expr fits;  // where that is so: see ops::Element; invalid: always
  // Physical order of the dims, outermost first ({0,2,3,1} is NHWC for logical NCHW); empty: row-major.
  std::vector<uint8_t> order;
};
constexpr int64_t kMaxElements = 1024;
constexpr size_t kMaxRank = bundle::kMaxRank;  // of every tensor

struct Node {
  const ops::OpDef* op = nullptr;  // nullptr: removed
  std::vector<ValueId> inputs;     // invalid ids for absent optional operands
  std::vector<ValueId> outputs;
  ops::Attrs attrs;
  ops::Definition definition;  // made by Graph::add; bodies load `inputs`
  std::vector<Origin> origins;
  sym::Expr predicate;  // 0/1 expression; constant 1 outside branches
};

struct Constraint {
  sym::Expr condition;  // includes the predicate: holds trivially when the branch is not taken
  std::string why;
  NodeId node;  // invalid: from an input declaration
  int operand = -1, axis = -1;
  std::vector<Origin> origins;
};

// How a Data symbol gets its value: element `element` of `value`, read by the host before (graph inputs) or during a
// run.
struct HostRead {
  sym::Expr symbol;
  ValueId value;
  int64_t element;
};

struct DimSource {  // where a symbol's value comes from when the model is called
  sym::Expr symbol;
  int input, axis;
};

// A symbol that the constraints force to be a function of others; it no longer occurs in any dim or constraint. Where
// it was an input dim, the dim now reads `value` and is checked against it at entry.
struct Eliminated {
  sym::Expr symbol, value;
  std::vector<DimSource> sources;  // the input dims that were this symbol
  std::string why;
  std::vector<Origin> origins;
};

// What the user promised of a symbol ("N=1..8"); checked at entry.
struct Range {
  sym::Expr symbol;
  sym::Bounds bounds;
};

// One change that a pass made, as statements of the text form (see trace.h).
struct Rewrite {
  std::string pattern;
  std::vector<std::string> before, after;
};

class Graph {
 public:
  Graph(sym::Store& sym, ops::ScalarStore& scalars);

  sym::Store& sym() const { return *sym_; }
  ops::ScalarStore& scalars() const { return *scalars_; }
  // What is known where the next node goes: inside a branch that includes the branch's condition.
  sym::Facts& facts() { return branches_.empty() ? facts_ : branches_.back().facts; }
  const sym::Facts& facts() const { return branches_.empty() ? facts_ : branches_.back().facts; }

  // Building. dims of an input may be any symbols or constants (a repeated symbol makes a constraint when called).
  ValueId add_input(std::string name, DType dtype, std::vector<sym::Expr> dims);
  ValueId add_constant(std::string name, DType dtype, std::vector<int64_t> dims, Constant data);
  // A 1-D (or 0-D) tensor of expressions: a constant where all are literal, else an `ints` node.
  ValueId add_ints(std::string_view hint, DType dtype, std::vector<sym::Expr> elements, bool scalar = false);
  void add_output(std::string name, ValueId value);
  // Gives a value the name that the model has for it, made unique.
  void rename(ValueId value, std::string_view name);
  // Instantiates the operator, checks its requirements against what is known, records the unproved ones and assumes
  // them. Errors name the node and, for contradictions, the origins of both sides.
  Result<std::vector<ValueId>> add(const ops::OpDef& op, std::vector<ValueId> inputs, ops::Attrs attrs,
                                   std::vector<Origin> origins, std::vector<std::string> output_names = {});
  Result<ValueId> add1(std::string_view op, std::vector<ValueId> inputs, ops::Attrs attrs, std::vector<Origin> origins,
                       std::string output_name = {});
  // Records (and assumes) a condition that is not tied to a node being added.
  Status require(sym::Expr condition, std::string why, std::vector<Origin> origins, int operand = -1, int axis = -1);
  // Records and assumes a constraint as it stands, without asking whether it is known; one with the same condition is
  // kept once.
  void add_constraint(Constraint constraint);
  // The user's promise about a symbol: narrows what is known of it and is checked at entry.
  void declare_range(sym::Expr symbol, sym::Bounds bounds);
  // Forgets what was assumed and assumes exactly `constraints` and `eliminated`, after these were edited.
  void reset_facts();
  // Nodes added until the matching pop run only if `condition` (a bool value or expression) holds.
  void push_predicate(sym::Expr condition);
  void pop_predicate();
  sym::Expr predicate() const;
  // Elements of a small integer tensor as expressions; host reads are created where they are not known. That they are
  // what the model computes becomes a constraint. Error when the tensor has no literal size or is too large.
  Result<std::vector<sym::Expr>> elements(ValueId value, std::span<const Origin> origins);

  const Value& value(ValueId v) const { return values_[v.id]; }
  Value& value(ValueId v) { return values_[v.id]; }
  const Node& node(NodeId n) const { return nodes_[n.id]; }
  Node& node(NodeId n) { return nodes_[n.id]; }
  uint32_t value_count() const { return static_cast<uint32_t>(values_.size()); }
  uint32_t node_count() const { return static_cast<uint32_t>(nodes_.size()); }  // removed nodes included
  ops::Operand operand(ValueId v) const;
  bool elements_fit(const Value& v) const { return !v.fits.valid() || facts().proves(v.fits); }

  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::vector<std::string> output_names;
  std::vector<Constraint> constraints;
  std::vector<HostRead> host_reads;
  std::vector<Eliminated> eliminated;
  std::vector<Range> ranges;
  std::string file;                                // the model's file name, for messages
  std::string digest;                              // of the model file; empty until somebody needs it
  std::function<void(const Rewrite&)> on_rewrite;  // empty: nobody asked to trace rewrites

  // The first input dim that is just this symbol, in input order.
  std::optional<DimSource> source(sym::Expr symbol) const;
  // Puts expressions in place of symbols everywhere (dims, attributes, bodies, elements, constraints, predicates, host
  // reads excepted). The caller vouches that each equality holds or is guarded and records it in `eliminated`.
  void substitute(const std::unordered_map<uint32_t, sym::Expr>& by_symbol_id);

  // Users of each value, computed on demand: users()[v.id] lists nodes once per use. Outputs of the graph are not uses.
  std::vector<std::vector<NodeId>> users() const;
  bool is_output(ValueId v) const;
  // Rebuilding: a pass makes a new graph by copying nodes; `map` goes from old value ids to new ones. Inputs,
  // constants, facts, constraints and host reads are carried over by begin_copy; copy_node re-adds one node (its
  // definition is made anew).
  static Graph begin_copy(const Graph& old, std::vector<ValueId>& map);
  Result<std::vector<ValueId>> copy_node(const Graph& old, NodeId n, std::vector<ValueId>& map);
  void finish_copy(const Graph& old, std::span<const ValueId> map);  // outputs, remapped constraints
  // In place: redirects every use of `from` (graph outputs too) to `to`. Removes a node whose outputs are unused.
  void replace_uses(ValueId from, ValueId to);
  void replace_operand(NodeId user, ValueId from, ValueId to);  // in one node only
  void remove(NodeId n);
  void sort_topologically();  // after in-place insertions

 private:
  struct Branch {
    sym::Expr condition;  // includes the enclosing branches' conditions
    sym::Facts facts;
  };
  ValueId new_value(std::string_view hint);
  std::string unique_name(std::string_view hint);
  Status record(const ops::Requirement& requirement, NodeId node, std::span<const ValueId> operands,
                std::string_view op, std::span<const Origin> origins);
  const std::vector<ops::Element>* known_elements(ValueId v);
  void derive_elements(ValueId made, const ops::OutputDef& out, std::span<const ops::Operand> operands);
  bool comes_from_inputs(ValueId v, std::unordered_set<uint32_t>& seen);
  bool read_inputs_of(ValueId v, std::span<const Origin> origins);
  Status check_data_indices(const ops::Definition& definition, NodeId node, std::span<const ValueId> operands,
                            std::string_view op, std::span<const Origin> origins);
  void inline_single_elements(ops::Definition& definition, std::span<const ValueId> operands);

  sym::Store* sym_;
  ops::ScalarStore* scalars_;
  sym::Facts facts_;
  std::vector<Value> values_;
  std::vector<Node> nodes_;
  std::vector<Branch> branches_;
  std::unordered_set<std::string> names_;
  std::unordered_map<std::string, uint32_t> next_suffix_;
  std::unordered_map<uint32_t, std::vector<ops::Element>>
      known_;                              // as operands of symbolic evaluation; small floats too
  std::unordered_set<uint32_t> recorded_;  // conditions already in `constraints`
  size_t carried_constraints_ = 0;         // begin_copy: these still name nodes of the old graph
};

// The message about a tensor of more than kMaxRank dims.
std::string rank_text(size_t rank);
// How an input dim without a name of its own is called: "x.2".
std::string dim_name(std::string_view input, int axis);
// For messages: the first origin, with the output's name where the model gives the node none.
Location location(const Graph& g, std::span<const Origin> origins, std::string detail = {});

// Where print() leaves constants of more than 64 elements.
struct WeightsOut {
  std::string file;                                // what the text calls it
  std::function<uint64_t(const Constant&)> place;  // takes the bytes, returns their offset in that file
};
// Text form; parse(print(g, weights)) prints the same. Without weights, text with large constants cannot be read back.
std::string print(const Graph& g, const WeightsOut* weights = nullptr);
// The whole file of weights that a text names.
using OpenWeights = std::function<Result<Constant>(const std::string& file)>;
Result<Graph> parse(sym::Store& sym, ops::ScalarStore& scalars, std::string_view text, const OpenWeights& open = {});
// Checks the invariants above (one line per fault); used by --verify-each.
std::vector<std::string> verify(const Graph& g);

}  // namespace dlcb::graph
