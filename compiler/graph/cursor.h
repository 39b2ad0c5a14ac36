// Reading one line of a graph's text: tokens, quoted strings, and stretches of expression text that end at a bracket or
// a keyword. The first failure is kept; every later read then returns something empty.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dlcb::graph {

class Cursor {
 public:
  explicit Cursor(std::string_view line) : rest_(line) {}

  void skip_blanks();
  bool at_end();
  bool accept(std::string_view token);  // a word is taken only where it ends
  void expect(std::string_view token);
  bool peek(std::string_view token);
  std::string_view word();   // [A-Za-z0-9_]+
  std::string value_name();  // %x or %"x", without the marks
  std::string string();      // "..."
  int64_t integer();
  std::string_view number();  // up to a blank, comma or closing bracket
  // A symbol's name: an identifier with dots, or a backquoted name, which is returned without quotes and escapes.
  std::string symbol();
  // After an opening bracket: up to the matching closing one, which is consumed. Brackets in backquotes do not count.
  std::string_view until_closing();
  // Up to ` token`, outside backquotes and quotes (not consumed), or the end of the line.
  std::string_view until(std::string_view token);

  void fail(std::string message);
  bool failed() const { return error_.has_value(); }
  const std::string& error() const { return *error_; }

 private:
  std::string_view rest_;
  std::optional<std::string> error_;
};

}  // namespace dlcb::graph
