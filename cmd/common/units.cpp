// Three significant digits and the unit that fits; see units.h.
#include "cmd/common/units.h"

#include <fmt/format.h>

namespace dlcb::cmd {
namespace {

std::string three_digits(double value, const char* unit) {
  return fmt::format("{:.{}f} {}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, unit);
}

}  // namespace

std::string bytes_text(uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes);
  constexpr const char* kUnits[] = {"KB", "MB", "GB", "TB", "PB", "EB"};
  int unit = -1;
  do {
    value /= 1000;
    ++unit;
  } while (value >= 999.5 && unit < 5);
  return three_digits(value, kUnits[unit]);
}

std::string seconds_text(double seconds) {
  if (seconds < 0.9995e-3) return three_digits(seconds * 1e6, "us");
  if (seconds < 0.9995) return three_digits(seconds * 1e3, "ms");
  return three_digits(seconds, "s");
}

}  // namespace dlcb::cmd
