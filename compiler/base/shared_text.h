// Texts of nodes that share operands. Written out as a tree, a chain of 40 sizes each of which mentions the one before
// twice has 2^40 leaves. Here every node is written once: one that is long and used again gets a name, $1, $2, ..., and
// so does one that would make its user's text long or deep. Work and text are linear in the edges between the nodes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace dlcb {

class SharedText {
 public:
  using Key = uint64_t;
  struct Piece {
    std::string text;
    int level = 0;  // how tightly the text binds: an operand that binds less tightly than its place asks is bracketed
  };
  static constexpr int kTightest = 1 << 20;  // of a name

  struct Limits {
    size_t shared = 40;  // a node that is used again is named if its text is longer
    size_t line = 160;   // an operand is named if its text is longer, so a text nests no deeper than this either
  };
  using Operand = std::function<const Piece&(Key)>;
  // Appends the operands of a node, as often as its text holds them.
  using Operands = std::function<void(Key, std::vector<Key>&)>;
  // Writes a node around its operands' texts.
  using Write = std::function<Piece(Key, const Operand&)>;

  SharedText(Operands operands, Write write) : SharedText(std::move(operands), std::move(write), Limits{}) {}
  SharedText(Operands operands, Write write, Limits limits)
      : operands_(std::move(operands)), write_(std::move(write)), limits_(limits) {}

  // Who is used how often must be known before anything is written, so a text is made twice: the first time text()
  // only takes note and returns nothing; after close() it gives what stands for the node.
  const std::string& text(Key node);
  void close();
  bool closed() const { return closed_; }

  struct Definition {
    std::string name, text;
  };
  // Operands before their users.
  const std::vector<Definition>& definitions() const { return definitions_; }
  // A line "let $1 = ..." for each definition that the texts given out so far need and that no earlier call returned.
  std::string take_lets(std::string_view indent);
  // " where $2 = ...; $1 = ...", users first, or nothing; definitions beyond `limit` characters are left out as "...".
  std::string where(size_t limit = SIZE_MAX) const;

 private:
  struct Node {
    uint32_t uses = 0, operand_uses = 0;  // in all, and by other nodes
    bool leaf = false;                    // has no operands, and so never a name
    size_t defined = 0;                   // definitions that its text may need are before this one
    Piece piece;                          // its name where it has one
  };
  void list(Key root);
  void write(Key key);

  Operands operands_;
  Write write_;
  Limits limits_;
  bool closed_ = false;
  std::unordered_map<Key, Node> nodes_;
  std::vector<Key> roots_, order_;  // operands first
  std::vector<Definition> definitions_;
  size_t reached_ = 0, taken_ = 0;  // definitions that are needed; that take_lets() returned
};

}  // namespace dlcb
