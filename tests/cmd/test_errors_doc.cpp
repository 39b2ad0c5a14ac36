// docs/errors.md lists every diagnostic: its table is this test's, and DLCB_REBASE=1 rewrites it.
#include <cstdlib>
#include <string>

#include "base/file.h"
#include "catch.h"

using namespace dlcb;

namespace {

std::string escaped(std::string_view text) {
  std::string result;
  for (char c : text) result += c == '|' ? std::string("\\|") : std::string(1, c);
  return result;
}

std::string expected_table() {
  std::string table = "| code | kind | exit | message |\n| --- | --- | --- | --- |\n";
#define DIAG(code, name, exit, text)                                                                      \
  table += "| DLCB" #code " | " #name " | " + std::to_string(static_cast<int>(ExitCode::exit)) + " | `" + \
           escaped(text) + "` |\n";
#include "base/diagnostics.def"
#undef DIAG
  return table;
}

}  // namespace

TEST_CASE("docs/errors.md lists every diagnostic") {
  const std::string path = "../docs/errors.md", begin = "<!-- diagnostics.def -->\n", end = "<!-- end -->";
  auto file = read_file(path);
  REQUIRE(file);
  size_t from = file->find(begin), to = file->find(end);
  REQUIRE(from != std::string::npos);
  REQUIRE(to != std::string::npos);
  from += begin.size();
  if (std::getenv("DLCB_REBASE") != nullptr)
    REQUIRE(write_file(path, file->substr(0, from) + expected_table() + file->substr(to)));
  else
    CHECK(file->substr(from, to - from) == expected_table());
}
