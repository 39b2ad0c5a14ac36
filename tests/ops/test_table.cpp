// docs/operators.md lists the table, no more and no less.
#include <sstream>

#include "base/file.h"
#include "catch.h"
#include "ops/op.h"

using namespace dlcb;
using namespace dlcb::ops;

namespace {
// The document as it should be, made from the table.
std::string document() {
  std::ostringstream out;
  out << "# Operators\nEvery operator is declared once, in `compiler/ops/table/`; this page is made from the "
         "declarations and a test keeps it equal\n"
         "to them. All operands are tensors; sizes are attributes of type `exprs` (integer expressions). `?` marks "
         "what is optional, with its\n"
         "fallback. The notation is described in [notation.md](notation.md).\n";
  for (const OpDef& o : all_ops()) {
    out << "\n## " << o.name << "(" << o.operands << ")\n" << o.doc << "\n";
    for (const AttrSpec& a : o.attrs) {
      out << "- `" << a.name << "`: " << a.type;
      if (!a.fallback.empty()) out << " = " << a.fallback;
      if (!a.doc.empty()) out << ", " << a.doc;
      out << "\n";
    }
    if (!o.text.empty())
      out << "\n      " << o.text << "\n";
    else
      out << (o.kind == OpKind::Expands ? "\nAn expansion.\n" : "\nDefined by the C++ builder.\n");
  }
  return out.str();
}
}  // namespace

TEST_CASE("docs/operators.md is the table") {
  const auto text = read_file("../docs/operators.md");
  REQUIRE(text);
  const std::string expected = document();
  if (*text != expected) REQUIRE(write_file("../docs/operators.md.expected", expected));  // to be moved over it
  CHECK(*text == expected);
}
