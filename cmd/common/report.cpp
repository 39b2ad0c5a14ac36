// Reporter through spdlog, which colours severities on terminals and keeps lines of threads whole; see report.h.
#include "cmd/common/report.h"

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/ansicolor_sink.h>

#include <memory>

#include "base/text.h"

namespace dlcb::cmd {
namespace {

spdlog::logger& logger() {
  static spdlog::logger instance = [] {
    spdlog::logger made("dlcb", std::make_shared<spdlog::sinks::ansicolor_stderr_sink_mt>());
    made.set_pattern("%^%v%$");
    made.flush_on(spdlog::level::trace);
    return made;
  }();
  return instance;
}

void print(spdlog::level::level_enum level, std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  logger().log(level, fmt::string_view(text.data(), text.size()));
}

}  // namespace

ExitCode Reporter::error(const Diagnostic& d) const {
  print(spdlog::level::err, json_ ? to_json(d) : to_text(d));
  return exit_code(d.kind);
}

void Reporter::log(std::string_view severity, std::string_view text) const {
  auto level = severity == "warning" ? spdlog::level::warn : spdlog::level::info;
  if (json_) {
    print(level, fmt::format(R"({{"severity":"{}","message":{}}})", severity, json_quote(text)));
  } else {
    print(level, fmt::format("{}: {}", severity, text));
  }
}

ExitCode Reporter::fault(std::string_view what, std::string_view hint) const {
  if (json_) {
    print(spdlog::level::critical,
          fmt::format(R"({{"severity":"fault","message":{},"hint":{}}})", json_quote(what), json_quote(hint)));
  } else {
    print(spdlog::level::critical, fmt::format("internal error: {}\n{}", what, hint));
  }
  return ExitCode::Internal;
}

}  // namespace dlcb::cmd
