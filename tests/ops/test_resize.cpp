// The sizes and the coordinates of a Resize as expressions.
#include "catch.h"
#include "ops/define.h"

using namespace dlcb;
using namespace dlcb::ops;

namespace {

struct Fixture {
  sym::Store s;
  ScalarStore sc{s};
  sym::Facts facts{s};
  sym::Expr h = s.symbol("H", sym::SymbolKind::Dim), k = s.symbol("K", sym::SymbolKind::Dim);

  Definition resize(Attrs attrs) {
    const std::vector<Operand> operands{{{0}, DType::F32, {h}}};
    attrs.set("nearest_mode", std::string("floor"));
    auto d = define(op("resize"), sc, facts, operands, attrs);
    INFO((d ? std::string() : to_text(d.error())));
    REQUIRE(d);
    return std::move(*d);
  }
  Definition scaled(double scale) { return resize({{"scales", std::vector<double>{scale}}}); }
  std::string dim(const Definition& d) { return sym::print(s, d.outputs[0].dims[0]); }
  // Whether the element that is read is named by integers alone.
  bool integers(const Definition& d) {
    return !s.has_symbol_of(sc.node(d.outputs[0].body).coords.at(0), sym::SymbolKind::Data);
  }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "small binary fractions keep integer sizes and coordinates") {
  CHECK(dim(scaled(2)) == "2*H");
  CHECK(dim(scaled(0.5)) == "H//2");
  CHECK(dim(scaled(1.5)) == "H + H//2");
  for (const double scale : {2.0, 3.0, 0.5, 0.25, 1.5}) CHECK(integers(scaled(scale)));
  CHECK(integers(resize({{"sizes", std::vector{s.mul(h, s.constant(3))}}})));
  h = s.mul(k, s.constant(4));
  CHECK(integers(resize({{"sizes", std::vector{k}}})));
}

TEST_CASE_METHOD(Fixture, "other scales give the sizes that arithmetic in f32 gives") {
  const Definition d = scaled(2.1f);
  CHECK(d.outputs[0].dims[0] == s.floor_scale(h, 2.1f));
  CHECK(scaled(2.1).outputs[0].dims[0] == d.outputs[0].dims[0]);  // scales are f32 numbers
  const auto at = [&](sym::Expr e) { return e == h ? std::optional<int64_t>(30) : std::nullopt; };
  CHECK(s.evaluate(d.outputs[0].dims[0], at) == 62);
  CHECK_FALSE(integers(d));
  CHECK_FALSE(integers(resize({{"sizes", std::vector{k}}})));
}
