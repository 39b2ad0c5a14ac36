// Interning, binders, substitution and inlining of scalar expressions.
#include "catch.h"
#include "ops/arithmetic.h"
#include "ops/scalar.h"

using namespace dlcb;
using namespace dlcb::ops;

namespace {
struct Fixture {
  sym::Store s;
  ScalarStore sc{s};
  sym::Expr n = s.symbol("N", sym::SymbolKind::Dim), m = s.symbol("M", sym::SymbolKind::Dim);
  sym::Expr i = s.index("i", n), j = s.index("j", m);
  ValueId x{0}, y{1}, ids{2};
  std::string text(Scalar v) {
    return print(sc, v, [](ValueId id) { return std::string(1, "xyz"[id.id]); });
  }
  Scalar sum(sym::Expr k, Scalar body) { return sc.reduce(ReduceFn::Sum, {k}, body); }
};
}  // namespace

TEST_CASE_METHOD(Fixture, "reductions that differ in bound names are one node") {
  auto make = [&](const char* hint) {
    const sym::Expr k = s.index(hint, m);
    return sum(k, sc.load(DType::F32, x, {i, k}));
  };
  CHECK(make("a") == make("b"));
  auto nested = [&](const char* p, const char* q) {
    const sym::Expr a = s.index(p, m), b = s.index(q, m);
    return sum(a, sc.binary(Fn::Mul, sc.load(DType::F32, y, {a}), sum(b, sc.load(DType::F32, x, {a, b}))));
  };
  CHECK(nested("a", "b") == nested("c", "d"));
  CHECK(text(nested("e", "f")) == "sum[l0 < M](y[l0] * sum[k0 < M](x[l0, k0]))");
}

TEST_CASE_METHOD(Fixture, "inlining a reduction into a reduction does not capture") {
  // t[i] = sum_k x[i, k];  u = sum_k t[k]
  const sym::Expr k = s.index("k", n), t_index = s.index("t", n);
  const Scalar t_body = sum(k, sc.load(DType::F32, x, {t_index, k}));
  const ValueId t{9};
  const Scalar u = sum(k, sc.load(DType::F32, t, {k}));
  const Scalar fused = sc.inline_load(u, t, [&](std::span<const sym::Expr> c) {
    return sc.substitute(t_body, {{t_index.id, c[0]}});
  });
  CHECK(text(fused) == "sum[l0 < N](sum[k0 < N](x[l0, k0]))");
  const sym::Expr a = s.index("a", n), b = s.index("b", n);
  CHECK(fused == sum(a, sum(b, sc.load(DType::F32, x, {a, b}))));
  CHECK(sc.loads(fused).size() == 1);
}

TEST_CASE_METHOD(Fixture, "the canonical form does not depend on how a chain of reductions was put together") {
  // u = max_a (sum_b (x[a, b] - max_c x[a, c])), once built inside out and once by inlining twice.
  const sym::Expr a = s.index("a", n), b = s.index("b", n), c = s.index("c", n);
  auto largest = [&](sym::Expr row) { return sc.reduce(ReduceFn::Max, {c}, sc.load(DType::F32, x, {row, c})); };
  const Scalar difference = sc.binary(Fn::Sub, sc.load(DType::F32, x, {a, b}), largest(a));
  const Scalar direct = sc.reduce(ReduceFn::Max, {a}, sum(b, difference));

  const ValueId m1{7}, s1{8};
  const sym::Expr r = s.index("r", n);
  const Scalar row_sum = sum(b, sc.binary(Fn::Sub, sc.load(DType::F32, x, {r, b}), sc.load(DType::F32, m1, {r})));
  Scalar fused = sc.reduce(ReduceFn::Max, {a}, sc.load(DType::F32, s1, {a}));
  fused = sc.inline_load(fused, s1, [&](std::span<const sym::Expr> at) {
    return sc.substitute(row_sum, {{r.id, at[0]}});
  });
  fused = sc.inline_load(fused, m1, [&](std::span<const sym::Expr> at) { return largest(at[0]); });
  CHECK(fused == direct);
  CHECK(text(fused) == "max[m0 < N](sum[l0 < N](x[m0, l0] - max[k0 < N](x[m0, k0])))");
  CHECK(sc.symbols(fused).size() == 1);  // N alone: every index is bound
}

TEST_CASE_METHOD(Fixture, "substitution changes extents of bound indices and follows data bindings") {
  const sym::Expr k = s.index("k", m);
  const Scalar v = sum(k, sc.load(DType::F32, x, {i, k}));
  const Scalar four = sc.substitute(v, {{m.id, s.constant(4)}, {i.id, s.constant(2)}});
  CHECK(text(four) == "sum[k0 < 4](x[2, k0])");
  CHECK(sc.substitute(v, {{m.id, s.constant(1)}}) == sc.load(DType::F32, x, {i, s.constant(0)}));

  const sym::Expr d = sc.as_coordinate(sc.load(DType::I64, ids, {i}));
  const Scalar gathered = sc.load(DType::F32, x, {d, j});
  CHECK(text(gathered) == "x[{z[i]}, j]");
  CHECK(text(sc.substitute(gathered, {{i.id, s.constant(3)}})) == "x[{z[3]}, j]");
  CHECK(sc.loads(gathered).size() == 2);
  CHECK(sc.as_coordinate(sc.load(DType::I64, ids, {i})) == d);
}

TEST_CASE_METHOD(Fixture, "scalars that share are printed in the size of their nodes") {
  Scalar v = sc.load(DType::F32, x, {i});
  for (int step = 0; step < 40; ++step) v = sc.binary(Fn::Mul, v, sc.unary(Fn::Tanh, v));
  CHECK(text(v).size() < 40 * 100);
  // A coordinate that is read from data is one more way to the same scalar.
  Scalar at = sc.load(DType::I64, ids, {i});
  for (int step = 0; step < 40; ++step) {
    const sym::Expr row = sc.as_coordinate(at, {0, 9});
    at = sc.load(DType::I64, ids, {s.min(s.add(row, s.floordiv(row, m)), m)});
  }
  CHECK(text(at).size() < 40 * 200);
  const sym::Expr k = s.index("k", n);
  const Scalar total = sum(k, sc.binary(Fn::Add, sc.load(DType::F32, x, {i, k}), sc.load(DType::F32, y, {k, i})));
  CHECK(text(sc.binary(Fn::Div, total, sc.unary(Fn::Sqrt, total))) ==
        "sum[k0 < N](x[i, k0] + y[k0, i]) / sqrt(sum[k0 < N](x[i, k0] + y[k0, i]))");
  const Scalar scaled = sc.binary(Fn::Max, sc.unary(Fn::Exp, total), sc.constant_f(DType::F32, 0.5));
  CHECK(text(sc.binary(Fn::Div, scaled, sc.unary(Fn::Sqrt, scaled))) ==
        "$1 / sqrt($1) where $1 = max(exp(sum[k0 < N](x[i, k0] + y[k0, i])), 0.5)");
}

TEST_CASE_METHOD(Fixture, "constants fold and only exact identities are applied") {
  const Scalar v = sc.load(DType::F32, x, {i, j}), zero = sc.constant_f(DType::F32, 0),
               one = sc.constant_f(DType::F32, 1);
  CHECK(sc.binary(Fn::Add, v, zero) != v);
  CHECK(sc.binary(Fn::Sub, v, zero) == v);
  CHECK(sc.binary(Fn::Mul, v, one) == v);
  CHECK(sc.binary(Fn::Mul, v, zero) != zero);
  CHECK(sc.binary(Fn::Add, one, one) == sc.constant_f(DType::F32, 2));
  CHECK(sc.binary(Fn::Add, sc.index(DType::I64, i), sc.constant_i(DType::I64, 2)) ==
        sc.index(DType::I64, s.add(i, s.constant(2))));
  CHECK(sc.select(sc.constant_i(DType::Bool, 0), zero, one) == one);
  CHECK(sc.cast(DType::I32, sc.constant_f(DType::F32, -1.5)) == sc.constant_i(DType::I32, -1));
}

TEST_CASE("arithmetic on concrete numbers") {
  CHECK(apply_i(Fn::Div, DType::I64, -7, 2) == -3);
  CHECK(apply_i(Fn::Mod, DType::I64, -7, 2) == 1);
  CHECK(apply_i(Fn::Rem, DType::I64, -7, 2) == -1);
  CHECK(apply_i(Fn::Div, DType::I64, 1, 0) == 0);
  CHECK(apply_i(Fn::Div, DType::I64, INT64_MIN, -1) == INT64_MIN);
  CHECK(apply_i(Fn::Add, DType::U8, 250, 10) == 4);
  CHECK(apply_f(Fn::Round, DType::F32, 2.5) == 2);
  CHECK(std::isnan(apply_f(Fn::Max, DType::F32, std::nan(""), 1)));
  CHECK(round_to(DType::F16, 65520) == std::numeric_limits<double>::infinity());
  CHECK(round_to(DType::F16, 2049) == 2048);
  for (int bits = 0; bits < 65536; ++bits) {  // every value survives the round trip
    const auto b = static_cast<uint16_t>(bits);
    if (!std::isnan(half_to_double(b))) REQUIRE(double_to_half(half_to_double(b)) == b);
    if (!std::isnan(bfloat_to_double(b))) REQUIRE(double_to_bfloat(bfloat_to_double(b)) == b);
  }
}
