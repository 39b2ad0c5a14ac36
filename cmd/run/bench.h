// The numbers of --bench.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cmd/run/session.h"

namespace dlcb::cmd {

// The value that a share `p` (0..1) of the sorted values does not exceed; nearest rank.
double percentile(const std::vector<double>& sorted, double p);
nlohmann::ordered_json bench_json(const BenchResult& result, double load_seconds);  // seconds
std::string bench_text(const nlohmann::ordered_json& json);

}  // namespace dlcb::cmd
