// The operator table by family. ops/registry.cpp joins them; docs/operators.md lists them.
#pragma once
#include <span>

#include "ops/op.h"

namespace dlcb::ops {

std::span<const OpDef> pointwise_ops();  // unary functions
std::span<const OpDef> activation_ops();
std::span<const OpDef> elementwise_ops();  // two or more operands with broadcasting
std::span<const OpDef> structure_ops();    // which element goes where
std::span<const OpDef> indexing_ops();     // coordinates from data, elements from coordinates
std::span<const OpDef> reduction_ops();
std::span<const OpDef> contraction_ops();  // matmul, convolution
std::span<const OpDef> pooling_ops();
std::span<const OpDef> resize_ops();
std::span<const OpDef> composite_ops();  // expansions: softmax, norms, attention

}  // namespace dlcb::ops
