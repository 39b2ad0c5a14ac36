// ONNX TensorProto files (.pb), the form of ONNX's own test data.
#pragma once
#include <span>
#include <string>

#include "cmd/tensor_io/tensor.h"

namespace dlcb::cmd {

struct NamedTensor {
  std::string name;  // may be empty
  Tensor tensor;
};

// Strings, complex numbers, 4- and 8-bit floats and external data are refused.
Result<NamedTensor> parse_tensor_proto(const std::string& source, std::span<const std::byte> file);
Result<NamedTensor> read_tensor_proto(const std::string& path);
std::string tensor_proto_bytes(const std::string& name, const Tensor& tensor);
Status write_tensor_proto(const std::string& path, const std::string& name, const Tensor& tensor);

}  // namespace dlcb::cmd
