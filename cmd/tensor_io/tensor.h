// A tensor in host memory, as files and the command line give it to dlcb-run.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"

namespace dlcb::cmd {

// Contiguous, row major, little-endian; bytes.size() == element count * size_of(dtype).
struct Tensor {
  DType dtype = DType::F32;
  std::vector<int64_t> dims;
  std::vector<std::byte> bytes;
};

// Product of dims; nothing if one is negative or the product with `element_size` does not fit in 63 bits.
std::optional<uint64_t> element_count(const std::vector<int64_t>& dims, size_t element_size = 1);
// A tensor of zeros. The dims must be countable.
Tensor make_tensor(DType dtype, std::vector<int64_t> dims);
// "f32[2, 3]"
std::string type_text(DType dtype, const std::vector<int64_t>& dims);

// All readers return InputFile errors whose two arguments are the source and what is wrong with it.
Diagnostic bad_tensor(const std::string& source, std::string what);

}  // namespace dlcb::cmd
