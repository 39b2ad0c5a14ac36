// A damaged bundle, or one whose parts do not belong together, would launch a kernel with another's arguments. Drivers
// since CUDA 12.4 tell where and how large a function's parameters are; older ones are believed.
#pragma once
#include <string>

#include "driver.h"

namespace dlcb::rt {

// Compares the code's parameters with those that launches pass (EntryInfo::params). The driver tells a pointer from an
// integer of 8 bytes no more than a launch does. DLCB_BAD_BUNDLE where they differ.
Error check_parameters(const Driver& driver, CUfunction function, const EntryInfo& info);

}  // namespace dlcb::rt
