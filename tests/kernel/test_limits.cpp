// What must hold for 32-bit indexing where the tensors' sizes do not say it.
#include "cases.h"
#include "catch.h"

namespace dlcb::testing {

using ops::ReduceFn;
using sym::Expr;

namespace {

bool allowed(Case& c, const Sizes& sizes) {
  const auto kernel = kernel::generate(c.scalars, c.facts, c.region);
  REQUIRE(kernel);
  const auto value_of = [&](Expr symbol) -> std::optional<int64_t> {
    return sizes.at(std::string(c.sym.symbol_name(symbol)));
  };
  bool all = true;
  for (Expr limit : kernel->limits) all = all && c.sym.evaluate(limit, value_of) != 0;
  return all;
}

}  // namespace

TEST_CASE("a reduction over broadcast operands may not take 2^31 steps") {
  for (ReduceFn fn : {ReduceFn::Sum, ReduceFn::Max}) {
    Case c("broadcast");
    const Expr n = c.dim("N"), m = c.dim("M"), k = c.dim("K");
    const Expr i = c.index(n), j = c.index(m), o = c.index(k);
    const auto a = c.input(DType::F32, {n, k}), b = c.input(DType::F32, {m});
    c.output(DType::F32, {o},
             c.scalars.reduce(fn, {i, j}, c.scalars.binary(ops::Fn::Add, c.load(a, {i, o}), c.load(b, {j}))));
    CHECK(allowed(c, {{"N", 40000}, {"M", 50000}, {"K", 1}}));
    CHECK_FALSE(allowed(c, {{"N", 50000}, {"M", 50000}, {"K", 1}}));
    CHECK_FALSE(allowed(c, {{"N", (int64_t{1} << 31) - 5}, {"M", 1}, {"K", 1}}));
    CHECK(allowed(c, {{"N", 50000}, {"M", 50000}, {"K", 0}}));
  }
}

TEST_CASE("sizes that tensors bound need no further limit") {
  Case c("softmax");
  const Expr n = c.dim("N"), m = c.dim("M");
  const Expr i = c.index(n), j = c.index(m), k = c.index(m);
  const auto x = c.input(DType::F32, {n, m});
  c.output(DType::F32, {i, j},
           c.scalars.binary(ops::Fn::Sub, c.load(x, {i, j}), c.scalars.reduce(ReduceFn::Max, {k}, c.load(x, {i, k}))));
  const auto kernel = kernel::generate(c.scalars, c.facts, c.region);
  REQUIRE(kernel);
  CHECK(kernel->limits.size() == 1);
  // No element, however many rows: nothing is launched.
  const Sizes sizes{{"N", int64_t{1} << 40}, {"M", 0}};
  for (const kernel::Variant& v : kernel->variants)
    CHECK(c.sym.evaluate(v.grid[0], [&](Expr s) -> std::optional<int64_t> {
      return sizes.at(std::string(c.sym.symbol_name(s)));
    }) == 0);
  CHECK(allowed(c, sizes));
}

}  // namespace dlcb::testing
