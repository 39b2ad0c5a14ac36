// Attributes of a node, after import: sizes are integer expressions, so a slice start or a reshape target may be
// symbolic.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "sym/expr.h"

namespace dlcb::ops {

using AttrValue = std::variant<int64_t, double, std::string, DType, std::vector<int64_t>, std::vector<double>,
                               std::vector<sym::Expr>>;

// Sorted by name; small. Lookups of a missing or differently typed attribute return the fallback.
class Attrs {
 public:
  Attrs() = default;
  Attrs(std::initializer_list<std::pair<std::string, AttrValue>> list) {
    for (auto& [name, value] : list) set(name, value);
  }
  void set(std::string_view name, AttrValue value);
  const AttrValue* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  int64_t integer(std::string_view name, int64_t fallback = 0) const;
  double real(std::string_view name, double fallback = 0) const;  // accepts an integer too
  std::string text(std::string_view name, std::string_view fallback = "") const;
  DType dtype(std::string_view name, DType fallback = DType::F32) const;
  std::vector<int64_t> integers(std::string_view name) const;  // empty if missing
  std::vector<double> reals(std::string_view name) const;      // empty if missing
  std::vector<sym::Expr> exprs(std::string_view name) const;   // empty if missing
  const std::vector<std::pair<std::string, AttrValue>>& all() const { return items_; }
  friend bool operator==(const Attrs&, const Attrs&) = default;

 private:
  std::vector<std::pair<std::string, AttrValue>> items_;
};

}  // namespace dlcb::ops
