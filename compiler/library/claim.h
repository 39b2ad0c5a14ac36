// Which nodes a library executes. A matmul goes to cuBLASLt when its operands are strided matrices, a convolution to
// cuDNN when it is NHWC with literal parameters; what follows and fits its epilogue is absorbed, sums of two tensors
// only once it is known that they pay (residual.h). What is not claimed becomes a generated kernel.
#pragma once
#include <vector>

#include "fuse/region.h"

namespace dlcb::library {

std::vector<fuse::Claim> claim_library_calls(graph::Graph& graph);

// Depthwise convolutions move memory and do little arithmetic: a generated kernel with its epilogue beats a library
// call.
bool is_depthwise(const graph::Graph& graph, const graph::Node& conv);

// Whether the library may have no engine for the call on some GPU or in some version, so that a generated kernel must
// stand by: cuDNN's engines for plain forward convolutions serve every GPU, the others come and go; none serves an
// input without pixels.
bool may_be_refused(const fuse::Claim& claim);

std::optional<fuse::MatmulCall> match_matmul(graph::Graph& graph, const graph::Node& node);
std::optional<fuse::ConvCall> match_conv(graph::Graph& graph, const graph::Node& node);

}  // namespace dlcb::library
