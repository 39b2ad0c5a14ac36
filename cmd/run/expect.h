// Comparing outputs with what was expected.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "cmd/common/report.h"
#include "cmd/run/session.h"
#include "cmd/tensor_io/compare.h"

namespace dlcb::cmd {

struct ExpectResult {
  std::vector<std::optional<Comparison>> comparisons;  // by output; nothing where nothing was expected
  bool all_equal = true;
};

// Reports each difference as a WrongResult error.
ExpectResult check_expected(const std::vector<Port>& ports, const std::vector<Tensor>& outputs,
                            const std::vector<std::optional<Tensor>>& expected, const Tolerance& tolerance,
                            const Reporter& reporter);

}  // namespace dlcb::cmd
