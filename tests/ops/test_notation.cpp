// The notation's derived constraints, extents and coordinates, as text.
#include "catch.h"
#include "ops/define.h"
#include "ops/notation.h"

using namespace dlcb;
using namespace dlcb::ops;

namespace {
struct Fixture {
  sym::Store s;
  ScalarStore sc{s};
  sym::Facts facts{s};
  sym::Expr n = s.symbol("N", sym::SymbolKind::Dim), m = s.symbol("M", sym::SymbolKind::Dim),
            h = s.symbol("H", sym::SymbolKind::Dim);
  sym::Expr c(int64_t v) { return s.constant(v); }
  Operand value(uint32_t id, std::vector<sym::Expr> dims, DType t = DType::F32) { return {{id}, t, std::move(dims)}; }
  Definition make(const char* name, std::vector<Operand> operands, Attrs attrs = {}) {
    auto d = define(op(name), sc, facts, operands, attrs);
    INFO((d ? std::string() : to_text(d.error())));
    REQUIRE(d);
    return std::move(*d);
  }
  std::string dims(const Definition& d) {
    std::string out;
    for (sym::Expr e : d.outputs[0].dims) out += (out.empty() ? "" : ", ") + sym::print(s, e);
    return out;
  }
  std::string body(const Definition& d) {
    return print(sc, d.outputs[0].body, [](ValueId v) { return std::string(1, "xwb"[v.id]); });
  }
  std::string requirements(const Definition& d) {
    std::string out;
    for (const Requirement& r : d.requirements) out += (out.empty() ? "" : "; ") + sym::print(s, r.condition);
    return out;
  }
};
}  // namespace

TEST_CASE_METHOD(Fixture, "a letter used twice is an equality") {
  const Definition d = make("matmul", {value(0, {n, c(4)}), value(1, {m, h})});
  CHECK(dims(d) == "N, H");
  CHECK(requirements(d) == "M == 4");
  CHECK(d.requirements[0].operand == 1);
  CHECK(d.requirements[0].axis == 0);
}

TEST_CASE_METHOD(Fixture, "what is gathered from is not empty where there are indices") {
  CHECK(requirements(make("gather", {value(0, {n, h}), value(1, {m}, DType::I64)})) == "M == 0 or 1 <= N");
  CHECK(requirements(make("gather_elements", {value(0, {n, c(3)}), value(1, {m, c(3)}, DType::I64)})) == "M == 0 or 1 <= N");
  CHECK(requirements(make("gather_nd", {value(0, {n, h}), value(1, {m, c(1)}, DType::I64)})) == "M == 0 or 1 <= N");
  CHECK(requirements(make("gather", {value(0, {c(5), h}), value(1, {m}, DType::I64)})).empty());
}

TEST_CASE_METHOD(Fixture, "an undecided broadcast is one kernel") {
  const Definition d = make("add", {value(0, {n, c(3)}), value(1, {m, c(1)})});
  CHECK(dims(d) == "select(N == 1, M, N), 3");
  CHECK(requirements(d) == "M == 1 or M == N or N == 1");
}

TEST_CASE_METHOD(Fixture, "coordinates that are proved inside are not tested") {
  const std::vector<int64_t> strides{2};
  const Definition valid = make("conv", {value(0, {n, c(3), h}), value(1, {c(8), c(3), c(7)})}, {{"strides", strides}});
  CHECK(body(valid).find("select") == std::string::npos);
  CHECK(requirements(valid) == "7 <= H");
  const Definition padded = make("conv", {value(0, {n, c(3), h}), value(1, {c(8), c(3), c(7)})},
                                 {{"strides", strides}, {"lo", std::vector{c(3)}}, {"hi", std::vector{c(3)}}});
  CHECK(dims(padded) == "N, 8, (H + 1)//2");
  CHECK(body(padded).find("select") != std::string::npos);
}

TEST_CASE_METHOD(Fixture, "a sum whose terms fold to a number keeps the operand's type") {
  const Definition d =
      make("cumsum", {value(0, {n, c(1)}, DType::F16)}, {{"axis", int64_t{1}}, {"exclusive", int64_t{1}}});
  CHECK(dims(d) == "N, 1");
  CHECK(body(d).find("x[") == std::string::npos);
  CHECK(sc.dtype(d.outputs[0].body) == DType::F16);
}

TEST_CASE_METHOD(Fixture, "reshape keeps surviving dims and divides only inside merged ones") {
  const Definition d = make("reshape", {value(0, {n, c(12), h})}, {{"shape", std::vector{n, c(3), c(4), h}}});
  CHECK(requirements(d).empty());
  CHECK(body(d).find("//") == std::string::npos);
  CHECK(body(d).find('%') == std::string::npos);
}

TEST_CASE_METHOD(Fixture, "wrong ranks, types and attributes are the user's errors") {
  auto kind = [&](const char* name, std::vector<Operand> operands, Attrs attrs) {
    auto d = define(op(name), sc, facts, operands, attrs);
    REQUIRE(!d);
    return d.error().kind;
  };
  CHECK(kind("conv", {value(0, {n, m}), value(1, {c(8), c(3), c(7)})}, {}) == DiagKind::RankMismatch);
  CHECK(kind("conv", {value(0, {n, m, h})}, {}) == DiagKind::RankMismatch);
  CHECK(kind("exp", {value(0, {n}, DType::I64)}, {}) == DiagKind::UnsupportedType);
  CHECK(kind("add", {value(0, {n}), value(1, {n}, DType::I64)}, {}) == DiagKind::UnsupportedType);
  CHECK(kind("relu", {value(0, {n})}, {{"alpha", 1.0}}) == DiagKind::BadAttribute);
  CHECK(kind("reshape", {value(0, {n})}, {}) == DiagKind::BadAttribute);
  CHECK(kind("max_pool", {value(0, {n, m, h})}, {{"kernel", std::vector<int64_t>{3, 3}}}) == DiagKind::BadAttribute);
  CHECK(kind("gather", {value(0, {n}), value(1, {m}, DType::I64)}, {{"axis", int64_t{1}}}) == DiagKind::BadAttribute);
  CHECK(kind("softmax", {value(0, {n})}, {{"axis", int64_t{3}}}) == DiagKind::BadAttribute);
  CHECK(kind("gather", {value(0, {n}), value(1, {m})}, {}) == DiagKind::UnsupportedType);
}

TEST_CASE_METHOD(Fixture, "a contradiction stays in the requirements for the caller to report") {
  const Definition d = make("matmul", {value(0, {n, c(4)}), value(1, {c(5), h})});
  REQUIRE(d.requirements.size() == 1);
  CHECK(facts.prove(d.requirements[0].condition) == sym::Tri::No);
}

TEST_CASE("every text in the table parses") {
  for (const OpDef& o : all_ops())
    if (!o.text.empty()) CHECK_NOTHROW(notation::parse(o.text));
}
