#include "shape/integer_set.h"

#include <algorithm>
#include <numeric>

namespace dlcb::shape {

IntegerSet::IntegerSet(std::vector<bool> bits, int64_t start, int64_t period)
    : bits_(std::move(bits)), start_(start), period_(period) {
  DLCB_CHECK(period >= 1 && static_cast<int64_t>(bits_.size()) == start + period, "a set needs start + period bits");
  for (int64_t shorter = 1; shorter < period_; ++shorter) {
    if (period_ % shorter) continue;
    bool repeats = true;
    for (int64_t n = start_; repeats && n + shorter < start_ + period_; ++n) repeats = bits_[n] == bits_[n + shorter];
    if (repeats) {
      period_ = shorter;
      break;
    }
  }
  while (start_ > 0 && bits_[start_ - 1] == bits_[start_ - 1 + period_]) --start_;
  bits_.resize(start_ + period_);
}

bool IntegerSet::contains(int64_t n) const {
  if (n < 0) return false;
  return n < start_ ? bits_[n] : bits_[start_ + (n - start_) % period_];
}

bool IntegerSet::empty() const { return start_ == 0 && period_ == 1 && !bits_[0]; }
bool IntegerSet::all() const { return start_ == 0 && period_ == 1 && bits_[0]; }

std::optional<int64_t> IntegerSet::only_value() const {
  if (period_ != 1 || bits_[start_]) return std::nullopt;
  if (std::count(bits_.begin(), bits_.end(), true) != 1) return std::nullopt;
  return std::find(bits_.begin(), bits_.end(), true) - bits_.begin();
}

std::optional<IntegerSet> IntegerSet::intersect(const IntegerSet& a, const IntegerSet& b) {
  int64_t period = std::lcm(a.period_, b.period_), start = std::max(a.start_, b.start_);
  if (period > kMaxPeriod) return std::nullopt;
  std::vector<bool> bits(start + period);
  for (int64_t n = 0; n < start + period; ++n) bits[n] = a.contains(n) && b.contains(n);
  return IntegerSet(std::move(bits), start, period);
}

bool IntegerSet::covers(const IntegerSet& b, sym::Bounds domain) const {
  int64_t lo = std::max<int64_t>(domain.lo, 0);
  // Both repeat from `from` on, so one common period beyond it shows every case there is.
  int64_t from = std::max({lo, start_, b.start_});
  int64_t last = from + std::lcm(period_, b.period_) - 1;
  for (int64_t n = lo; n <= std::min(last, domain.hi); ++n)
    if (b.contains(n) && !contains(n)) return false;
  return true;
}

bool IntegerSet::meets(sym::Bounds domain) const {
  int64_t lo = std::max<int64_t>(domain.lo, 0);
  int64_t last = std::max(lo, start_) + period_ - 1;
  for (int64_t n = lo; n <= std::min(last, domain.hi); ++n)
    if (contains(n)) return true;
  return false;
}

// The set is (n in pattern, n >= from) or n in one of `extra`. pattern: residues mod period_, empty when none repeats.
struct IntegerSet::Parts {
  std::vector<Run> residues, extra;
  int64_t from = 0;
};

std::vector<IntegerSet::Run> IntegerSet::runs(const std::vector<bool>& bits, int64_t count) {
  std::vector<Run> result;
  for (int64_t n = 0; n < count; ++n) {
    if (!bits[n]) continue;
    if (!result.empty() && result.back().hi == n - 1)
      result.back().hi = n;
    else
      result.push_back({n, n});
  }
  return result;
}

std::optional<IntegerSet::Parts> IntegerSet::parts() const {
  constexpr size_t kMaxRuns = 8;
  std::vector<bool> residues(period_);
  for (int64_t i = 0; i < period_; ++i) residues[(start_ + i) % period_] = bits_[start_ + i];
  Parts p;
  p.residues = runs(residues, period_);
  if (!p.residues.empty())
    for (int64_t n = 0; n < start_; ++n)
      if (!bits_[n] && residues[n % period_]) p.from = n + 1;
  std::vector<bool> extra(start_);
  for (int64_t n = 0; n < start_; ++n) extra[n] = bits_[n] && (n < p.from || !residues[n % period_]);
  p.extra = runs(extra, start_);
  if (p.residues.size() > kMaxRuns || p.extra.size() > kMaxRuns) return std::nullopt;
  return p;
}

std::optional<std::string> IntegerSet::text(std::string_view name_view) const {
  auto p = parts();
  if (!p) return std::nullopt;
  std::string name(name_view);
  auto number = [](int64_t n) { return std::to_string(n); };
  auto list = [&](const std::vector<Run>& runs) {  // "in {0, 29, 30, 31}", "== 3"
    if (runs.size() == 1 && runs[0].lo == runs[0].hi) return " == " + number(runs[0].lo);
    std::string text;
    for (const Run& r : runs) {
      if (r.hi - r.lo >= 3) {
        text += (text.empty() ? "" : ", ") + number(r.lo) + ".." + number(r.hi);
        continue;
      }
      for (int64_t n = r.lo; n <= r.hi; ++n) text += (text.empty() ? "" : ", ") + number(n);
    }
    return " in {" + text + "}";
  };
  std::string text;
  auto also = [&](std::string part) { text += (text.empty() ? "" : " or ") + part; };
  std::string at_least = p->from > 0 ? name + " >= " + number(p->from) : "";
  if (!p->residues.empty()) {
    if (period_ == 1) {
      if (!at_least.empty())
        also(at_least);
      else
        return name + " >= 0";
    } else {
      std::string pattern = name + " % " + number(period_) + list(p->residues);
      if (!at_least.empty()) pattern += " and " + at_least;
      also(!at_least.empty() && !p->extra.empty() ? "(" + pattern + ")" : pattern);
    }
  }
  std::vector<Run> single = p->extra;
  if (!single.empty() && single[0].lo == 0 && single[0].hi > 0) {
    also(name + " <= " + number(single[0].hi));
    single.erase(single.begin());
  }
  if (single.size() == 1 && single[0].hi - single[0].lo >= 2)
    also(number(single[0].lo) + " <= " + name + " <= " + number(single[0].hi));
  else if (!single.empty())
    also(name + list(single));
  return text.empty() ? std::optional<std::string>("false") : text;
}

std::optional<sym::Expr> IntegerSet::condition(sym::Store& store, sym::Expr symbol) const {
  auto p = parts();
  if (!p) return std::nullopt;
  auto within = [&](sym::Expr e, const Run& r, int64_t least, int64_t most) {
    if (r.lo == r.hi) return store.eq(e, store.constant(r.lo));
    sym::Expr above = r.lo <= least ? store.constant(1) : store.le(store.constant(r.lo), e);
    sym::Expr below = r.hi >= most ? store.constant(1) : store.le(e, store.constant(r.hi));
    return store.logical_and(above, below);
  };
  sym::Expr residue = store.mod(symbol, store.constant(period_));
  sym::Expr pattern = store.constant(0);
  for (const Run& r : p->residues)
    pattern = store.logical_or(pattern, period_ == 1 ? store.constant(1) : within(residue, r, 0, period_ - 1));
  pattern = store.logical_and(pattern, store.le(store.constant(p->from), symbol));
  for (const Run& r : p->extra) pattern = store.logical_or(pattern, within(symbol, r, 0, sym::kMax));
  return pattern;
}

}  // namespace dlcb::shape
