// A per-channel scale and shift after a convolution becomes part of its weights and bias.
#pragma once
#include "graph/graph.h"

namespace dlcb::rewrite {

// Folds batch_norm(conv), and mul / add by per-channel constants after a convolution, where nobody else reads the
// intermediate tensors. f32 only.
Status fold_channel_scales(graph::Graph& graph);

}  // namespace dlcb::rewrite
