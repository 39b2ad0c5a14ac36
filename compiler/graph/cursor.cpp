#include "graph/cursor.h"

#include <charconv>

#include "base/text.h"

namespace dlcb::graph {
namespace {

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

// The length of the quoted stretch that starts at text[0], both quote marks included; npos if it never ends.
size_t quoted_length(std::string_view text) {
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == text[0]) {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

}  // namespace

void Cursor::skip_blanks() {
  while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\t')) rest_.remove_prefix(1);
}

bool Cursor::at_end() {
  skip_blanks();
  return rest_.empty();
}

bool Cursor::peek(std::string_view token) {
  skip_blanks();
  if (failed() || !rest_.starts_with(token)) return false;
  return !is_word(token.back()) || rest_.size() == token.size() || !is_word(rest_[token.size()]);
}

bool Cursor::accept(std::string_view token) {
  if (!peek(token)) return false;
  rest_.remove_prefix(token.size());
  return true;
}

void Cursor::expect(std::string_view token) {
  if (!accept(token)) fail("expected '" + std::string(token) + "' before '" + std::string(rest_.substr(0, 20)) + "'");
}

std::string_view Cursor::word() {
  skip_blanks();
  size_t n = 0;
  while (n < rest_.size() && is_word(rest_[n])) ++n;
  if (n == 0) fail("expected a word before '" + std::string(rest_.substr(0, 20)) + "'");
  std::string_view result = failed() ? std::string_view() : rest_.substr(0, n);
  rest_.remove_prefix(n);
  return result;
}

std::string Cursor::value_name() {
  expect("%");
  if (failed()) return "";
  if (rest_.starts_with("\"")) return string();
  size_t n = 0;
  while (n < rest_.size() && (is_word(rest_[n]) || rest_[n] == '.' || rest_[n] == '/' || rest_[n] == '-')) ++n;
  if (n == 0) fail("expected a name after '%'");
  std::string result(rest_.substr(0, n));
  rest_.remove_prefix(n);
  return result;
}

std::string Cursor::string() {
  skip_blanks();
  size_t length = rest_.starts_with("\"") ? quoted_length(rest_) : std::string_view::npos;
  if (length == std::string_view::npos)
    fail("expected a quoted string before '" + std::string(rest_.substr(0, 20)) + "'");
  if (failed()) return "";
  std::string out = unescaped(rest_.substr(1, length - 2));
  rest_.remove_prefix(length);
  return out;
}

int64_t Cursor::integer() {
  skip_blanks();
  int64_t value = 0;
  auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
  if (error != std::errc())
    fail("expected an integer before '" + std::string(rest_.substr(0, 20)) + "'");
  else
    rest_.remove_prefix(end - rest_.data());
  return value;
}

std::string_view Cursor::number() {
  skip_blanks();
  std::string_view result = rest_.substr(0, rest_.find_first_of(" ,])}"));
  if (result.empty()) fail("expected a number");
  rest_.remove_prefix(result.size());
  return result;
}

std::string Cursor::symbol() {
  skip_blanks();
  size_t n = 0;
  if (!rest_.starts_with("`")) {
    while (n < rest_.size() && (is_word(rest_[n]) || rest_[n] == '.')) ++n;
    if (n == 0) fail("expected a symbol before '" + std::string(rest_.substr(0, 20)) + "'");
    std::string result(rest_.substr(0, n));
    rest_.remove_prefix(n);
    return result;
  }
  n = quoted_length(rest_);
  if (n == std::string_view::npos) {
    fail("a backquoted name does not end");
    return "";
  }
  std::string out = unescaped(rest_.substr(1, n - 2));
  rest_.remove_prefix(n);
  return out;
}

std::string_view Cursor::until_closing() {
  int depth = 0;
  for (size_t i = 0; i < rest_.size(); ++i) {
    char c = rest_[i];
    if (c == '`' || c == '"') {
      size_t length = quoted_length(rest_.substr(i));
      if (length == std::string_view::npos) break;
      i += length - 1;
    } else if (c == '(' || c == '[') {
      ++depth;
    } else if ((c == ')' || c == ']') && depth-- == 0) {
      std::string_view result = rest_.substr(0, i);
      rest_.remove_prefix(i + 1);
      return result;
    }
  }
  fail("a bracket is not closed");
  return "";
}

std::string_view Cursor::until(std::string_view token) {
  skip_blanks();
  size_t end = rest_.size();
  for (size_t i = 0; i < rest_.size(); ++i) {
    if (rest_[i] == '`' || rest_[i] == '"') {
      size_t length = quoted_length(rest_.substr(i));
      if (length == std::string_view::npos) break;
      i += length - 1;
    } else if (rest_[i] == ' ' && rest_.substr(i + 1).starts_with(token)) {
      end = i;
      break;
    }
  }
  std::string_view result = rest_.substr(0, end);
  rest_.remove_prefix(end);
  return result;
}

void Cursor::fail(std::string message) {
  if (!error_) error_ = std::move(message);
}

}  // namespace dlcb::graph
