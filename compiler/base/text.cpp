// Text operations; see text.h.
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace dlcb {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// The text between two marks; backslashes before marks and backslashes, control characters as codes.
std::string between(std::string_view text, char mark, std::string_view new_line) {
  std::string out(1, mark);
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == mark || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += new_line;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + mark;
}

// Length of the well-formed UTF-8 sequence at the start of text, 0 if there is none.
size_t utf8_length(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned char first = byte(0);
  if (first < 0x80) return 1;
  size_t length = first >= 0xc2 && first < 0xe0   ? 2
                  : first >= 0xe0 && first < 0xf0 ? 3
                  : first >= 0xf0 && first < 0xf5 ? 4
                                                  : 0;
  if (length == 0 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  bool overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  bool outside = (first == 0xed && byte(1) >= 0xa0) || (first == 0xf4 && byte(1) >= 0x90);
  return overlong || outside ? 0 : length;
}

}  // namespace

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += separator;
    text += parts[i];
  }
  return text;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (size_t start = 0;;) {
    size_t end = text.find(separator, start);
    parts.emplace_back(text.substr(start, end - start));
    if (end == std::string_view::npos) return parts;
    start = end + 1;
  }
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string quote(std::string_view text) { return between(text, '\'', "\\x0a"); }

std::string escaped(std::string_view text, char mark) { return between(text, mark, "\\n"); }

std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '\\' && i + 1 < text.size()) {
      c = text[++i];
      int high = -1, low = -1;
      if (c == 'n') {
        c = '\n';
      } else if (c == 'x' && i + 2 < text.size() && (high = hex_digit(text[i + 1])) >= 0 &&
                 (low = hex_digit(text[i + 2])) >= 0) {
        c = static_cast<char>(high * 16 + low);
        i += 2;
      }
    }
    out += c;
  }
  return out;
}

std::string json_quote(std::string_view text) {
  std::string quoted = "\"";
  for (size_t i = 0; i < text.size();) {
    size_t length = utf8_length(text.substr(i));
    if (length == 0) {
      quoted += "\\ufffd";
      ++i;
      continue;
    }
    char c = text[i];
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '\n') {
      quoted += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      quoted += text.substr(i, length);
    }
    i += length;
  }
  return quoted + "\"";
}

size_t edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the usual table: the one before the last is needed for swaps of neighbours.
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

std::optional<std::string> closest(std::string_view name, std::span<const std::string> candidates) {
  size_t best = std::max<size_t>(1, name.size() / 3) + 1;
  std::optional<std::string> found;
  for (const std::string& candidate : candidates) {
    size_t distance = edit_distance(name, candidate);
    if (distance >= best) continue;
    best = distance;
    found = candidate;
  }
  return found;
}

std::string unknown(std::string_view what, std::string_view name, std::span<const std::string> known) {
  std::string text = fmt::format("unknown {} {}", what, quote(name));
  if (const auto near = closest(name, known)) text += fmt::format(" (did you mean {}?)", quote(*near));
  return text;
}

}  // namespace dlcb
