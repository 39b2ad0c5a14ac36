// Every compiled entry point: what it costs and which operators it computes; and the source of one.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "bundle_format/verify.h"
#include "cmd/common/program.h"
#include "cmd/inspect/names.h"
#include "cmd/inspect/view.h"

namespace dlcb::cmd {
namespace {

using RegionsOfEntry = std::vector<std::set<uint32_t>>;

void collect(const fb::Launch* launch, RegionsOfEntry& regions) {
  if (launch == nullptr || launch->variants() == nullptr) return;
  for (const fb::Variant* variant : *launch->variants()) regions[variant->entry()].insert(launch->region());
}

RegionsOfEntry regions_of_entries(const fb::Program& program) {
  RegionsOfEntry regions(program.entries()->size());
  if (program.steps() == nullptr) return regions;
  for (const fb::Step* step : *program.steps()) {
    collect(step->action_as_Launch(), regions);
    collect(step->fallback(), regions);
  }
  return regions;
}

}  // namespace

Json kernels_view(const bundle::Bundle& bundle) {
  const fb::Program& program = bundle.program();
  Json kernels = Json::array();
  if (program.entries() == nullptr) return {{"kernels", kernels}};
  RegionsOfEntry regions = regions_of_entries(program);
  for (uint32_t i = 0; i < program.entries()->size(); ++i) {
    const fb::Entry* entry = program.entries()->Get(i);
    Json used = Json::array();
    for (uint32_t region : regions[i]) {
      if (program.regions() == nullptr || region >= program.regions()->size()) continue;
      const fb::Region* info = program.regions()->Get(region);
      used.push_back({{"region", text_of(info->name())},
                      {"schedule", text_of(info->schedule())},
                      {"operators", origins_text(info->origins(), 8)}});
    }
    kernels.push_back({{"name", text_of(entry->name())},
                       {"module", entry->module_()},
                       {"registers", entry->registers()},
                       {"shared_bytes", entry->shared_bytes()},
                       {"stack_bytes", entry->stack_bytes()},
                       {"instructions", entry->instructions()},
                       {"calls", entry->calls()},
                       {"max_threads", entry->max_threads()},
                       {"synchronises", entry->syncs()},
                       {"regions", used}});
  }
  return {{"kernels", kernels}};
}

std::string kernels_text(const Json& view) {
  constexpr const char* kRow = "{:>4} {:>6} {:>6} {:>7} {:>5} {:>7}  {}\n";
  std::string text = fmt::format(kRow, "regs", "shared", "stack", "instrs", "calls", "threads",
                                 "kernel (--source KERNEL prints its code)");
  for (const Json& kernel : view["kernels"]) {
    text += fmt::format(kRow, kernel["registers"].get<uint32_t>(), kernel["shared_bytes"].get<uint32_t>(),
                        kernel["stack_bytes"].get<uint32_t>(), kernel["instructions"].get<uint32_t>(),
                        kernel["calls"].get<bool>() ? "yes" : "no", kernel["max_threads"].get<uint32_t>(),
                        kernel["name"].get<std::string>());
    for (const Json& region : kernel["regions"])
      text +=
          fmt::format("{:42}{}: {}\n", "", region["region"].get<std::string>(), region["operators"].get<std::string>());
  }
  return text;
}

Result<Json> source_view(const bundle::Bundle& bundle, const std::string& kernel) {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < bundle::size_or_zero(bundle.program().entries()); ++i) {
    const fb::Entry* entry = bundle.program().entries()->Get(i);
    names.push_back(text_of(entry->name()));
    if (names.back() != kernel) continue;
    const auto source = bundle.source(entry->module_());
    if (source.empty()) return usage("this bundle was made without sources (--strip)");
    return Json{{"kernel", kernel},
                {"module", entry->module_()},
                {"source", std::string(reinterpret_cast<const char*>(source.data()), source.size())}};
  }
  return unknown_name("kernel", kernel, names);
}

std::string source_text(const Json& view) { return view["source"].get<std::string>(); }

}  // namespace dlcb::cmd
