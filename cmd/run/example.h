// Sizes to show to somebody who has not given an input: such that the call they then make is accepted.
#pragma once
#include <cstdint>
#include <vector>

#include "bundle_format/program_generated.h"

namespace dlcb::cmd {

struct Example {
  std::vector<std::vector<int64_t>> dims;  // by input
  std::vector<int64_t> values;             // by input: its elements, where the host program reads them
};

// Found by trying small sizes against the guards; where none is found, what breaks the fewest. The program must have
// passed verify_program.
Example example_call(const fb::Program& program);

}  // namespace dlcb::cmd
