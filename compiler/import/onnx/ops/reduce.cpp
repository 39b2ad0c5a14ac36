// Reductions, arg-reductions and softmax.
#include <numeric>

#include "import/onnx/node_context.h"
#include "import/onnx/ops/translators.h"

namespace dlcb::importer::onnx {
namespace {

struct Reduction {
  std::vector<int> axes;
  bool keepdims;
  bool nothing;  // noop_with_empty_axes: no axis is reduced
};

Reduction reduction_of(NodeContext& n) {
  const int rank = n.rank(n.in(0));
  Reduction r{{}, n.integer("keepdims", 1) != 0, false};
  const auto axes = n.axes_operand(1);
  if (axes && !axes->empty()) {
    r.axes = n.axes_of(*axes, rank);
  } else if (n.integer("noop_with_empty_axes", 0) != 0) {
    r.nothing = true;
  } else {
    r.axes.resize(static_cast<size_t>(rank));
    std::iota(r.axes.begin(), r.axes.end(), 0);
  }
  return r;
}

// Before opset 13 softmax and its kind work on the operand seen as a matrix: all axes from `axis` on are one.
template <class Body>
void along_axis(NodeContext& n, Body body) {
  const ValueId x = n.in(0);
  const bool matrix = n.opset() < 13;
  if (n.rank(x) == 0 && !matrix) return n.out(0, n.reshape(body(n.reshape(x, {n.lit(1)}), 0), {}));
  const int axis = n.axis_of(n.integer("axis", matrix ? 1 : -1), n.rank(x));
  if (!matrix || axis == n.rank(x) - 1) return n.out(0, body(x, axis));
  const Exprs dims = n.dims(x);
  const auto split = static_cast<size_t>(axis);
  const ValueId flat =
      n.reshape(x, {n.product(std::span(dims).first(split)), n.product(std::span(dims).subspan(split))});
  n.out(0, n.reshape(body(flat, 1), dims));
}

}  // namespace

// The maximum of booleans is their disjunction; logarithms and roots of integers are taken of doubles.
void reduce(NodeContext& n) {
  const ValueId x = n.in(0);
  const DType t = n.dtype(x);
  const bool real = n.variant() == "l2" || n.variant().substr(0, 3) == "log";
  const DType wide = t == DType::Bool ? DType::U8 : real && !is_float(t) ? DType::F64 : t;
  const Reduction r = reduction_of(n);
  if (r.nothing && (n.variant() == "sum" || n.variant() == "mean" || n.variant() == "max" || n.variant() == "min" ||
                    n.variant() == "prod"))
    return n.out(0, x);
  n.out(0, n.cast(n.reduce(n.variant(), n.cast(x, wide), r.axes, r.keepdims), t));
}

// No position can be told of nothing, unless none is asked for.
void arg_reduce(NodeContext& n) {
  sym::Store& s = n.sym();
  const int axis = n.axis_of(n.integer("axis", 0), n.rank(n.in(0)));
  Expr some = s.le(n.lit(1), n.dim(n.in(0), axis));
  for (int i = 0; i < n.rank(n.in(0)); ++i)
    if (i != axis) some = s.logical_or(some, s.eq(n.dim(n.in(0), i), n.lit(0)));
  n.require(some, "the position of an extreme needs a dim that is not empty", 0, axis);
  n.out(0, n.op(n.variant(), {n.in(0)},
                {{"axis", int64_t{axis}},
                 {"keepdims", n.integer("keepdims", 1)},
                 {"select_last_index", n.integer("select_last_index", 0)}}));
}

void softmax(NodeContext& n) {
  along_axis(n, [&](ValueId x, int axis) { return n.op(n.variant(), {x}, {{"axis", int64_t{axis}}}); });
}

// 1 at the first maximum, 0 elsewhere.
void hardmax(NodeContext& n) {
  along_axis(n, [&](ValueId x, int axis) {
    const ValueId at = n.cast(n.op("argmax", {x}, {{"axis", int64_t{axis}}, {"keepdims", int64_t{1}}}), DType::I64);
    const ValueId places = n.pad_rank_right(n.iota(n.lit(0), 1, n.dim(x, axis), DType::I64), n.rank(x) - axis);
    return n.cast(n.op("eq", {places, at}), n.dtype(x));
  });
}

}  // namespace dlcb::importer::onnx
