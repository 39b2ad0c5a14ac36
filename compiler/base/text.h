// Small text operations that messages and parsers share.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dlcb {

std::string join(std::span<const std::string> parts, std::string_view separator);
// Empty parts are kept: split("a,,b", ',') has three parts, split("", ',') one.
std::vector<std::string> split(std::string_view text, char separator);
// Without leading and trailing blanks, tabs and line ends.
std::string_view trim(std::string_view text);
// 'text', with quotes, backslashes and control characters escaped, so that a hostile name cannot garble a terminal.
std::string quote(std::string_view text);
// The text between two `mark`s, in the way that the compiler's text forms quote names: on one line, read back exactly
// by unescaped() of what lies between the marks.
std::string escaped(std::string_view text, char mark);
std::string unescaped(std::string_view text);
// A JSON string literal with its quotes. Bytes that are not UTF-8 become U+FFFD, so the result is always valid JSON.
std::string json_quote(std::string_view text);

// Fewest insertions, deletions, replacements and swaps of neighbours that turn a into b.
size_t edit_distance(std::string_view a, std::string_view b);
// The candidate that `name` was probably meant to be, or nothing if none is near (a third of the length, at least one).
std::optional<std::string> closest(std::string_view name, std::span<const std::string> candidates);
// "unknown pass 'foo' (did you mean 'fold'?)"
std::string unknown(std::string_view what, std::string_view name, std::span<const std::string> known);

}  // namespace dlcb
