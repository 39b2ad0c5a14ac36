#include "base/shared_text.h"

#include "base/diagnostic.h"

namespace dlcb {

const std::string& SharedText::text(Key key) {
  static const std::string kNothingYet;
  if (!closed_) {
    roots_.push_back(key);
    return kNothingYet;
  }
  const auto node = nodes_.find(key);
  DLCB_CHECK(node != nodes_.end(), "a text has a part that its first making did not have");
  reached_ = std::max(reached_, node->second.defined);
  return node->second.piece.text;
}

void SharedText::close() {
  for (Key root : roots_) list(root);
  closed_ = true;
  for (Key key : order_) write(key);
}

// Lists what was not yet reached, operands first. With a stack of its own: chains may be longer than the machine's.
void SharedText::list(Key root) {
  struct Visit {
    Key key;
    std::vector<Key> operands;
    size_t next = 0;
  };
  std::vector<Visit> open;
  auto reach = [&](Key key) {
    Node& node = nodes_[key];
    if (node.uses++ > 0) return;
    open.push_back({key, {}});
    operands_(key, open.back().operands);
    node.leaf = open.back().operands.empty();
  };
  reach(root);
  while (!open.empty()) {
    Visit& visit = open.back();
    if (visit.next < visit.operands.size()) {
      const Key operand = visit.operands[visit.next++];
      ++nodes_[operand].operand_uses;
      reach(operand);
    } else {
      order_.push_back(visit.key);
      open.pop_back();
    }
  }
}

void SharedText::write(Key key) {
  Piece piece = write_(key, [this](Key operand) -> const Piece& { return nodes_.at(operand).piece; });
  Node& node = nodes_.at(key);
  const size_t size = node.leaf ? 0 : piece.text.size();
  if ((node.uses > 1 && size > limits_.shared) || (node.operand_uses > 0 && size > limits_.line)) {
    const std::string name = "$" + std::to_string(definitions_.size() + 1);
    definitions_.push_back({name, std::move(piece.text)});
    piece = {name, kTightest};
  }
  node.piece = std::move(piece);
  node.defined = definitions_.size();
}

std::string SharedText::take_lets(std::string_view indent) {
  std::string text;
  for (; taken_ < reached_; ++taken_)
    text += std::string(indent) + "let " + definitions_[taken_].name + " = " + definitions_[taken_].text + "\n";
  return text;
}

std::string SharedText::where(size_t limit) const {
  std::string text;
  for (size_t i = definitions_.size(); i-- > 0;) {
    text += text.empty() ? " where " : "; ";
    if (text.size() > limit) return text + "...";
    text += definitions_[i].name + " = " + definitions_[i].text;
  }
  return text;
}

}  // namespace dlcb
