// What dlcb-run does with the outputs: files, and a few values to look at.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "cmd/run/port.h"
#include "cmd/tensor_io/tensor.h"

namespace dlcb::cmd {

// One file for each output, in order. "npy": named by the output, characters outside [A-Za-z0-9._-] as '_', a number
// appended where two names become one; "pb": output_0.pb, output_1.pb ...
std::vector<std::string> output_files(const std::vector<Port>& ports, const std::string& format);
// Makes the folder if needed. CannotWrite.
Status write_outputs(const std::string& folder, const std::string& format, const std::vector<Port>& ports,
                     const std::vector<Tensor>& outputs);

// "1, 2.5, 3, ... (12 values)"
std::string preview(const Tensor& tensor, size_t limit = 8);

}  // namespace dlcb::cmd
