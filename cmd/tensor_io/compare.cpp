// Comparison; see compare.h.
#include "cmd/tensor_io/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>

#include "cmd/tensor_io/number.h"

namespace dlcb::cmd {
namespace {

std::vector<int64_t> position_of(uint64_t index, const std::vector<int64_t>& dims) {
  std::vector<int64_t> position(dims.size());
  for (size_t axis = dims.size(); axis-- > 0; index /= static_cast<uint64_t>(dims[axis]))
    position[axis] = static_cast<int64_t>(index % static_cast<uint64_t>(dims[axis]));
  return position;
}

struct Worst {
  uint64_t index = 0;
  double excess = -1, actual = 0, expected = 0;
};

}  // namespace

Comparison compare(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance) {
  Comparison result;
  if (actual.dtype != expected.dtype || actual.dims != expected.dims) {
    result.rel_norm = std::numeric_limits<double>::infinity();
    result.difference = fmt::format("it is {}, but {} was expected", type_text(actual.dtype, actual.dims),
                                    type_text(expected.dtype, expected.dims));
    return result;
  }
  result.count = actual.bytes.size() / size_of(actual.dtype);
  double difference_squares = 0, expected_squares = 0;
  bool broken = false;  // a NaN or infinity on one side only
  Worst worst;
  for (uint64_t i = 0; i < result.count; ++i) {
    double a = load_number(actual.dtype, actual.bytes.data(), i);
    double b = load_number(expected.dtype, expected.bytes.data(), i);
    if (a == b || (std::isnan(a) && std::isnan(b))) {
      if (std::isfinite(b)) expected_squares += b * b;
      continue;
    }
    double distance = std::abs(a - b), excess = distance - (tolerance.atol + tolerance.rtol * std::abs(b));
    if (!std::isfinite(distance)) {
      broken = true;
      excess = std::numeric_limits<double>::infinity();
    } else {
      result.max_abs = std::max(result.max_abs, distance);
      difference_squares += distance * distance;
      expected_squares += b * b;
    }
    if (excess > 0) ++result.outside;
    if (excess > worst.excess) worst = {i, excess, a, b};
  }
  result.rel_norm = difference_squares == 0 ? 0 : std::sqrt(difference_squares / expected_squares);
  if (broken) result.rel_norm = std::numeric_limits<double>::infinity();
  result.equal = tolerance.rel_norm ? result.rel_norm <= *tolerance.rel_norm : result.outside == 0;
  if (!result.equal) {
    result.difference =
        fmt::format("relative norm {:.3g}, {} of {} elements outside; at [{}] {:.9g} instead of {:.9g}",
                    result.rel_norm, result.outside, result.count,
                    fmt::join(position_of(worst.index, actual.dims), ", "), worst.actual, worst.expected);
  }
  return result;
}

}  // namespace dlcb::cmd
