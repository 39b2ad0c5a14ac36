// Which of a bundle's targets ("sm_80", "sm_90a", "sm_100f") a device can run.
#pragma once
#include <string>
#include <vector>

namespace dlcb::rt {

// A cubin for sm_XY runs on devices of the same major version and a minor version of at least Y; "a" targets on exactly
// theirs. The index of the exact one, else of the newest that runs; -1: none.
int choose_target(const std::vector<std::string>& targets, int major, int minor);

}  // namespace dlcb::rt
