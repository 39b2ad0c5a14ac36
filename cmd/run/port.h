// An input or output of the loaded model.
#pragma once
#include <string>
#include <vector>

#include "base/dtype.h"

namespace dlcb::cmd {

struct Port {
  std::string name;
  DType dtype;
  std::vector<std::string> dims;  // as the model writes them: "N", "3", "2*W"
  std::string example = {};       // a value to show to somebody who gave none: "random[1,3,32,32]", "16000"
};
std::string port_text(const Port& port);  // "x: f32[N, 3]"

}  // namespace dlcb::cmd
