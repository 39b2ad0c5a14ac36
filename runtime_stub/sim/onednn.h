// Matmul and convolution steps through oneDNN (2.x or 3.x), computed in f32; f16 and bf16 operands are converted first.
// False: oneDNN was absent at build time or does not take the case, and nothing was written.
#pragma once
#include "runtime_stub/src/device.h"

namespace dlcb::sim {

bool onednn_matmul(const rt::MatmulCall& call);
bool onednn_conv(const rt::ConvCall& call);

}  // namespace dlcb::sim
