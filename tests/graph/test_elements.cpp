#include "graph/fixture.h"

using namespace dlcb;
using namespace dlcb::graph;
using testing::Fixture;

namespace {
std::string elements(Fixture& f, ValueId v) {
  REQUIRE(f.g.value(v).elements);
  return f.texts(*f.g.value(v).elements);
}
}  // namespace

TEST_CASE("integer constants have elements") {
  Fixture f;
  ValueId c = f.constant<int64_t>("c", DType::I64, {3}, {1, -1, 64});
  auto e = f.g.elements(c, {});
  REQUIRE(e);
  CHECK(f.texts(*e) == "1, -1, 64");
  ValueId b = f.constant<uint8_t>("b", DType::Bool, {2}, {1, 0});
  CHECK(f.texts(*f.g.elements(b, {})) == "1, 0");
}

TEST_CASE("Shape, Gather, arithmetic and Concat chains become expressions") {
  Fixture f;
  ValueId shape = f.g.add_ints("shape", DType::I64, f.exprs({"N", "T", "64"}));
  ValueId one = f.constant<int64_t>("one", DType::I64, {}, {1});
  ValueId t = f.add("gather", {shape, one}, {{"axis", int64_t{0}}});
  CHECK(elements(f, t) == "T");
  ValueId two = f.constant<int64_t>("two", DType::I64, {}, {2});
  ValueId doubled = f.add("mul", {t, two});
  CHECK(elements(f, doubled) == "2*T");
  ValueId flat = f.add("reshape", {doubled}, {{"shape", f.exprs({"1"})}});
  CHECK(elements(f, flat) == "2*T");
  ValueId minus = f.constant<int64_t>("minus", DType::I64, {1}, {-1});
  ValueId target = f.add("concat", {flat, minus}, {{"axis", int64_t{0}}});
  CHECK(elements(f, target) == "2*T, -1");
  ValueId small = f.add("cast", {target}, {{"to", DType::I32}});
  CHECK(elements(f, small) == "2*T, -1");
  ValueId test = f.add("eq", {target, minus});
  CHECK(elements(f, test) == "0, 1");
}

TEST_CASE("unknown elements are read by the host, once") {
  Fixture f;
  ValueId sizes = f.input("sizes", DType::I32, {"2"});
  auto first = f.g.elements(sizes, {}), second = f.g.elements(sizes, {});
  REQUIRE(first);
  REQUIRE(second);
  CHECK(*first == *second);
  CHECK(f.g.host_reads.size() == 2);
  CHECK(f.s.symbol_kind(first->at(1)) == sym::SymbolKind::Data);
  CHECK(f.s.bounds(first->at(1)).hi == INT32_MAX);
  ValueId sum = f.add("add", {sizes, sizes});
  CHECK(f.g.value(sum).elements);
}

TEST_CASE("elements of floats or of tensors without literal size are refused") {
  Fixture f;
  ValueId x = f.input("x", DType::F32, {"2"}), y = f.input("y", DType::I64, {"N"});
  auto a = f.g.elements(x, {}), b = f.g.elements(y, {});
  REQUIRE_FALSE(a);
  CHECK(a.error().kind == DiagKind::UnsupportedType);
  REQUIRE_FALSE(b);
  CHECK(b.error().kind == DiagKind::UnknownShape);
}
