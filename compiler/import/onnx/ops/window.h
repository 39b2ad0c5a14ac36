// What convolutions and pools share: kernel, strides, dilations, and the pads that ONNX states in four different ways.
#pragma once
#include "import/onnx/node_context.h"

namespace dlcb::importer::onnx {

struct Window {
  Ints strides, dilations;
  Exprs lo, hi;  // pads of each spatial axis
  ops::Attrs attrs() const { return {{"strides", strides}, {"dilations", dilations}, {"lo", lo}, {"hi", hi}}; }
};

// Attributes of a window over the operand's axes 2 and up, whose kernel extents are `kernel`; auto_pad is worked out
// from the dims, which may be symbols.
Window window_of(NodeContext& n, ValueId x, const Exprs& kernel);
// Strides and dilations alone (1 where missing), checked to be positive and one for each axis.
Ints per_axis(NodeContext& n, std::string_view attribute, int count);
// The extent that a kernel covers: (k - 1) * dilation + 1.
Expr reach(NodeContext& n, Expr kernel, int64_t dilation);

}  // namespace dlcb::importer::onnx
