// Exact sets of non-negative integers that are eventually periodic: from `start` on, n belongs exactly if n + period
// does. Every condition on a single dim that convolutions, pools, reshapes and resizes give rise to has such a set of
// solutions, so several conditions can be intersected exactly and said again in a few words.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sym/expr.h"

namespace dlcb::shape {

class IntegerSet {
 public:
  // bits[n] says whether n belongs, for n < start + period; period >= 1.
  IntegerSet(std::vector<bool> bits, int64_t start, int64_t period);

  bool contains(int64_t n) const;
  bool empty() const;
  bool all() const;  // every n >= 0
  std::optional<int64_t> only_value() const;
  // Nothing when the common period would be unreasonably long.
  static std::optional<IntegerSet> intersect(const IntegerSet& a, const IntegerSet& b);
  // True if every member in [domain.lo, domain.hi] of `b` is in this set.
  bool covers(const IntegerSet& b, sym::Bounds domain) const;
  bool meets(sym::Bounds domain) const;  // some member lies in the domain

  // The set as a condition on `symbol`, and the same in words ("H % 32 in {0, 29, 30, 31} or H <= 4"). Nothing when
  // that would take more than a line.
  std::optional<std::string> text(std::string_view name) const;
  std::optional<sym::Expr> condition(sym::Store& store, sym::Expr symbol) const;

  int64_t start() const { return start_; }
  int64_t period() const { return period_; }
  friend bool operator==(const IntegerSet&, const IntegerSet&) = default;

 private:
  struct Run {
    int64_t lo, hi;  // inclusive
  };
  struct Parts;
  static std::vector<Run> runs(const std::vector<bool>& bits, int64_t count);
  std::optional<Parts> parts() const;

  std::vector<bool> bits_;  // start_ + period_ of them, both as small as possible
  int64_t start_, period_;
};

constexpr int64_t kMaxPeriod = 4096, kMaxStart = 1 << 16;

// The solutions over all symbol >= 0 of a boolean expression in which `symbol` is the only free symbol. Found by
// deriving, operator by operator, from where on and with what period the expression repeats; only then is it evaluated,
// over exactly that stretch, so the result is exact and not a sample. Nothing if it is not eventually periodic (a
// product of dims) or too long.
std::optional<IntegerSet> solutions(const sym::Store& store, sym::Expr condition, sym::Expr symbol);

}  // namespace dlcb::shape
