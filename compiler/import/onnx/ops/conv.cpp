// Convolutions and pools over the axes from 2 on.
#include <fmt/format.h>

#include <numeric>

#include "import/onnx/node_context.h"
#include "import/onnx/ops/translators.h"
#include "import/onnx/ops/window.h"

namespace dlcb::importer::onnx {
namespace {

std::vector<int> spatial_axes(NodeContext& n, ValueId x) {
  if (n.rank(x) < 3) n.malformed(fmt::format("the operand has rank {}, but 3 or more is needed", n.rank(x)));
  std::vector<int> axes(static_cast<size_t>(n.rank(x)) - 2);
  std::iota(axes.begin(), axes.end(), 2);
  return axes;
}

Exprs kernel_of_weights(NodeContext& n, ValueId w) {
  const Exprs dims = n.dims(w);
  if (dims.size() < 3) n.malformed(fmt::format("the weights have rank {}, but 3 or more is needed", dims.size()));
  const Ints stated = n.integers("kernel_shape");
  if (!stated.empty() && stated.size() != dims.size() - 2)
    n.bad_attribute("kernel_shape", "has another number of axes than the weights");
  for (size_t i = 0; i < stated.size(); ++i)
    n.require(n.sym().eq(dims[i + 2], n.lit(stated[i])), "kernel_shape must agree with the weights", 1,
              static_cast<int>(i) + 2);
  return {dims.begin() + 2, dims.end()};
}

Ints pool_kernel(NodeContext& n) {
  const Ints kernel = n.integers("kernel_shape");
  if (kernel.empty()) n.bad_attribute("kernel_shape", "is missing");
  for (const int64_t k : kernel)
    if (k < 1) n.bad_attribute("kernel_shape", "holds a number that is not positive");
  return kernel;
}

std::vector<ValueId> operands(NodeContext& n) {
  std::vector<ValueId> xs{n.in(0), n.in(1)};
  if (n.has(2)) xs.push_back(n.in(2));
  return xs;
}

int64_t groups_of(NodeContext& n) {
  const int64_t groups = n.integer("group", 1);
  if (groups < 1) n.bad_attribute("group", "is not positive");
  return groups;
}

ValueId pooled(NodeContext& n, std::string_view op, ValueId x, const ops::Attrs& extra = {}) {
  const Ints kernel = pool_kernel(n);
  ops::Attrs attrs = window_of(n, x, n.lits(kernel)).attrs();
  attrs.set("kernel", kernel);
  attrs.set("ceil_mode", n.integer("ceil_mode", 0));
  for (const auto& [name, value] : extra.all()) attrs.set(name, value);
  return n.op(op, {x}, std::move(attrs));
}

}  // namespace

void conv(NodeContext& n) {
  const ValueId x = n.in(0), w = n.in(1);
  ops::Attrs attrs = window_of(n, x, kernel_of_weights(n, w)).attrs();
  attrs.set("group", groups_of(n));
  n.out(0, n.op("conv", operands(n), std::move(attrs)));
}

// The result's extent is stride (in - 1) + output_padding + reach - pads; output_shape and auto_pad state the extent
// and leave the pads to be worked out.
void conv_transpose(NodeContext& n) {
  sym::Store& s = n.sym();
  const ValueId x = n.in(0), w = n.in(1);
  const Exprs kernel = kernel_of_weights(n, w);
  const std::string mode = n.text("auto_pad", "NOTSET");
  const bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  Window window = window_of(n, x, kernel);
  const size_t count = kernel.size();
  const Ints shape = n.integers("output_shape");
  Ints extra = n.integers("output_padding");
  extra.resize(count, 0);
  if (!shape.empty() && shape.size() < count) n.bad_attribute("output_shape", "has too few entries");
  for (size_t i = 0; i < count && (same || !shape.empty()); ++i) {
    const Expr in = n.dim(x, static_cast<int64_t>(i) + 2), stride = n.lit(window.strides[i]);
    const Expr full =
        s.add(s.add(s.mul(stride, s.sub(in, n.lit(1))), n.lit(extra[i])), reach(n, kernel[i], window.dilations[i]));
    const Expr extent = shape.empty() ? s.mul(in, stride) : n.lit(shape[shape.size() - count + i]);
    const Expr total = s.sub(full, extent), half = s.floordiv(s.max(n.lit(0), total), n.lit(2));
    window.lo[i] = mode == "SAME_UPPER" ? half : s.sub(s.max(n.lit(0), total), half);
    window.hi[i] = s.sub(total, window.lo[i]);
  }
  ops::Attrs attrs = window.attrs();
  attrs.set("output_padding", extra);
  attrs.set("group", groups_of(n));
  n.out(0, n.op("conv_transpose", operands(n), std::move(attrs)));
}

void max_pool(NodeContext& n) {
  if (n.wants(1)) n.unsupported("the Indices output");
  n.out(0, pooled(n, "max_pool", n.in(0)));
}

void average_pool(NodeContext& n) {
  n.out(0, pooled(n, "avg_pool", n.in(0), {{"count_include_pad", n.integer("count_include_pad", 0)}}));
}

void lp_pool(NodeContext& n) {
  n.out(0, pooled(n, "lp_pool", n.in(0), {{"norm", static_cast<double>(n.integer("p", 2))}}));
}

void global_pool(NodeContext& n) { n.out(0, n.reduce(n.variant(), n.in(0), spatial_axes(n, n.in(0)), true)); }

void global_lp_pool(NodeContext& n) {
  const ValueId x = n.in(0);
  const auto p = static_cast<double>(n.integer("p", 2));
  const ValueId sum =
      n.reduce("sum", n.op("pow", {n.unary("abs", x), n.scalar(n.dtype(x), p)}), spatial_axes(n, x), true);
  n.out(0, n.op("pow", {sum, n.scalar(n.dtype(x), 1 / p)}));
}

}  // namespace dlcb::importer::onnx
