// Operators that are graphs of others. They stay whole until rewriting, so that a kernel pattern or a library may claim
// them. 16-bit floats are widened inside, as the formulas sum or exponentiate.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/expand.h"
#include "ops/notation.h"
#include "ops/table/table.h"

namespace dlcb::ops {
namespace {

using Values = std::vector<ValueId>;

// Emits with less ceremony; the first failure sticks and makes the rest of the expansion do nothing.
class Expansion {
 public:
  Expansion(GraphBuilder& g, std::span<const Operand> operands, const Attrs& attrs)
      : g(g), operands(operands), attrs(attrs) {}

  ValueId emit(std::string_view op, Values inputs, Attrs attributes = {}) {
    if (failed_) return {};
    auto v = g.emit1(op, std::move(inputs), std::move(attributes));
    if (v) return *v;
    failed_ = std::move(v.error());
    return {};
  }
  ValueId number(double v, DType t) {
    return emit("fill", {}, {{"value", v}, {"dtype", t}, {"shape", std::vector<sym::Expr>{}}});
  }
  ValueId cast(ValueId v, DType t) { return failed_ || g.operand(v).dtype == t ? v : emit("cast", {v}, {{"to", t}}); }
  ValueId reduce(std::string_view op, ValueId x, std::vector<int64_t> axes) {
    return emit(op, {x}, {{"axes", std::move(axes)}, {"keepdims", int64_t{1}}});
  }
  ValueId reshape(ValueId x, std::vector<sym::Expr> shape) {
    return emit("reshape", {x}, {{"shape", std::move(shape)}});
  }

  Result<Values> finish(ValueId v) {
    if (failed_) return std::move(*failed_);
    return Values{v};
  }
  Diagnostic fail(DiagKind kind, std::vector<std::string> args) const { return diag(kind, std::move(args)); }

  bool has(size_t i) const { return i < operands.size() && operands[i].value.valid(); }
  DType type() const { return operands[0].dtype; }
  DType wide() const { return is_half(type()) ? DType::F32 : type(); }
  int64_t rank() const { return static_cast<int64_t>(operands[0].dims.size()); }

  GraphBuilder& g;
  std::span<const Operand> operands;
  const Attrs& attrs;

 private:
  std::optional<Diagnostic> failed_;
};

Result<int64_t> axis_of(const Expansion& e, int64_t fallback) {
  const int64_t axis = e.attrs.integer("axis", fallback), rank = e.rank();
  if (axis < -rank || axis >= rank)
    return e.fail(DiagKind::BadAttribute,
                  {"axis", "is " + std::to_string(axis) + ", outside rank " + std::to_string(rank)});
  return axis < 0 ? axis + rank : axis;
}

Result<Values> expand_softmax(GraphBuilder& g, std::span<const Operand> operands, const Attrs& attrs) {
  Expansion e(g, operands, attrs);
  DLCB_ASSIGN(const int64_t axis, axis_of(e, -1));
  const ValueId x = e.cast(operands[0].value, e.wide());
  const ValueId exp = e.emit("exp", {e.emit("sub", {x, e.reduce("reduce_max", x, {axis})})});
  return e.finish(e.cast(e.emit("div", {exp, e.reduce("reduce_sum", exp, {axis})}), e.type()));
}

Result<Values> expand_log_softmax(GraphBuilder& g, std::span<const Operand> operands, const Attrs& attrs) {
  Expansion e(g, operands, attrs);
  DLCB_ASSIGN(const int64_t axis, axis_of(e, -1));
  const ValueId x = e.cast(operands[0].value, e.wide());
  const ValueId shifted = e.emit("sub", {x, e.reduce("reduce_max", x, {axis})});
  const ValueId sum = e.reduce("reduce_sum", e.emit("exp", {shifted}), {axis});
  return e.finish(e.cast(e.emit("sub", {shifted, e.emit("log", {sum})}), e.type()));
}

// (x - mean) / sqrt(var + epsilon) over axes, in x's type.
ValueId normalise(Expansion& e, ValueId x, const std::vector<int64_t>& axes, DType t) {
  const ValueId centred = e.emit("sub", {x, e.reduce("reduce_mean", x, axes)});
  const ValueId variance = e.reduce("reduce_mean", e.emit("mul", {centred, centred}), axes);
  const ValueId epsilon = e.number(e.attrs.real("epsilon", 1e-5), t);
  return e.emit("mul", {centred, e.emit("rsqrt", {e.emit("add", {variance, epsilon})})});
}

std::vector<int64_t> axes_from(int64_t first, int64_t rank) {
  std::vector<int64_t> axes;
  for (int64_t a = first; a < rank; ++a) axes.push_back(a);
  return axes;
}

ValueId scale_and_shift(Expansion& e, ValueId x, ValueId scale, ValueId bias) {
  ValueId y = scale.valid() ? e.emit("mul", {x, e.cast(scale, e.wide())}) : x;
  if (bias.valid()) y = e.emit("add", {y, e.cast(bias, e.wide())});
  return e.cast(y, e.type());
}

Result<Values> expand_layer_norm(GraphBuilder& g, std::span<const Operand> operands, const Attrs& attrs) {
  Expansion e(g, operands, attrs);
  DLCB_ASSIGN(const int64_t axis, axis_of(e, -1));
  const ValueId x = e.cast(operands[0].value, e.wide());
  const ValueId y = normalise(e, x, axes_from(axis, e.rank()), e.wide());
  return e.finish(
      scale_and_shift(e, y, e.has(1) ? operands[1].value : ValueId{}, e.has(2) ? operands[2].value : ValueId{}));
}

Result<Values> expand_rms_norm(GraphBuilder& g, std::span<const Operand> operands, const Attrs& attrs) {
  Expansion e(g, operands, attrs);
  DLCB_ASSIGN(const int64_t axis, axis_of(e, -1));
  const ValueId x = e.cast(operands[0].value, e.wide());
  const ValueId square = e.reduce("reduce_mean", e.emit("mul", {x, x}), axes_from(axis, e.rank()));
  const ValueId factor = e.emit("rsqrt", {e.emit("add", {square, e.number(attrs.real("epsilon", 1e-5), e.wide())})});
  return e.finish(scale_and_shift(e, e.emit("mul", {x, factor}), e.has(1) ? operands[1].value : ValueId{}, {}));
}

// A per-channel vector as [C, 1, ..] so that it broadcasts over [N, C, spatial..].
ValueId per_channel(Expansion& e, size_t operand) {
  if (!e.has(operand) || e.operands[operand].dims.size() != 1)
    return e.has(operand) ? e.operands[operand].value : ValueId{};
  std::vector<sym::Expr> shape(static_cast<size_t>(e.rank() - 1), e.g.sym().constant(1));
  shape[0] = e.operands[operand].dims[0];
  return e.reshape(e.operands[operand].value, shape);
}

Result<Values> expand_instance_norm(GraphBuilder& g, std::span<const Operand> operands, const Attrs& attrs) {
  Expansion e(g, operands, attrs);
  if (e.rank() < 3)
    return e.fail(DiagKind::RankMismatch, {"instance_norm needs rank 3 or more, not " + std::to_string(e.rank())});
  const ValueId x = e.cast(operands[0].value, e.wide());
  const ValueId y = normalise(e, x, axes_from(2, e.rank()), e.wide());
  return e.finish(scale_and_shift(e, y, per_channel(e, 1), per_channel(e, 2)));
}

Result<Values> expand_group_norm(GraphBuilder& g, std::span<const Operand> operands, const Attrs& attrs) {
  Expansion e(g, operands, attrs);
  const int64_t groups = attrs.integer("groups");
  if (e.rank() < 2)
    return e.fail(DiagKind::RankMismatch, {"group_norm needs rank 2 or more, not " + std::to_string(e.rank())});
  if (groups < 1) return e.fail(DiagKind::BadAttribute, {"groups", "must be positive"});
  sym::Store& s = g.sym();
  const sym::Expr count = s.constant(groups), channels = operands[0].dims[1];
  DLCB_TRY(g.require(s.eq(s.mod(channels, count), s.constant(0)), "channels must be a multiple of the groups", 0, 1));
  std::vector<sym::Expr> split{operands[0].dims[0], count, s.floordiv(channels, count)};
  split.insert(split.end(), operands[0].dims.begin() + 2, operands[0].dims.end());
  const ValueId x = e.reshape(e.cast(operands[0].value, e.wide()), split);
  const ValueId y = normalise(e, x, axes_from(2, e.rank() + 1), e.wide());
  return e.finish(scale_and_shift(e, e.reshape(y, operands[0].dims), per_channel(e, 1), per_channel(e, 2)));
}

// q k^T * scale, with everything masked at minus infinity. In 16 bits the queries are scaled, since scores may
// overflow; else the scores, in the kernel that reads them anyway.
ValueId attention_scores(Expansion& e, double scale) {
  const int64_t rank = e.rank();
  ValueId keys = e.operands[1].value;
  if (!e.attrs.integer("transposed_keys")) {
    std::vector<int64_t> perm = axes_from(0, rank);
    std::swap(perm[rank - 1], perm[rank - 2]);
    keys = e.emit("transpose", {keys}, {{"perm", perm}});
  }
  const ValueId factor = e.number(scale, e.type());
  ValueId scores = e.wide() == e.type() ? e.emit("mul", {e.emit("matmul", {e.operands[0].value, keys}), factor})
                                        : e.emit("matmul", {e.emit("mul", {e.operands[0].value, factor}), keys});
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  if (e.has(3)) {
    const ValueId mask = e.operands[3].value;
    scores = e.operands[3].dtype == DType::Bool ? e.emit("select", {mask, scores, e.number(kNever, e.type())})
                                                : e.emit("add", {scores, mask});
  }
  if (!e.attrs.integer("causal")) return scores;
  return e.emit("triangular", {scores},
                {{"upper", int64_t{0}}, {"k", std::vector<sym::Expr>{e.g.sym().constant(0)}}, {"value", kNever}});
}

Result<Values> expand_attention(GraphBuilder& g, std::span<const Operand> operands, const Attrs& attrs) {
  Expansion e(g, operands, attrs);
  const int64_t rank = e.rank();
  if (rank < 2 || operands[1].dims.size() != operands[0].dims.size())
    return e.fail(DiagKind::RankMismatch, {"attention needs queries and keys of one rank, 2 or more"});
  const auto depth = g.sym().as_const(operands[0].dims[rank - 1]);
  if (!depth && !attrs.has("scale"))
    return e.fail(DiagKind::BadAttribute, {"scale", "is needed when the head size is not a literal"});
  const double scale =
      attrs.real("scale", depth ? 1 / std::sqrt(static_cast<double>(std::max<int64_t>(*depth, 1))) : 1);
  ValueId weights = e.emit("softmax", {attention_scores(e, scale)}, {{"axis", int64_t{-1}}});
  if (attrs.integer("nan_is_zero"))
    weights = e.emit("select", {e.emit("is_nan", {weights}), e.number(0, e.type()), weights});
  return e.finish(e.emit("matmul", {weights, operands[2].value}));
}

const AttrSpec kAxis{"axis", "int?", "", "-1"};
const AttrSpec kEpsilon{"epsilon", "float?", "added to the variance", "0.00001"};

using Expand = Result<Values> (*)(GraphBuilder&, std::span<const Operand>, const Attrs&);

OpDef expansion(std::string_view name, std::string_view operands, std::vector<AttrSpec> attrs, Expand expand,
                std::string_view doc) {
  return {.name = name,
          .kind = OpKind::Expands,
          .operands = operands,
          .attrs = std::move(attrs),
          .expand = expand,
          .doc = doc};
}

}  // namespace

std::span<const OpDef> composite_ops() {
  static const std::vector<OpDef> ops = {
      expansion("softmax", "x", {kAxis}, expand_softmax, "exp(x - max) / sum along one axis."),
      expansion("log_softmax", "x", {kAxis}, expand_log_softmax, "The logarithm of softmax."),
      expansion("layer_norm", "x, scale?, bias?",
                {{"axis", "int?", "the first of the normalised axes", "-1"}, kEpsilon}, expand_layer_norm,
                "Zero mean and unit variance over the axes from `axis` on (Ba et al. 2016, ONNX LayerNormalization)."),
      expansion("rms_norm", "x, scale?", {{"axis", "int?", "the first of the normalised axes", "-1"}, kEpsilon},
                expand_rms_norm, "Unit mean square over the axes from `axis` on (Zhang and Sennrich 2019)."),
      expansion("instance_norm", "x, scale?, bias?", {kEpsilon}, expand_instance_norm,
                "Normalises each channel of each sample; x[n, c, spatial..]."),
      expansion("group_norm", "x, scale?, bias?", {{"groups", "int", ""}, kEpsilon}, expand_group_norm,
                "Normalises groups of channels of each sample (Wu and He 2018); scale and bias per channel."),
      expansion("attention", "q, k, v, mask?",
                {{"scale", "float?", "1 / sqrt(head size) if absent"},
                 {"causal", "int?", "1: position i sees positions up to i", "0"},
                 {"transposed_keys", "int?", "1: k has its last two dims the other way round", "0"},
                 {"nan_is_zero", "int?", "1: a weight that is NaN, as where every key is masked, counts as 0", "0"}},
                expand_attention,
                "softmax(q k^T * scale + mask) v over the last two dims (Vaswani et al. 2017); a bool mask keeps."),
      {.name = "batch_norm",
       .operands = "x, scale, bias, mean, var",
       .attrs = {kEpsilon},
       .text = "out[n, c, h..] = (x[n, c, h..] - mean[c]) * (scale[c] * rsqrt(var[c] + epsilon)) + bias[c]",
       .doc = "Inference form with stored statistics (ONNX BatchNormalization)."},
      {.name = "lrn",
       .operands = "x",
       .attrs = {{"size", "int", "channels in a window"},
                 {"alpha", "float?", "", "0.0001"},
                 {"beta", "float?", "", "0.75"},
                 {"bias", "float?", "", "1"}},
       .text =
           "out[n, c, h..] = x[n, c, h..] / pow(bias + alpha / size * (sum[k] x[n, c + k - (size - 1) // 2, (h) | 0]"
           " * x[n, c + k - (size - 1) // 2, (h) | 0]), beta) where k = size",
       .doc = "Local response normalisation across channels (ONNX LRN)."},
  };
  return ops;
}

}  // namespace dlcb::ops
