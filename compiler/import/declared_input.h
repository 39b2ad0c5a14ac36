// What the user says about an input of the model on the command line: --input NAME:DTYPE[DIMS]. It gives types and dims
// that the model leaves out and overrides those that it fixes.
//
//   x:f32[N,3,H,W]        N, H, W are symbols; the same name is the same dim, in all inputs
//   x[N=1..8,224,224,3]   a range narrows a symbol; the element type is the model's
//   ids:i64[batch,seq]    DTYPE is f32, i64, ... or the usual long names (float32, int64, ...)
//   length:i64[]          a scalar
//
// Names may hold ':', '/' and '.': the last ':' before the last '[' separates, so write "x:0:[N]" for a tensor "x:0".
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"

namespace dlcb {

// A literal (`name` empty, `value` >= 0) or a symbol with 0 <= lo <= hi.
struct DeclaredDim {
  std::string name;
  int64_t value = 0;
  int64_t lo = 0, hi = INT64_MAX;
  friend bool operator==(const DeclaredDim&, const DeclaredDim&) = default;
};

struct DeclaredInput {
  std::string name;
  std::optional<DType> dtype;  // nothing: as in the model
  std::vector<DeclaredDim> dims;
};

// BadFlag for anything else, quoting the part that is wrong.
Result<DeclaredInput> parse_declared_input(std::string_view text);
// All of them; also refuses an input declared twice and a symbol with two different ranges. A symbol with a range in
// one place has that range in all.
Result<std::vector<DeclaredInput>> parse_declared_inputs(std::span<const std::string> texts);

}  // namespace dlcb
