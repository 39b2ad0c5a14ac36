// A per-channel scale and shift after a convolution becomes part of its weights and bias.
#pragma once
#include "graph/graph.h"

namespace dlcb::rewrite {

// Folds batch_norm(conv), and mul / add by per-channel constants after a convolution, where nobody else reads the
// intermediate tensors; f32 only. A transposed convolution takes the scale alone: what is added to it, its own bias
// included, is an `add` after it, because no library adds on the way.
Status fold_channel_scales(graph::Graph& graph);

}  // namespace dlcb::rewrite
