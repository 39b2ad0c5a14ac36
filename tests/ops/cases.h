// The checked-in operator cases (cases/*.txt, written by make_cases.py) and how to run an operator on concrete tensors.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "ops/reference.h"

namespace dlcb::ops::test {

struct Case {
  std::string name, op;
  std::vector<std::pair<std::string, std::vector<std::string>>> attrs;  // name, then type and values
  std::vector<std::optional<Tensor>> inputs;
  std::vector<std::vector<bool>> literal;  // per input and axis: keeps its size when dims become symbols
  Tensor out;
  double tolerance = 0;
};

std::vector<Case> read_cases();
Attrs attrs_of(const Case& c, sym::Store& store);

// Runs an operator, expanding it if it is an expansion. With symbolic dims, every dim that is not literal is a symbol
// during define() and gets its value at evaluation; requirements must hold for the values. Empty and `why` set on
// failure.
std::optional<Tensor> run(const Case& c, bool symbolic, std::string& why);

}  // namespace dlcb::ops::test
