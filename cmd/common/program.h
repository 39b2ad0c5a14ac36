// What every program's main() does: read the flags, run the body, and turn whatever comes back, or is thrown, into
// messages and a documented exit code (docs/errors.md).
#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/common/report.h"

namespace dlcb::cmd {

struct ProgramInfo {
  std::string name;
  std::string purpose;
  std::string examples;  // shown by --help: one command a line, each with a trailing "# comment"
};

using Body = std::function<ExitCode(const Reporter&)>;

// `define` adds the flags to the parser and returns what to run once they are read. --help, --version and --diagnostics
// are added here. Mistyped flags are answered with the closest one.
int run_program(const ProgramInfo& info, int argc, char** argv, const std::function<Body(CLI::App&)>& define);

// The same for a program whose flags fill one struct.
template <class Flags>
int run_program(const ProgramInfo& info, int argc, char** argv, void (*define)(CLI::App&, Flags&),
                ExitCode (*run)(Flags&, const Reporter&)) {
  Flags flags;
  return run_program(info, argc, argv, [&](CLI::App& app) -> Body {
    define(app, flags);
    return [&](const Reporter& reporter) { return run(flags, reporter); };
  });
}

// To standard output. Failures show at the program's end.
void print(std::string_view text);

// A flag that may be repeated, one value each: it must not swallow the positional arguments that follow it.
CLI::Option* add_repeated(CLI::App& app, const std::string& flag, std::vector<std::string>& values,
                          const std::string& help);

// A usage error; `hint` may be empty.
Diagnostic usage(std::string text);
// "unknown pass 'foo' (did you mean 'fold'?)"
Diagnostic unknown_name(const std::string& what, const std::string& name, const std::vector<std::string>& known);
// The command line as a shell would need it.
std::string shell_words(const std::vector<std::string>& words);

}  // namespace dlcb::cmd
