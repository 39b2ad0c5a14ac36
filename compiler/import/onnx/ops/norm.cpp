// Normalizations, at inference.
#include <numeric>

#include "import/onnx/node_context.h"
#include "import/onnx/ops/translators.h"

namespace dlcb::importer::onnx {
namespace {

std::vector<int> axes_from(int first, int rank) {
  std::vector<int> axes(static_cast<size_t>(std::max(0, rank - first)));
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

// Whether the computation is done in f32 (stash_type 1) although the operand is narrower.
DType stash_dtype(NodeContext& n, DType t) { return n.integer("stash_type", 1) == 1 && is_half(t) ? DType::F32 : t; }

}  // namespace

void batch_norm(NodeContext& n) {
  if (n.integer("training_mode", 0)) n.unsupported("training mode");
  for (int i = 1; i < n.output_count(); ++i)
    if (n.wants(i)) n.unsupported("the outputs of training mode");
  if (n.integer("spatial", 1) == 0) n.unsupported("spatial = 0");
  const DType t = n.dtype(n.in(0));
  std::vector<ValueId> operands{n.in(0)};
  for (int i = 1; i < 5; ++i) operands.push_back(n.cast(n.in(i), t));
  n.out(0, n.op("batch_norm", operands, {{"epsilon", n.real("epsilon", 1e-5f)}}));
}

// The second and third outputs are the mean and the reciprocal of the deviation; they share the arithmetic only if
// used.
void layer_norm(NodeContext& n) {
  const ValueId x = n.in(0);
  const int axis = n.axis_of(n.integer("axis", -1), n.rank(x));
  const double epsilon = n.real("epsilon", 1e-5f);
  std::vector<ValueId> operands{x, n.in(1)};
  if (n.has(2)) operands.push_back(n.in(2));
  n.out(0, n.op("layer_norm", operands, {{"axis", int64_t{axis}}, {"epsilon", epsilon}}));
  if (!n.wants(1) && !n.wants(2)) return;
  const ValueId wide = n.cast(x, stash_dtype(n, n.dtype(x)));
  const std::vector<int> axes = axes_from(axis, n.rank(x));
  const ValueId mean = n.reduce("mean", wide, axes, true), centred = n.sub(wide, mean);
  n.out(1, mean);
  n.out(2, n.unary("rsqrt", n.add(n.reduce("mean", n.mul(centred, centred), axes, true), epsilon)));
}

void rms_norm(NodeContext& n) {
  const ValueId x = n.in(0);
  const int axis = n.axis_of(n.integer("axis", -1), n.rank(x));
  n.out(0, n.op("rms_norm", {x, n.in(1)}, {{"axis", int64_t{axis}}, {"epsilon", n.real("epsilon", 1e-5f)}}));
}

// Scale and bias are per channel from opset 21 on, per group before.
void group_norm(NodeContext& n) {
  const ValueId x = n.in(0);
  const int64_t groups = n.required_integer("num_groups");
  if (groups < 1) n.bad_attribute("num_groups", "is not positive");
  if (n.rank(x) < 2) n.malformed("GroupNormalization needs an operand of rank 2 or more");
  const auto per_channel = [&](ValueId v) {
    if (n.opset() >= 21) return v;
    const Expr channels = n.dim(x, 1), each = n.sym().floordiv(channels, n.lit(groups));
    return n.reshape(n.broadcast_to(n.unsqueeze(v, {1}), {n.lit(groups), each}), {channels});
  };
  n.out(0, n.op("group_norm", {x, per_channel(n.in(1)), per_channel(n.in(2))},
                {{"groups", groups}, {"epsilon", n.real("epsilon", 1e-5f)}}));
}

void instance_norm(NodeContext& n) {
  n.out(0, n.op("instance_norm", {n.in(0), n.in(1), n.in(2)}, {{"epsilon", n.real("epsilon", 1e-5f)}}));
}

// x / ||x||, and 0 where the norm is 0.
void lp_norm(NodeContext& n) {
  const ValueId x = n.in(0);
  const int axis = n.axis_of(n.integer("axis", -1), n.rank(x));
  const int64_t p = n.integer("p", 2);
  if (p != 1 && p != 2) n.bad_attribute("p", "is neither 1 nor 2");
  const ValueId sum = n.reduce("sum", p == 1 ? n.unary("abs", x) : n.mul(x, x), {axis}, true);
  const ValueId norm = p == 1 ? sum : n.unary("sqrt", sum), zero = n.scalar(n.dtype(x), 0);
  n.out(0, n.where(n.op("eq", {norm, zero}), zero, n.div(x, norm)));
}

void lrn(NodeContext& n) {
  n.out(0, n.op("lrn", {n.in(0)},
                {{"size", n.required_integer("size")},
                 {"alpha", n.real("alpha", 1e-4f)},
                 {"beta", n.real("beta", 0.75)},
                 {"bias", n.real("bias", 1)}}));
}

void mean_variance_norm(NodeContext& n) {
  const ValueId x = n.in(0);
  const std::vector<int> axes = n.axes_of(n.has_attr("axes") ? n.integers("axes") : Ints{0, 2, 3}, n.rank(x));
  const ValueId centred = n.sub(x, n.reduce("mean", x, axes, true));
  const ValueId deviation = n.unary("sqrt", n.reduce("mean", n.mul(centred, centred), axes, true));
  n.out(0, n.div(centred, n.add(deviation, 1e-9)));
}

}  // namespace dlcb::importer::onnx
