// Where a program's messages go: diagnostics, notes and warnings to standard error, as text or one JSON object a line.
#pragma once
#include <string>
#include <string_view>

#include "base/diagnostic.h"

namespace dlcb::cmd {

class Reporter {
 public:
  explicit Reporter(bool json = false) : json_(json) {}
  bool json() const { return json_; }

  // Prints the diagnostic and returns the exit code of its kind.
  ExitCode error(const Diagnostic& d) const;
  void warning(std::string_view text) const { log("warning", text); }
  void note(std::string_view text) const { log("note", text); }
  // A fault of ours. `hint` says what was kept and how to reproduce it; may have several lines.
  ExitCode fault(std::string_view what, std::string_view hint) const;

 private:
  void log(std::string_view severity, std::string_view text) const;
  bool json_;
};

}  // namespace dlcb::cmd
