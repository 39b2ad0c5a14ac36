// The order in which operands of sums, products, min, max, and, or are kept. It looks at content only (kinds, names,
// constants), never at ids, so the same expression is written the same way in every run.
#include "sym/store_impl.h"

namespace dlcb::sym {
namespace {
int sign(bool less) { return less ? -1 : 1; }
}  // namespace

int Store::Impl::compare(Expr a, Expr b) const {
  if (a == b) return 0;
  const Node &x = node(a), &y = node(b);
  if (x.kind != y.kind) return sign(x.kind < y.kind);
  if (x.kind == Kind::Symbol) {  // names are unique in a store
    return sign(symbols[static_cast<size_t>(x.value)].name < symbols[static_cast<size_t>(y.value)].name);
  }
  if (x.count != y.count) return sign(x.count < y.count);
  auto xs = operands(a), ys = operands(b);
  for (size_t i = 0; i < xs.size(); i++) {
    if (int c = compare(xs[i], ys[i])) return c;
  }
  if (x.kind == Kind::Sum) {
    auto xc = coefficients(a), yc = coefficients(b);
    for (size_t i = 0; i < xc.size(); i++) {
      if (xc[i] != yc[i]) return sign(xc[i] < yc[i]);
    }
  }
  if (x.value != y.value) return sign(x.value < y.value);
  return sign(x.opaque < y.opaque);
}

std::span<const Expr> Store::Impl::factors(const Expr& mono) const {
  const Node& n = node(mono);
  return n.kind == Kind::Product && !n.opaque ? operands(mono) : std::span<const Expr>(&mono, 1);
}

int Store::Impl::compare_terms(Expr a, Expr b) const {
  if (a == b) return 0;
  auto x = factors(a), y = factors(b);
  if (x.size() != y.size()) return sign(x.size() > y.size());
  for (size_t i = 0; i < x.size(); i++) {
    if (int c = compare(x[i], y[i])) return c;
  }
  return 0;
}

}  // namespace dlcb::sym
