// Sizes and times as people read them.
#pragma once
#include <cstdint>
#include <string>

namespace dlcb::cmd {

std::string bytes_text(uint64_t bytes);    // "0 B", "1.50 KB", "12.3 MB" (powers of 1000)
std::string seconds_text(double seconds);  // "4.20 us", "12.3 ms", "1.05 s"

}  // namespace dlcb::cmd
