// Nodes of the tests are numbers; node n > 0 has the operands that the test says, node 0 is a leaf.
#include "base/shared_text.h"
#include "catch.h"

using namespace dlcb;

namespace {

using Key = SharedText::Key;

// Node n is node n - 1 twice: a tree of 2^n leaves.
struct Doubling {
  size_t written = 0, characters = 0;
  SharedText texts(SharedText::Limits limits = {}) {
    auto operands = [](Key key, std::vector<Key>& out) {
      if (key > 0) out = {key - 1, key - 1};
    };
    auto write = [this](Key key, const SharedText::Operand& operand) -> SharedText::Piece {
      std::string text = key == 0 ? "leaf" : "(" + operand(key - 1).text + " + " + operand(key - 1).text + ")";
      ++written;
      characters += text.size();
      return {std::move(text), SharedText::kTightest};
    };
    return {operands, write, limits};
  }
};

}  // namespace

TEST_CASE("every node is written once, however often it is used") {
  Doubling nodes;
  SharedText shared = nodes.texts();
  CHECK(shared.text(40).empty());
  CHECK(nodes.written == 0);
  shared.close();
  CHECK(nodes.written == 41);
  CHECK(nodes.characters < 41 * 100);
  CHECK(shared.where().size() < 41 * 100);
}

TEST_CASE("what is long and used again is named, users first") {
  Doubling nodes;
  SharedText shared = nodes.texts({.shared = 8, .line = 100});
  shared.text(3);
  shared.close();
  CHECK(shared.text(3) + shared.where() == "($2 + $2) where $2 = ($1 + $1); $1 = (leaf + leaf)");
  CHECK(shared.where(10) == " where $2 = ($1 + $1); ...");
}

TEST_CASE("definitions are taken where they are first needed") {
  Doubling nodes;
  SharedText shared = nodes.texts({.shared = 8, .line = 100});
  auto make = [&] {
    std::string text;
    for (Key key : {0, 2, 2, 3}) {
      const std::string line = shared.text(key);
      text += shared.take_lets("  ") + line + "\n";
    }
    return text;
  };
  make();
  shared.close();
  CHECK(make() == "leaf\n  let $1 = (leaf + leaf)\n  let $2 = ($1 + $1)\n$2\n$2\n($2 + $2)\n");
}

TEST_CASE("a chain without sharing is cut before it is too long or too deep to be read") {
  constexpr Key kLong = 200'000;
  auto operands = [](Key key, std::vector<Key>& out) {
    if (key > 0) out = {key - 1};
  };
  size_t longest = 0;
  auto write = [&](Key key, const SharedText::Operand& operand) -> SharedText::Piece {
    std::string text = key == 0 ? "x" : "-" + operand(key - 1).text;
    longest = std::max(longest, text.size());
    return {std::move(text), 0};
  };
  SharedText shared(operands, write);
  shared.text(kLong);
  shared.close();
  CHECK(longest < 170);
  CHECK(shared.where().size() < 2 * kLong);
}
