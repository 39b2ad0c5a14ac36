// The summary in two forms; see summary.h.
#include "cmd/compile/summary.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cmd/common/units.h"

namespace dlcb::cmd {
namespace {

constexpr size_t kShownGuards = 8;  // more are a matter for dlcb-inspect --guards

std::string counted(int count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string guards_text(const CompileSummary& s) {
  if (s.guards.empty()) return "  checked  nothing: every shape of the inputs above is accepted\n";
  std::string text;
  for (size_t i = 0; i < s.guards.size() && i < kShownGuards; ++i) text += "  checked  " + s.guards[i] + "\n";
  if (s.guards.size() > kShownGuards)
    text += fmt::format("  ...      and {} more (dlcb-inspect --guards)\n", s.guards.size() - kShownGuards);
  return text;
}

std::string json_list(const std::vector<std::string>& items) {
  std::vector<std::string> quoted;
  for (const std::string& item : items) quoted.push_back(json_quote(item));
  return "[" + join(quoted, ",") + "]";
}

}  // namespace

std::string summary_text(const CompileSummary& s, const CompileOptions& options) {
  std::string text;
  if (options.stop_after.empty())
    text += fmt::format("{}: {} (weights {}, code {} for {})\n", options.output_path, bytes_text(s.bundle_bytes),
                        bytes_text(s.weight_bytes), bytes_text(s.code_bytes), join(s.targets, ", "));
  for (const std::string& line : s.inputs) text += "  input    " + line + "\n";
  for (const std::string& line : s.outputs) text += "  output   " + line + "\n";
  if (options.stop_after.empty()) {
    text += guards_text(s);
    text += fmt::format("  {} in {} ({} distinct), {}", counted(s.nodes, "operator"), counted(s.kernels, "kernel"),
                        s.entry_points, counted(s.library_calls, "library call"));
    if (s.cached_modules > 0)
      text += fmt::format("; {} of {} from the cache", s.cached_modules, counted(s.modules, "program"));
    text += "\n";
  }
  std::vector<std::string> times;
  for (const StageTime& stage : s.stages) times.push_back(stage.name + " " + seconds_text(stage.seconds));
  text += fmt::format("  {}: {}\n", seconds_text(s.total_seconds), join(times, ", "));
  return text;
}

std::string summary_json(const CompileSummary& s, const CompileOptions& options) {
  std::vector<std::string> stages;
  for (const StageTime& stage : s.stages)
    stages.push_back(fmt::format(R"({{"name":{},"seconds":{:.6f}}})", json_quote(stage.name), stage.seconds));
  return fmt::format(
      R"({{"output":{},"inputs":{},"outputs":{},"guards":{},"notes":{},"warnings":{},"targets":{},"nodes":{},"kernels":{},)"
      R"("entry_points":{},"library_calls":{},"modules":{},"cached_modules":{},"weight_bytes":{},"code_bytes":{},)"
      R"("bundle_bytes":{},"stages":[{}],"total_seconds":{:.6f}}})"
      "\n",
      json_quote(options.output_path), json_list(s.inputs), json_list(s.outputs), json_list(s.guards),
      json_list(s.notes), json_list(s.warnings), json_list(s.targets), s.nodes, s.kernels, s.entry_points,
      s.library_calls, s.modules, s.cached_modules, s.weight_bytes, s.code_bytes, s.bundle_bytes, join(stages, ","),
      s.total_seconds);
}

}  // namespace dlcb::cmd
