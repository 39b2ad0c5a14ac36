// Exchange of whole nodes of an expression: how one region is made from another.
#pragma once
#include "ops/scalar.h"

namespace dlcb::ops {

// `s` with nodes (by their ids) replaced by others of their dtypes.
Scalar replace(ScalarStore& store, Scalar s, const std::unordered_map<uint32_t, Scalar>& by_id);

}  // namespace dlcb::ops
