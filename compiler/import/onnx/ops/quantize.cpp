// Quantization as arithmetic: y = saturate(round(x / scale) + zero_point) and back.
#include <fmt/format.h>

#include "import/onnx/node_context.h"
#include "import/onnx/ops/translators.h"
#include "import/onnx/ops/window.h"

namespace dlcb::importer::onnx {
namespace {

std::pair<double, double> range_of(NodeContext& n, DType t) {
  switch (t) {
    case DType::U8:
      return {0, 255};
    case DType::I8:
      return {-128, 127};
    case DType::U16:
      return {0, 65535};
    case DType::I16:
      return {-32768, 32767};
    default:
      n.unsupported(fmt::format("quantization to {}", name_of(t)));
  }
}

// A scale or zero point per tensor, per entry of an axis, or per block of an axis, lined up with x.
ValueId aligned(NodeContext& n, ValueId v, ValueId x) {
  const int64_t block = n.integer("block_size", 0);
  if (n.rank(v) == 0) return v;
  if (n.rank(v) == 1 && block == 0 && n.literal(n.dim(v, 0)) == 1) return n.reshape(v, {});  // whatever the axis
  const int axis = n.axis_of(n.integer("axis", 1), std::max(1, n.rank(x)));
  if (n.rank(v) == 1 && block == 0) return n.pad_rank_right(v, n.rank(x) - axis);
  if (block < 1 || n.rank(v) != n.rank(x)) n.malformed("the scale fits neither an axis nor blocks");
  Exprs wide = n.dims(v), flat = n.dims(v);
  wide.insert(wide.begin() + axis + 1, n.lit(block));
  flat[static_cast<size_t>(axis)] = n.sym().mul(flat[static_cast<size_t>(axis)], n.lit(block));
  const ValueId repeated = n.reshape(n.broadcast_to(n.unsqueeze(v, {axis + 1}), wide), flat);
  return n.slice(repeated, axis, n.lit(0), n.dim(x, axis));
}

}  // namespace

void quantize_linear(NodeContext& n) {
  const ValueId x = n.in(0);
  const DType wide = n.dtype(x) == DType::F64 ? DType::F64 : DType::F32;
  const DType to = n.has(2)                       ? n.dtype(n.in(2))
                   : n.integer("output_dtype", 0) ? n.dtype_attr("output_dtype", DType::U8)
                                                  : DType::U8;
  const auto [low, high] = range_of(n, to);
  ValueId y = n.unary("round", n.div(n.cast(x, wide), n.cast(aligned(n, n.in(1), x), wide)));
  if (n.has(2)) y = n.add(y, n.cast(aligned(n, n.in(2), x), wide));
  n.out(0, n.cast(n.op("clip", {y}, {{"min", low}, {"max", high}}), to));
}

void dequantize_linear(NodeContext& n) {
  const ValueId x = n.in(0);
  const DType to = n.integer("output_dtype", 0) ? n.dtype_attr("output_dtype", DType::F32) : n.dtype(n.in(1));
  ValueId y = n.cast(x, DType::F32);
  if (n.has(2)) y = n.sub(y, n.cast(aligned(n, n.in(2), x), DType::F32));
  n.out(0, n.cast(n.mul(y, n.cast(aligned(n, n.in(1), x), DType::F32)), to));
}

// Scale and zero point from the data: the range, widened to include 0, over 255 steps.
void dynamic_quantize_linear(NodeContext& n) {
  const ValueId x = n.in(0), zero = n.scalar(DType::F32, 0);
  std::vector<int> axes;
  for (int i = 0; i < n.rank(x); ++i) axes.push_back(i);
  const ValueId top = n.op("max", {n.reduce("max", x, axes, false), zero}),
                bottom = n.op("min", {n.reduce("min", x, axes, false), zero});
  const ValueId scale = n.div(n.sub(top, bottom), 255);
  const auto saturated = [&](ValueId v) { return n.op("clip", {v}, {{"min", 0.0}, {"max", 255.0}}); };
  const ValueId point = saturated(n.unary("round", n.div(n.unary("neg", bottom), scale)));
  n.out(0, n.cast(saturated(n.add(n.unary("round", n.div(x, scale)), point)), DType::U8));
  n.out(1, scale);
  n.out(2, n.cast(point, DType::U8));
}

namespace {

// One element in a vector means the same as a scalar.
ValueId scalar_if_single(NodeContext& n, ValueId v) {
  return n.rank(v) == 1 && n.literal(n.dim(v, 0)) == 1 ? n.reshape(v, {}) : v;
}

// Integer operands without their zero points, exact in i32. a's may be per row, b's per column.
ValueId centred(NodeContext& n, int input, int zero_input) {
  const ValueId x = n.cast(n.in(input), DType::I32);
  if (!n.has(zero_input)) return x;
  const ValueId zero = scalar_if_single(n, n.cast(n.in(zero_input), DType::I32));
  return n.sub(x, n.rank(zero) == 1 && input == 0 ? n.unsqueeze(zero, {1}) : zero);
}

ops::Attrs conv_attrs(NodeContext& n, ValueId x, ValueId w) {
  const Exprs dims = n.dims(w);
  if (dims.size() < 3) n.malformed("the weights need rank 3 or more");
  ops::Attrs attrs = window_of(n, x, {dims.begin() + 2, dims.end()}).attrs();
  attrs.set("group", n.integer("group", 1));
  return attrs;
}

// i32 sums scaled to the result's scale and type.
ValueId requantized(NodeContext& n, ValueId sums, ValueId factor, int zero_input) {
  const DType to = n.dtype(n.in(zero_input));
  const auto [low, high] = range_of(n, to);
  const ValueId y = n.add(n.unary("round", n.mul(n.cast(sums, DType::F32), factor)),
                          n.cast(scalar_if_single(n, n.in(zero_input)), DType::F32));
  return n.cast(n.op("clip", {y}, {{"min", low}, {"max", high}}), to);
}

// scale of a times scale of b over the result's, the second lined up with the result's axis 1 when it is per channel.
ValueId factor_of(NodeContext& n, int a, int b, int y, int rank) {
  const auto scale = [&](int input) {
    const ValueId v = scalar_if_single(n, n.cast(n.in(input), DType::F32));
    return n.rank(v) == 1 ? n.pad_rank_right(v, rank) : v;
  };
  return n.div(n.mul(scale(a), scale(b)), scale(y));
}

}  // namespace

void matmul_integer(NodeContext& n) { n.out(0, n.matmul(centred(n, 0, 2), centred(n, 1, 3))); }

void conv_integer(NodeContext& n) {
  const ValueId x = centred(n, 0, 2), w = n.has(3) && n.rank(n.in(3)) == 1
                                              ? n.sub(n.cast(n.in(1), DType::I32),
                                                      n.pad_rank_right(n.cast(n.in(3), DType::I32), n.rank(n.in(1))))
                                              : centred(n, 1, 3);
  n.out(0, n.op("conv", {x, w}, conv_attrs(n, x, w)));
}

void qlinear_matmul(NodeContext& n) {
  const ValueId sums = n.matmul(centred(n, 0, 2), centred(n, 3, 5));
  n.out(0, requantized(n, sums, factor_of(n, 1, 4, 6, 1), 7));
}

void qlinear_conv(NodeContext& n) {
  const ValueId x = centred(n, 0, 2);
  const ValueId w_zero = n.cast(n.in(5), DType::I32);
  const ValueId w =
      n.sub(n.cast(n.in(3), DType::I32), n.rank(w_zero) == 1 ? n.pad_rank_right(w_zero, n.rank(n.in(3))) : w_zero);
  std::vector<ValueId> operands{x, w};
  if (n.has(8)) operands.push_back(n.in(8));
  const ValueId sums = n.op("conv", operands, conv_attrs(n, x, w));
  n.out(0, requantized(n, sums, factor_of(n, 1, 4, 6, n.rank(x) - 1), 7));
}

}  // namespace dlcb::importer::onnx
