// Shape computations as expressions, and the size rules for slices and reshapes.
#include <cmath>

#include "catch.h"
#include "ops/slice_rules.h"
#include "ops/symbolic.h"

using namespace dlcb;
using namespace dlcb::ops;

namespace {
struct Fixture {
  sym::Store s;
  ScalarStore sc{s};
  sym::Facts facts{s};
  sym::Expr n = s.symbol("N", sym::SymbolKind::Dim), h = s.symbol("H", sym::SymbolKind::Dim);
  std::vector<std::vector<Element>> known;
  std::vector<Operand> values;

  sym::Expr c(int64_t v) { return s.constant(v); }
  ValueId ints(std::vector<sym::Expr> elements) {
    std::vector<Element> list;
    for (sym::Expr e : elements) list.push_back({e, 1});
    known.push_back(list);
    values.push_back({{static_cast<uint32_t>(values.size())}, DType::I64, {c(static_cast<int64_t>(elements.size()))}});
    return values.back().value;
  }
  ValueId real(double v) {
    known.push_back({{c(1), v}});
    values.push_back({{static_cast<uint32_t>(values.size())}, DType::F32, {c(1)}});
    return values.back().value;
  }
  std::optional<ValueId> express(const char* name, std::vector<ValueId> inputs, Attrs attrs = {}) {
    std::vector<Operand> operands;
    for (ValueId v : inputs) operands.push_back(values[v.id]);
    auto d = define(op(name), sc, facts, operands, attrs);
    REQUIRE(d);
    auto elements = evaluate_symbolic(sc, facts, d->outputs[0], operands, [&](ValueId v) { return &known[v.id]; });
    if (!elements) return std::nullopt;
    known.push_back(*elements);
    values.push_back({{static_cast<uint32_t>(values.size())}, d->outputs[0].dtype, d->outputs[0].dims});
    return values.back().value;
  }
  ValueId apply(const char* name, std::vector<ValueId> inputs, Attrs attrs = {}) {
    const auto v = express(name, std::move(inputs), std::move(attrs));
    REQUIRE(v.has_value());
    return *v;
  }
  std::string text(ValueId v) {
    std::string out;
    for (const Element& e : known[v.id]) out += (out.empty() ? "" : ", ") + sym::print(s, e.expr);
    return out;
  }
};
}  // namespace

TEST_CASE_METHOD(Fixture, "shape, gather, concat become expressions") {
  const ValueId shape = ints({n, c(3), h, h});
  const ValueId picked = apply("gather", {shape, ints({c(0), c(-1)})}, {{"axis", int64_t{0}}});
  CHECK(text(picked) == "N, H");
  const ValueId joined = apply("concat", {picked, ints({c(-1)})}, {{"axis", int64_t{0}}});
  CHECK(text(joined) == "N, H, -1");
  CHECK(text(apply("reduce_prod", {shape}, {{"axes", std::vector<int64_t>{0}}})) ==
        sym::print(s, s.mul(std::vector{n, c(3), h, h})));
  CHECK(text(apply("div", {ints({h}), ints({c(2)})})) == "H//2");
}

TEST_CASE_METHOD(Fixture, "sizes that pass through floats") {
  const ValueId size = apply("cast", {ints({h})}, {{"to", DType::F32}});
  const ValueId scaled = apply("mul", {size, real(0.7f)});
  CHECK(text(apply("cast", {apply("floor", {scaled})}, {{"to", DType::I64}})) == sym::print(s, s.floor_scale(h, 0.7f)));
  const ValueId half = apply("mul", {size, real(0.5)});
  CHECK(text(apply("cast", {apply("floor", {half})}, {{"to", DType::I64}})) == "H//2");
  const ValueId doubled = apply("mul", {size, real(2)});
  CHECK(text(apply("cast", {doubled}, {{"to", DType::I64}})) == "2*H");
}

// Each step is rounded to f32, as a model that computes in f32 does it; what would be rounded twice is not expressed.
TEST_CASE_METHOD(Fixture, "sizes that pass through f32 are those of f32 arithmetic") {
  const ValueId size = apply("cast", {ints({h})}, {{"to", DType::F32}});
  const auto evaluated = [&](ValueId v, int64_t n) {
    return s.evaluate(known[v.id][0].expr, [&](sym::Expr) { return n; });
  };
  for (const float scale : {0.7f, 0.1f, 1.1f, 0.33333334f, 2.9f, 0.0625f, 4.7f, 3.0f, 100.25f}) {
    const ValueId product = apply("mul", {size, real(scale)});
    const ValueId down = apply("cast", {apply("floor", {product})}, {{"to", DType::I64}});
    const ValueId up = apply("cast", {apply("ceil", {product})}, {{"to", DType::I64}});
    for (int64_t n = 0; n < 3000; ++n) {
      REQUIRE(evaluated(down, n) == static_cast<int64_t>(std::floor(static_cast<float>(n) * scale)));
      REQUIRE(evaluated(up, n) == static_cast<int64_t>(std::ceil(static_cast<float>(n) * scale)));
    }
  }
  for (const float divisor : {2.0f, 3.0f, 7.0f, 49.0f, 100.0f}) {
    const ValueId down = apply("cast", {apply("floor", {apply("div", {size, real(divisor)})})}, {{"to", DType::I64}});
    INFO(divisor << ": " << text(down));
    for (int64_t n = 0; n < 3000; ++n)
      REQUIRE(evaluated(down, n) == static_cast<int64_t>(std::floor(static_cast<float>(n) / divisor)));
  }
  const ValueId once = apply("mul", {size, real(0.7f)});
  CHECK_FALSE(express("mul", {once, real(1.3f)}).has_value());
  CHECK_FALSE(express("add", {once, once}).has_value());
  CHECK_FALSE(express("div", {size, real(0.3f)}).has_value());
  CHECK(express("mul", {once, real(4)}).has_value());
}

TEST_CASE_METHOD(Fixture, "slice bounds are clamped as ONNX says") {
  for (int64_t dim = 0; dim <= 4; ++dim)
    for (int64_t start = -6; start <= 6; ++start)
      for (int64_t end = -6; end <= 6; ++end)
        for (int64_t step : {-2, -1, 1, 2}) {
          std::vector<int64_t> expected;  // Python's rule, by walking
          int64_t b = start < 0 ? start + dim : start, e = end < 0 ? end + dim : end;
          const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? dim : dim - 1;
          b = std::clamp(b, low, std::max(low, high)), e = std::clamp(e, low, std::max(low, high));
          for (int64_t at = b; step > 0 ? at < e : at > e; at += step) expected.push_back(at);
          INFO(dim << ": " << start << ":" << end << ":" << step);
          for (bool symbolic : {false, true}) {
            const SliceRange r = clamp_slice(facts, c(start), c(end), step, symbolic ? h : c(dim));
            auto value = [&](sym::Expr x) { return s.evaluate(x, [&](sym::Expr) { return std::optional(dim); }); };
            REQUIRE(value(r.extent) == static_cast<int64_t>(expected.size()));
            if (!expected.empty()) REQUIRE(value(r.start) == expected[0]);
          }
        }
  const SliceRange all = clamp_slice(facts, c(0), c(INT64_MAX), 1, h);
  CHECK(all.start == c(0));
  CHECK(all.extent == h);
  CHECK(clamp_slice(facts, c(-1), c(INT64_MIN), -1, h).extent == h);
}

TEST_CASE_METHOD(Fixture, "the dim that -1 stands for") {
  const std::vector<sym::Expr> in{n, c(512), c(1), c(1)};
  CHECK(inferred_dim(facts, in, std::vector{n}) == c(512));
  CHECK(inferred_dim(facts, std::vector{n, h, c(8)}, std::vector{n, h, c(2)}) == c(4));
  CHECK(inferred_dim(facts, std::vector{n, h}, {}) == s.mul(n, h));
  CHECK(inferred_dim(facts, std::vector{s.mul(c(4), n), h}, std::vector{n, c(4)}) == h);
  const sym::Expr less = s.sub(h, c(1));  // at h = 0 this is -1, no size
  CHECK(s.substitute(inferred_dim(facts, std::vector{s.mul(h, less)}, std::vector{h}), h, c(0)) == c(0));
}
