// What translators of model operators write with: one method for each core operator that they use, with sizes as
// expressions, and questions about values. Every node that is added carries the origin of the model's node.
//
// A translator is a page of straight-line tensor algebra in which every line can fail, so inside import/ a failure is
// thrown (Refusal) and caught once, where the node is translated; nothing outside of import/ sees an exception.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace dlcb::importer {

using graph::ValueId;
using sym::Expr;
using Exprs = std::vector<Expr>;
using Ints = std::vector<int64_t>;

struct Refusal {
  Diagnostic diagnostic;
};

class Emitter {
 public:
  Emitter(graph::Graph& graph, graph::Origin origin) : graph_(graph), origin_(std::move(origin)) {}

  graph::Graph& graph() { return graph_; }
  sym::Store& sym() { return graph_.sym(); }
  const graph::Origin& origin() const { return origin_; }
  Location location() const;

  // Values.
  Exprs dims(ValueId v) const { return graph_.value(v).dims; }
  Expr dim(ValueId v, int64_t axis) const;  // MalformedModel where the value has no such axis
  int rank(ValueId v) const { return static_cast<int>(graph_.value(v).dims.size()); }
  DType dtype(ValueId v) const { return graph_.value(v).dtype; }
  // An axis counted from the end when negative, checked against `rank`; BadAttribute otherwise.
  int axis_of(int64_t axis, int rank, std::string_view attribute = "axis") const;
  std::vector<int> axes_of(std::span<const int64_t> axes, int rank, std::string_view attribute = "axes") const;
  Expr product(std::span<const Expr> dims) { return sym().mul(dims); }
  Expr lit(int64_t v) { return sym().constant(v); }
  Exprs lits(std::span<const int64_t> v);
  std::optional<int64_t> literal(Expr e) const { return graph_.sym().as_const(e); }
  // Elements of a small integer or bool tensor; host reads where they are not known.
  Exprs elements(ValueId v);
  // The same where only numbers will do: refuses with "`what` is not a constant".
  Ints constant_ints(ValueId v, std::string_view what);
  // The elements of a float (or integer) tensor that does not depend on any input; nothing if it does or is large
  // (fold.h).
  std::optional<std::vector<double>> constant_reals(ValueId v);

  // The same as attributes: doubles of a float tensor, exact integers of any other (u64 as its bits).
  std::optional<std::vector<ops::AttrValue>> constant_numbers(ValueId v);

  // Constants.
  ValueId constant(DType t, const Ints& dims, graph::Constant data) {
    return graph_.add_constant(origin_.output, t, dims, std::move(data));
  }
  ValueId scalar(DType t, double v);
  ValueId filled(DType t, double v, const Exprs& shape);  // a broadcast scalar
  ValueId ints(const Exprs& elements, DType t = DType::I64) { return graph_.add_ints("shape", t, elements); }

  // Any operator of the table.
  ValueId op(std::string_view name, std::vector<ValueId> inputs, ops::Attrs attrs = {});
  std::vector<ValueId> op_all(std::string_view name, std::vector<ValueId> inputs, ops::Attrs attrs = {});

  // Data movement. Every method returns its argument when there is nothing to do.
  ValueId cast(ValueId x, DType t);
  ValueId reshape(ValueId x, const Exprs& shape);
  ValueId transpose(ValueId x, const std::vector<int>& perm);
  ValueId broadcast_to(ValueId x, const Exprs& shape);  // two-way: a 1 in the shape keeps the operand's dim
  ValueId slice(ValueId x, const std::vector<int>& axes, const Exprs& starts, const Ints& steps, const Exprs& extents);
  ValueId slice(ValueId x, int axis, Expr start, Expr extent) { return slice(x, {axis}, {start}, {1}, {extent}); }
  // Python's x[start:end:step]: negative bounds count from the end, bounds outside the dim are moved to it.
  ValueId slice_between(ValueId x, const std::vector<int>& axes, const Exprs& starts, const Exprs& ends,
                        const Ints& steps);
  ValueId concat(const std::vector<ValueId>& xs, int axis);
  ValueId gather(ValueId x, ValueId indices, int axis);
  ValueId squeeze(ValueId x, const std::vector<int>& axes);
  ValueId unsqueeze(ValueId x, const std::vector<int>& axes);  // axes of the result, any order
  // Size-1 dims appended after the last, or put before the first, until the rank is reached.
  ValueId pad_rank_right(ValueId x, int rank);
  ValueId pad(ValueId x, const Exprs& lo, const Exprs& hi, std::string_view mode, ops::AttrValue value);
  ValueId tile(ValueId x, const Exprs& repeats);
  ValueId triangular(ValueId x, bool upper, Expr diagonal);
  // x where the condition holds, else y; only the side that is taken need have been computed.
  ValueId merge(Expr condition, ValueId x, ValueId y) { return op("merge", {x, y}, {{"cond", Exprs{condition}}}); }
  ValueId iota(Expr start, int64_t step, Expr extent, DType t);

  // Arithmetic (operands broadcast; a double stands for a scalar of the other operand's type).
  ValueId unary(std::string_view name, ValueId x) { return op(name, {x}); }
  ValueId add(ValueId a, ValueId b) { return op("add", {a, b}); }
  ValueId sub(ValueId a, ValueId b) { return op("sub", {a, b}); }
  ValueId mul(ValueId a, ValueId b) { return op("mul", {a, b}); }
  ValueId div(ValueId a, ValueId b) { return op("div", {a, b}); }
  ValueId add(ValueId a, double b) { return b == 0 ? a : add(a, scalar(dtype(a), b)); }
  ValueId mul(ValueId a, double b) { return b == 1 ? a : mul(a, scalar(dtype(a), b)); }
  ValueId div(ValueId a, double b) { return b == 1 ? a : div(a, scalar(dtype(a), b)); }
  ValueId where(ValueId cond, ValueId a, ValueId b) { return op("select", {cond, a, b}); }
  ValueId matmul(ValueId a, ValueId b) { return op("matmul", {a, b}); }
  // name: "sum", "mean", "max", "l2", ... as in reduce_sum. Without axes nothing is reduced.
  ValueId reduce(std::string_view name, ValueId x, const std::vector<int>& axes, bool keepdims);

  // A requirement of the model's operator that no core operator states.
  void require(Expr condition, std::string why, int operand = -1, int axis = -1);

  // The node uses something that is not supported; collected with all others.
  [[noreturn]] void unsupported(std::string reason) const;
  [[noreturn]] void malformed(std::string what) const;
  [[noreturn]] void bad_attribute(std::string_view name, std::string what) const;

 protected:
  template <class T>
  T take(Result<T> r) const {
    if (!r) fail(std::move(r.error()));
    return *std::move(r);
  }
  [[noreturn]] void fail(Diagnostic d) const;

 private:
  graph::Graph& graph_;
  graph::Origin origin_;
};

}  // namespace dlcb::importer
