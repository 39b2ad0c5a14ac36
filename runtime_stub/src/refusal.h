// The sentences that refuse a call: which input, axis and value, which constraint, and where in the model it comes
// from.
#pragma once
#include <cstdint>
#include <span>

#include "runtime_stub/src/model.h"

namespace dlcb::rt {

// An input dim whose value is not what the program derives for it (a literal, a symbol taken from another input, 2*W).
Error refuse_dim(const Model& model, uint32_t input, uint32_t axis, int64_t actual, std::span<const int64_t> registers);

// A guard that does not hold. `dims`: the call's input dims.
Error refuse_guard(const Model& model, uint32_t guard, std::span<const std::span<const int64_t>> dims,
                   std::span<const int64_t> registers);

}  // namespace dlcb::rt
