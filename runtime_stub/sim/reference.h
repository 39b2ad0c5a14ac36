// Matmul and convolution steps as plain loops over element types f32, f16, bf16 (sums in f32) and f64: what the
// simulator runs where oneDNN is absent or takes no case, and what tests compare oneDNN with. Also the epilogue that
// both share.
#pragma once
#include <cstdint>
#include <vector>

#include "runtime_stub/src/device.h"

namespace dlcb::sim {

// DLCB_MISSING_LIBRARY: an element type or activation that libraries do not take; the step's fallback kernel then runs.
rt::Error check_supported(int dtype, int activation);

// `acc` is the product without alpha: dense [batch, m, n]. Writes C = act(alpha * acc + bias + residual).
void finish_matmul(const rt::MatmulCall& call, const float* acc);
// `acc` is dense [n, p, q, k]. Writes y = act(acc + bias + residual).
void finish_conv(const rt::ConvCall& call, const float* acc);

void reference_matmul(const rt::MatmulCall& call);
void reference_conv(const rt::ConvCall& call);

// `count` elements of dtype f32, f16 or bf16 as floats.
std::vector<float> to_float(int dtype, rt::Ptr from, size_t count);

}  // namespace dlcb::sim
