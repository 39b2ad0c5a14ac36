// Deriving where an expression in one symbol n >= 0 starts to repeat. The claim kept for each subexpression f is
//     f(n + period) = f(n) + step   for all n >= start,
// and each operator's claim follows from those of its operands; booleans are integers with step 0 in the end.
#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "shape/integer_set.h"

namespace dlcb::shape {
namespace {

struct Claim {
  int64_t start = 0, period = 1, step = 0;
};
using MaybeClaim = std::optional<Claim>;

class Analysis {
 public:
  Analysis(const sym::Store& store, sym::Expr symbol) : store_(store), symbol_(symbol) {}

  MaybeClaim claim(sym::Expr e) {
    if (auto it = known_.find(e.id); it != known_.end()) return it->second;
    MaybeClaim c = derive(e);
    const bool within = c.has_value() && c->period <= kMaxPeriod && c->start <= kMaxStart;
    return known_.emplace(e.id, within ? std::move(c) : std::nullopt).first->second;
  }

  std::optional<int64_t> at(sym::Expr e, int64_t n) const {
    return store_.evaluate(e, [&](sym::Expr s) { return s == symbol_ ? std::optional<int64_t>(n) : std::nullopt; });
  }

 private:
  MaybeClaim derive(sym::Expr e) {
    if (e == symbol_) return Claim{0, 1, 1};
    std::vector<sym::Expr> args(store_.operands(e).begin(), store_.operands(e).end());
    switch (store_.kind(e)) {
      case sym::Kind::Const:
        return Claim{};
      case sym::Kind::Sum:
        return sum(e, args);
      case sym::Kind::FloorDiv:
        return divided(args, true);
      case sym::Kind::Mod:
        return divided(args, false);
      case sym::Kind::Min:
        return extreme(args, true);
      case sym::Kind::Max:
        return extreme(args, false);
      case sym::Kind::Select:
        return select(args);
      case sym::Kind::Eq:
      case sym::Kind::Le:
      case sym::Kind::Lt:
        return compare(args[0], args[1]);
      case sym::Kind::Product:
      case sym::Kind::And:
      case sym::Kind::Or:
      case sym::Kind::Not:
        return bounded(args);
      default:
        return std::nullopt;
    }
  }

  // Claims of all operands with a common start and period, steps scaled to it.
  std::optional<std::vector<Claim>> common(std::span<const sym::Expr> args) {
    std::vector<Claim> claims;
    int64_t start = 0, period = 1;
    for (sym::Expr a : args) {
      MaybeClaim c = claim(a);
      if (!c) return std::nullopt;
      claims.push_back(*c);
      start = std::max(start, c->start);
      period = std::lcm(period, c->period);
      if (period > kMaxPeriod) return std::nullopt;
    }
    for (Claim& c : claims)
      if (__builtin_mul_overflow(c.step, period / c.period, &c.step)) return std::nullopt;
    for (Claim& c : claims) c.start = start, c.period = period;
    return claims;
  }

  MaybeClaim sum(sym::Expr e, std::span<const sym::Expr> args) {
    auto claims = common(args);
    if (!claims) return std::nullopt;
    Claim total = claims->empty() ? Claim{} : claims->front();
    total.step = 0;
    for (size_t i = 0; i < claims->size(); ++i) {
      int64_t part;
      if (__builtin_mul_overflow(store_.coefficients(e)[i], (*claims)[i].step, &part) ||
          __builtin_add_overflow(total.step, part, &total.step))
        return std::nullopt;
    }
    return total;
  }

  // Operators that map repeating operands to a repeating result.
  MaybeClaim bounded(std::span<const sym::Expr> args) {
    auto claims = common(args);
    if (!claims) return std::nullopt;
    for (const Claim& c : *claims)
      if (c.step != 0) return std::nullopt;
    return claims->empty() ? Claim{} : claims->front();
  }

  // By a literal k: once the numerator's step is a multiple of k, the quotient moves by step / k and the remainder
  // repeats.
  MaybeClaim divided(std::span<const sym::Expr> args, bool quotient) {
    auto k = store_.as_const(args[1]);
    MaybeClaim c = claim(args[0]);
    if (!c) return std::nullopt;
    if (!k || *k == 0 || *k == sym::kMin) return bounded(args);
    int64_t times = std::abs(*k) / std::gcd(c->step, *k);
    if (times > kMaxPeriod) return std::nullopt;
    int64_t step;
    if (__builtin_mul_overflow(c->step, times, &step)) return std::nullopt;
    return Claim{c->start, c->period * times, quotient ? step / *k : 0};
  }

  // From where on the sign of a - b stays what its step says it becomes, for a nonzero step.
  std::optional<int64_t> settled(sym::Expr a, sym::Expr b, const Claim& ca, const Claim& cb) {
    int64_t step;
    if (__builtin_sub_overflow(ca.step, cb.step, &step) || step == 0) return std::nullopt;
    int64_t rounds = 0;
    for (int64_t n = ca.start; n < ca.start + ca.period; ++n) {
      auto va = at(a, n), vb = at(b, n);
      int64_t gap;
      if (!va || !vb || __builtin_sub_overflow(*va, *vb, &gap) || gap == sym::kMin || step == sym::kMin)
        return std::nullopt;
      if (step < 0) gap = -gap;  // now it grows by |step| each round and must become positive
      if (gap <= 0) rounds = std::max(rounds, -gap / std::abs(step) + 1);
      if (rounds > kMaxStart) return std::nullopt;
    }
    return ca.start + rounds * ca.period;
  }

  MaybeClaim compare(sym::Expr a, sym::Expr b) {
    auto claims = common(std::vector<sym::Expr>{a, b});
    if (!claims) return std::nullopt;
    Claim c = claims->front();
    if (claims->at(0).step == claims->at(1).step) return Claim{c.start, c.period, 0};
    auto from = settled(a, b, claims->at(0), claims->at(1));
    if (!from) return std::nullopt;
    return Claim{*from, 1, 0};
  }

  MaybeClaim extreme(std::span<const sym::Expr> args, bool least) {
    auto claims = common(args);
    if (!claims) return std::nullopt;
    size_t best = 0;
    for (size_t i = 1; i < claims->size(); ++i)
      if (least ? (*claims)[i].step < (*claims)[best].step : (*claims)[i].step > (*claims)[best].step) best = i;
    Claim result = (*claims)[best];
    for (size_t i = 0; i < claims->size(); ++i) {
      if ((*claims)[i].step == (*claims)[best].step) continue;
      auto from = settled(args[best], args[i], (*claims)[best], (*claims)[i]);
      if (!from) return std::nullopt;
      result.start = std::max(result.start, *from);
    }
    return result;
  }

  MaybeClaim select(std::span<const sym::Expr> args) {
    auto claims = common(args);
    if (!claims || (*claims)[0].step != 0) return std::nullopt;
    if ((*claims)[1].step == (*claims)[2].step) return (*claims)[1];
    std::optional<bool> taken;  // differing steps: only if one side is taken for good
    for (int64_t n = (*claims)[0].start; n < (*claims)[0].start + (*claims)[0].period; ++n) {
      auto c = at(args[0], n);
      if (!c || (taken && *taken != (*c != 0))) return std::nullopt;
      taken = *c != 0;
    }
    return (*claims)[*taken ? 1 : 2];
  }

  const sym::Store& store_;
  sym::Expr symbol_;
  std::unordered_map<uint32_t, MaybeClaim> known_;
};

}  // namespace

std::optional<IntegerSet> solutions(const sym::Store& store, sym::Expr condition, sym::Expr symbol) {
  Analysis analysis(store, symbol);
  MaybeClaim c = analysis.claim(condition);
  if (!c || c->step != 0) return std::nullopt;
  std::vector<bool> bits(c->start + c->period);
  for (int64_t n = 0; n < c->start + c->period; ++n) {
    auto value = analysis.at(condition, n);
    if (!value) return std::nullopt;
    bits[n] = *value != 0;
  }
  return IntegerSet(std::move(bits), c->start, c->period);
}

}  // namespace dlcb::shape
