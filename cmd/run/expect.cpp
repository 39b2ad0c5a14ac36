// See expect.h.
#include "cmd/run/expect.h"

namespace dlcb::cmd {

ExpectResult check_expected(const std::vector<Port>& ports, const std::vector<Tensor>& outputs,
                            const std::vector<std::optional<Tensor>>& expected, const Tolerance& tolerance,
                            const Reporter& reporter) {
  ExpectResult result;
  for (size_t i = 0; i < outputs.size(); ++i) {
    result.comparisons.emplace_back();
    if (!expected[i]) continue;
    Comparison comparison = compare(outputs[i], *expected[i], tolerance);
    if (!comparison.equal) {
      reporter.error(diag(DiagKind::WrongResult, {ports[i].name, comparison.difference}));
      result.all_equal = false;
    }
    result.comparisons.back() = std::move(comparison);
  }
  return result;
}

}  // namespace dlcb::cmd
