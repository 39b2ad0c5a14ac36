// NumPy's .npy files, versions 1 to 3.
#pragma once
#include <span>
#include <string>

#include "cmd/tensor_io/tensor.h"

namespace dlcb::cmd {

// Fortran-order files are transposed while reading; big-endian, object, string and structured ones are refused.
// Two-byte void elements are read as bf16: that is how the ml_dtypes package writes them.
Result<Tensor> parse_npy(const std::string& source, std::span<const std::byte> file);
Result<Tensor> read_npy(const std::string& path);
// bf16, which the format does not have, is written widened to f32.
std::string npy_bytes(const Tensor& tensor);
Status write_npy(const std::string& path, const Tensor& tensor);

}  // namespace dlcb::cmd
