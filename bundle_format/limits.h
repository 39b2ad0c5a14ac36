// What a bundle may hold, for those who make one and those who read it.
#pragma once
#include <cstdint>

namespace dlcb::bundle {

constexpr uint32_t kMaxRank = 32;  // of every tensor

}  // namespace dlcb::bundle
