// Where dlcb-run's inputs and expected outputs come from: flags and test data folders.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cmd/run/port.h"
#include "cmd/tensor_io/tensor.h"

namespace dlcb::cmd {

// A tensor by the flag's text after "NAME=": @FILE.npy, @FILE.pb, or a literal (tensor_io/literal.h).
Result<Tensor> tensor_from(const std::string& name, const std::string& value, DType dtype);

// One tensor for each port, from NAME=VALUE texts and, for what they leave out, from input_K.pb files of `folder` (may
// be empty). Names may hold '='. UnknownInput for other names, BadFlag for inputs that nobody gives.
Result<std::vector<Tensor>> gather_inputs(const std::vector<Port>& ports, const std::vector<std::string>& texts,
                                          const std::string& folder);

// As above for outputs (--expect, output_K.pb), but any may be absent; with a folder not all, BadFlag.
Result<std::vector<std::optional<Tensor>>> gather_expected(const std::vector<Port>& ports,
                                                           const std::vector<std::string>& texts,
                                                           const std::string& folder);

}  // namespace dlcb::cmd
