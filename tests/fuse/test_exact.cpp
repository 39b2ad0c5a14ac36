// Quotients that something rounds, truncates or compares later are correctly rounded; all others may be fast.
#include "fuse/exact.h"
#include "graph/fixture.h"

namespace dlcb::fuse {
namespace {

using graph::testing::Fixture;
using ops::ValueId;

// Whether the definition of v, in a graph that ends in `result`, divides exactly.
bool exact(Fixture& f, ValueId v, ValueId result) {
  f.g.add_output("result", result);
  make_divisions_exact(f.g);
  const ops::Scalar body = f.g.node(f.g.value(v).producer).definition.outputs[0].body;
  const std::string text = ops::print(f.g.scalars(), body, [](ValueId) { return std::string("x"); });
  CHECK((text.find("div_exact") != std::string::npos || text.find(" / ") != std::string::npos));
  return text.find("div_exact") != std::string::npos;
}

TEST_CASE("quotients before a function that jumps are exact", "[fuse]") {
  for (const char* op : {"floor", "ceil", "round"}) {
    Fixture f;
    const ValueId quotient = f.add("div", {f.input("x", DType::F32, {"N"}), f.input("y", DType::F32, {"N"})});
    CHECK(exact(f, quotient, f.add(op, {quotient})));
  }
  Fixture f;
  const ValueId quotient = f.add("div", {f.input("x", DType::F32, {"N"}), f.input("y", DType::F32, {"1"})});
  const ValueId moved = f.add("add", {f.add("neg", {quotient}), f.input("z", DType::F32, {"N"})});
  CHECK(exact(f, quotient, f.add("cast", {moved}, {{"to", DType::I32}})));
}

TEST_CASE("so are those that are compared, but not with zero", "[fuse]") {
  for (const float limit : {1.0F, 0.0F}) {
    Fixture f;
    const ValueId quotient = f.add("div", {f.input("x", DType::F32, {"N"}), f.input("y", DType::F32, {"N"})});
    const ValueId number = f.constant<float>("limit", DType::F32, {}, {limit});
    CHECK(exact(f, quotient, f.add("lt", {quotient, number})) == (limit != 0));
  }
}

TEST_CASE("other quotients stay fast", "[fuse]") {
  for (const char* op : {"relu", "exp", "sigmoid"}) {
    Fixture f;
    const ValueId quotient = f.add("div", {f.input("x", DType::F32, {"N"}), f.input("y", DType::F32, {"N"})});
    CHECK_FALSE(exact(f, quotient, f.add(op, {quotient})));
  }
}

TEST_CASE("reciprocals are quotients", "[fuse]") {
  Fixture f;
  std::vector<ValueId> loaded;
  ops::ScalarStore& s = f.g.scalars();
  const ops::Scalar x = s.load(DType::F32, f.input("x", DType::F32, {}), {});
  const ops::Scalar body = s.unary(ops::Fn::Floor, s.unary(ops::Fn::Reciprocal, x));
  const ops::Scalar made = with_exact_divisions(s, body, false, loaded);
  CHECK(made == s.unary(ops::Fn::Floor, s.binary(ops::Fn::DivExact, s.constant_f(DType::F32, 1), x)));
  CHECK(loaded.size() == 1);
}

}  // namespace
}  // namespace dlcb::fuse
