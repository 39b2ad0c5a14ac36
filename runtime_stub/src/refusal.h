// The sentences that refuse a call: which input, axis and value, which constraint, and where in the model it comes
// from.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "bundle_format/eval.h"
#include "runtime_stub/src/model.h"

namespace dlcb::rt {

std::string input_text(const Model& model, uint32_t input);    // "input 'x'"
std::string output_text(const Model& model, uint32_t output);  // "output 'y'"

// An input dim whose value is not what the program derives for it (a literal, a symbol taken from another input, 2*W).
Error refuse_dim(const Model& model, uint32_t input, uint32_t axis, int64_t actual, const bundle::Registers& registers);

// A guard that does not hold. `dims`: the call's input dims.
Error refuse_guard(const Model& model, uint32_t guard, std::span<const std::span<const int64_t>> dims,
                   const bundle::Registers& registers);

}  // namespace dlcb::rt
