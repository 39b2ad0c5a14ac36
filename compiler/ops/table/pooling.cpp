// Windows that slide over spatial axes. Sizes follow onnxruntime: division toward zero, so that a window larger than
// its padded input (by less than the stride) still gives one element, made of what is inside; a larger one is refused.
// With ceil_mode a last window that would start in the trailing padding is dropped.
#include "ops/notation.h"
#include "ops/table/table.h"

namespace dlcb::ops {
namespace {

const std::vector<AttrSpec> kPool = {
    {"kernel", "ints", "window size per spatial axis"},
    {"strides", "ints?", "per spatial axis", "1"},
    {"dilations", "ints?", "per spatial axis", "1"},
    {"lo", "exprs?", "padding before", "0"},
    {"hi", "exprs?", "padding after", "0"},
    {"ceil_mode", "int?", "1: sizes round up", "0"},
};

std::vector<AttrSpec> with(AttrSpec more) {
  std::vector<AttrSpec> attrs = kPool;
  attrs.push_back(more);
  return attrs;
}

// The guard makes division toward zero equal max(room, 0) // strides.
#define DLCB_POOL_WINDOW                                                                                            \
  " where x is [n, c, h..]; r = kernel;"                                                                            \
  " require #h + lo + hi + strides > (kernel - 1) * dilations + 1 \"the window must not be larger than the padded " \
  "input\";"                                                                                                        \
  " p = select(ceil_mode, min(max(#h + lo + hi - (kernel - 1) * dilations + strides - 2, 0) // strides + 1,"        \
  " (#h + lo + strides - 1) // strides), max(#h + lo + hi - (kernel - 1) * dilations - 1, 0) // strides + 1)"

}  // namespace

std::span<const OpDef> pooling_ops() {
  static const std::vector<OpDef> ops = {
      {.name = "max_pool",
       .operands = "x",
       .attrs = kPool,
       .text = "out[n, c, p..] = max[r..] x[n, c, p * strides + r * dilations - lo | -inf]" DLCB_POOL_WINDOW,
       .doc = "Largest element of each window (ONNX MaxPool)."},
      {.name = "avg_pool",
       .operands = "x",
       .attrs = with({"count_include_pad", "int?", "1: padding counts as elements", "0"}),
       .text = "out[n, c, p..] = (sum[r..] x[n, c, p * strides + r * dilations - lo | 0]) / "
               "product(select(count_include_pad,"
               " min(kernel, ceildiv(#h + hi + lo - p * strides, dilations)),"
               " min(kernel, ceildiv(#h + lo - p * strides, dilations)) - ceildiv(max(lo - p * strides, 0), "
               "dilations)))" DLCB_POOL_WINDOW,
       .doc = "Mean of each window (ONNX AveragePool); positions beyond the padded input never count."},
      {.name = "lp_pool",
       .operands = "x",
       .attrs = with({"norm", "float?", "the exponent", "2"}),
       .text = "out[n, c, p..] = pow(sum[r..] pow(abs(x[n, c, p * strides + r * dilations - lo | 0]), norm), 1 / "
               "norm)" DLCB_POOL_WINDOW,
       .doc = "p-norm of each window (ONNX LpPool)."},
  };
  return ops;
}

}  // namespace dlcb::ops
