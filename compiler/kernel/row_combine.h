// The end of a row reduction: what the lanes of a row have is combined, and every lane gets the result.
#pragma once
#include "kernel/emitter.h"
#include "kernel/row_plan.h"

namespace dlcb::kernel {

// `accs` names one accumulator a row of the thread. Names used: lane, lanes.
void combine_lanes(Emitter& e, const ops::ScalarNode& reduce, const RowPlan& plan,
                   const std::vector<std::string>& accs);

}  // namespace dlcb::kernel
