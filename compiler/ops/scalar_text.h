// Texts of scalar expressions, and of the integer expressions beside them, with what they share named once.
#pragma once
#include <functional>
#include <string>

#include "base/shared_text.h"
#include "ops/scalar.h"

namespace dlcb::ops {

// Like SharedText, a text is made twice: before close(), text() takes note; afterwards it gives what to write.
class ScalarTexts {
 public:
  ScalarTexts(const ScalarStore& store, std::function<std::string(ValueId)> name_of);
  ScalarTexts(const ScalarTexts&) = delete;  // the parts of `shared_` point here
  ScalarTexts& operator=(const ScalarTexts&) = delete;

  const std::string& text(Scalar s);
  const std::string& text(sym::Expr e);
  void close() { shared_.close(); }
  std::string take_lets(std::string_view indent) { return shared_.take_lets(indent); }
  std::string where() const { return shared_.where(); }

 private:
  using Piece = SharedText::Piece;
  using Key = SharedText::Key;
  void operands(Key key, std::vector<Key>& out) const;
  void operands(const ScalarNode& n, std::vector<Key>& out) const;
  Piece write(Key key, const SharedText::Operand& operand) const;
  Piece write(const ScalarNode& n, const SharedText::Operand& operand) const;
  Piece write_binary(const ScalarNode& n, const SharedText::Operand& operand) const;
  Piece write_reduce(const ScalarNode& n, const SharedText::Operand& operand) const;

  const ScalarStore& store_;
  std::function<std::string(ValueId)> name_of_;
  SharedText shared_;
};

}  // namespace dlcb::ops
