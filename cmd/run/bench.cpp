// Timing statistics; see bench.h.
#include "cmd/run/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cmd/common/units.h"

namespace dlcb::cmd {

double percentile(const std::vector<double>& sorted, double p) {
  if (sorted.empty()) return 0;
  auto rank = static_cast<size_t>(std::ceil(p * static_cast<double>(sorted.size())));
  return sorted[std::clamp<size_t>(rank, 1, sorted.size()) - 1];
}

nlohmann::ordered_json bench_json(const BenchResult& result, double load_seconds) {
  std::vector<double> sorted = result.calls;
  std::sort(sorted.begin(), sorted.end());
  return {{"calls", sorted.size()},         {"load", load_seconds},           {"first_call", result.first},
          {"min", percentile(sorted, 0)},   {"p50", percentile(sorted, 0.5)}, {"p90", percentile(sorted, 0.9)},
          {"p99", percentile(sorted, .99)}, {"max", percentile(sorted, 1)},   {"back_to_back", result.back_to_back}};
}

std::string bench_text(const nlohmann::ordered_json& json) {
  std::string text = fmt::format("bench    {} calls:", json["calls"].get<size_t>());
  for (const char* key : {"min", "p50", "p90", "p99", "max"})
    text += fmt::format(" {} {}", key, seconds_text(json[key].get<double>()));
  return text + fmt::format("\n         back to back {} a call; load {}, first call {}\n",
                            seconds_text(json["back_to_back"].get<double>()), seconds_text(json["load"].get<double>()),
                            seconds_text(json["first_call"].get<double>()));
}

}  // namespace dlcb::cmd
