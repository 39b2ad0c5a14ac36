// Host tensors; see tensor.h.
#include "cmd/tensor_io/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dlcb::cmd {

std::optional<uint64_t> element_count(const std::vector<int64_t>& dims, size_t element_size) {
  // Zero first, so that [2^40, 2^40, 0] is an empty tensor and not an overflow.
  bool empty = false;
  for (int64_t dim : dims) {
    if (dim < 0) return std::nullopt;
    empty |= dim == 0;
  }
  if (empty) return 0;
  uint64_t count = 1;
  for (int64_t dim : dims)
    if (__builtin_mul_overflow(count, static_cast<uint64_t>(dim), &count)) return std::nullopt;
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(count, element_size, &bytes) || bytes > INT64_MAX) return std::nullopt;
  return count;
}

Tensor make_tensor(DType dtype, std::vector<int64_t> dims) {
  auto count = element_count(dims, size_of(dtype));
  DLCB_CHECK(count, "dims that cannot be counted");
  Tensor tensor{dtype, std::move(dims), {}};
  tensor.bytes.resize(*count * size_of(dtype));
  return tensor;
}

std::string type_text(DType dtype, const std::vector<int64_t>& dims) {
  return fmt::format("{}[{}]", name_of(dtype), fmt::join(dims, ", "));
}

Diagnostic bad_tensor(const std::string& source, std::string what) {
  return diag(DiagKind::InputFile, {source, std::move(what)});
}

}  // namespace dlcb::cmd
