// Flag parsing and the last line of defence of all programs; see program.h.
#include "cmd/common/program.h"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <new>

#include "base/text.h"
#include "cmd/common/signals.h"
#include "compiler/pipeline.h"

namespace dlcb::cmd {
namespace {

// Usage errors must already come out as asked for, so this flag is looked for before the parser runs.
bool wants_json(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    std::string_view arg = argv[i];
    if (arg == "--diagnostics=json") return true;
    if (arg == "--diagnostics" && i + 1 < argc && std::string_view(argv[i + 1]) == "json") return true;
  }
  return false;
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
    for (const std::string& name : option->get_snames()) flags.push_back("-" + name);
  }
  return flags;
}

// The parser complains of what is missing before what is unknown; but "--ouput x" is both, and only the latter helps.
Diagnostic describe(const CLI::App& app, const CLI::ParseError& error) {
  for (const std::string& extra : app.remaining())
    if (extra.size() > 1 && extra[0] == '-') {
      return unknown_name("flag", extra.substr(0, extra.find('=')), flags_of(app));
    }
  if (auto extras = app.remaining(); !extras.empty()) return usage("unexpected argument " + quote(extras.front()));
  std::string text = error.what();
  if (size_t line = text.find('\n'); line != std::string::npos) text.resize(line);
  return usage(text);
}

std::string restart_hint(const CompileFault& fault, const std::string& program) {
  return fmt::format("the form before pass {0} is in {1}; reproduce with:\n  {2} {1} --start-at={0} -o {1}.dlcb",
                     fault.restart, fault.ir_path, program);
}

ExitCode run_guarded(const ProgramInfo& info, const std::vector<std::string>& words, const Reporter& reporter,
                     const Body& body) {
  std::string again = "reproduce with:\n  " + shell_words(words);
  try {
    return body(reporter);
  } catch (const CompileFault& fault) {
    return reporter.fault(fmt::format("{} (pass {}, {}:{})", fault.message, fault.pass, fault.file, fault.line),
                          fault.ir_path.empty() ? again : restart_hint(fault, info.name));
  } catch (const InternalError& fault) {
    return reporter.fault(fmt::format("{} ({}:{})", fault.message, fault.file, fault.line), again);
  } catch (const std::bad_alloc&) {
    return reporter.error(diag(DiagKind::OutOfMemory, {}));
  } catch (const std::exception& fault) {
    return reporter.fault(fault.what(), again);
  }
}

}  // namespace

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

Diagnostic usage(std::string text) { return diag(DiagKind::BadFlag, {std::move(text)}); }

Diagnostic unknown_name(const std::string& what, const std::string& name, const std::vector<std::string>& known) {
  return usage(unknown(what, name, known));
}

std::string shell_words(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  for (const std::string& word : words) {
    bool plain = !word.empty() && word.find_first_of(" \t\n'\"\\$`!*?[](){}<>|&;#~") == std::string::npos;
    std::string text = plain ? word : "'";
    if (!plain) {
      for (char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
      text += "'";
    }
    quoted.push_back(std::move(text));
  }
  return join(quoted, " ");
}

CLI::Option* add_repeated(CLI::App& app, const std::string& flag, std::vector<std::string>& values,
                          const std::string& help) {
  return app.add_option(flag, values, help)->allow_extra_args(false);
}

int run_program(const ProgramInfo& info, int argc, char** argv, const std::function<Body(CLI::App&)>& define) {
  watch_signals();
  CLI::App app(info.purpose, info.name);
  app.footer("Examples:\n" + info.examples);
  app.set_version_flag("--version", info.name + " " DLCB_VERSION, "print the version");
  std::string diagnostics = "text";
  app.add_option("--diagnostics", diagnostics, "how errors are printed: text or json (one object a line)")
      ->check(CLI::IsMember({"text", "json"}));
  Reporter reporter(wants_json(argc, argv));
  Body body = define(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help_or_version) {
    return app.exit(help_or_version);
  } catch (const CLI::ParseError& error) {
    return static_cast<int>(reporter.error(describe(app, error)));
  }
  std::vector<std::string> words(argv, argv + argc);
  ExitCode code = run_guarded(info, words, reporter, body);
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
    reporter.error(diag(DiagKind::CannotWrite, {"standard output", "write failed"}));
    if (code == ExitCode::Ok) code = ExitCode::Usage;
  }
  return static_cast<int>(code);
}

}  // namespace dlcb::cmd
