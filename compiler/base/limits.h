// What every part of the project may take for granted of sizes.
#pragma once
#include <cstdint>

namespace dlcb {

// The largest dim of an input: the stub refuses a call with a larger one. Kernels index with 32 bits, so only a tensor
// without elements could have it.
constexpr int64_t kLargestDim = INT32_MAX;

}  // namespace dlcb
