// Rewrites on small graphs: what disappears, what appears, and that layouts keep inputs and outputs row-major.
#include "graph/fixture.h"
#include "rewrite/batch_norm.h"
#include "rewrite/layout.h"
#include "rewrite/patterns.h"
#include "rewrite/simplify.h"

namespace dlcb::rewrite {
namespace {

using graph::testing::Fixture;
using ops::ValueId;

std::vector<std::string> op_names(const graph::Graph& g) {
  std::vector<std::string> names;
  for (uint32_t n = 0; n < g.node_count(); ++n) {
    if (g.node({n}).op) names.emplace_back(g.node({n}).op->name);
  }
  return names;
}

TEST_CASE("nodes that rename, repeat or are unused go", "[rewrite]") {
  Fixture f;
  const ValueId x = f.input("x", DType::F32, {"N", "8"});
  const ValueId same = f.add("reshape", {x}, {{"shape", f.exprs({"N", "8"})}});
  const ValueId a = f.add("exp", {same}), b = f.add("exp", {x});
  f.add("neg", {x});
  f.g.add_output("y", f.add("add", {a, b}));
  REQUIRE(simplify(f.g));
  CHECK(op_names(f.g) == std::vector<std::string>{"exp", "add"});
}

TEST_CASE("a dim of 1 has one coordinate", "[rewrite]") {
  Fixture f;
  const ValueId x = f.input("x", DType::F32, {"N", "1"});
  const ValueId one = f.constant<float>("one", DType::F32, {1}, {1});
  f.g.add_output("y", f.add("neg", {f.add("mul", {x, one})}));
  REQUIRE(simplify(f.g));
  CHECK(op_names(f.g) == std::vector<std::string>{"neg"});
}

TEST_CASE("a batch norm and a scale after a convolution become weights", "[rewrite]") {
  Fixture f;
  const ValueId x = f.input("x", DType::F32, {"N", "1", "H", "W"});
  const ValueId w = f.constant<float>("w", DType::F32, {2, 1, 1, 1}, {2, 3});
  const ValueId conv = f.add("conv", {x, w});
  const ValueId norm =
      f.add("batch_norm",
            {conv, f.constant<float>("s", DType::F32, {2}, {1, 4}), f.constant<float>("b", DType::F32, {2}, {5, 6}),
             f.constant<float>("m", DType::F32, {2}, {1, 2}), f.constant<float>("v", DType::F32, {2}, {4, 16})},
            {{"epsilon", 0.0}});
  f.g.add_output("y", f.add("mul", {norm, f.constant<float>("k", DType::F32, {1, 2, 1, 1}, {10, 1})}));
  REQUIRE(fold_channel_scales(f.g));
  REQUIRE(op_names(f.g) == std::vector<std::string>{"conv"});
  const graph::Node& made = f.g.node(f.g.value(f.g.outputs[0]).producer);
  const auto floats = [&](ValueId v) {
    const float* data = reinterpret_cast<const float*>(f.g.value(v).constant->bytes.data());
    return std::vector<float>(data, data + 2);
  };
  CHECK(floats(made.inputs[1]) == std::vector<float>{10, 3});  // 2 * 1/2 * 10, 3 * 4/4
  CHECK(floats(made.inputs[2]) == std::vector<float>{45, 4});  // (5 - 1/2) * 10, 6 - 2 * 4/4
}

TEST_CASE("weights that others read element by element are stored once", "[rewrite]") {
  for (const bool by_library : {false, true}) {
    Fixture f;
    const ValueId x = f.input("x", DType::F32, {"N", "3", "H", "W"});
    const ValueId w = f.constant<float>("w", DType::F32, {4, 3, 1, 1}, std::vector<float>(12, 1));
    f.g.add_output("y", f.add("conv", {f.add("conv", {x, w}),
                                       f.constant<float>("v", DType::F32, {3, 4, 1, 1}, std::vector<float>(12, 1))}));
    f.g.add_output("z", f.add("conv", {x, w}));
    f.g.add_output("doubled", by_library ? f.add("matmul", {w, w}) : f.add("add", {w, w}));
    REQUIRE(assign_layouts(f.g));
    size_t copies = 0;
    const auto users = f.g.users();
    for (uint32_t v = 0; v < f.g.value_count(); ++v) {
      copies += f.g.value({v}).constant && !users[v].empty() && f.g.value({v}).dims == f.g.value(w).dims;
    }
    CHECK(copies == (by_library ? 2 : 1));
    CHECK(f.g.value(w).order.empty() == by_library);
  }
}

TEST_CASE("convolutions run channels last between row-major inputs and outputs", "[rewrite]") {
  Fixture f;
  const ValueId x = f.input("x", DType::F32, {"N", "3", "H", "W"});
  const ValueId w1 = f.constant<float>("w1", DType::F32, {4, 3, 1, 1}, std::vector<float>(12, 1));
  const ValueId w2 = f.constant<float>("w2", DType::F32, {4, 4, 1, 1}, std::vector<float>(16, 1));
  const ValueId mid = f.add("relu", {f.add("conv", {x, w1})});
  f.g.add_output("y", f.add("conv", {mid, w2}));
  REQUIRE(assign_layouts(f.g));
  CHECK(op_names(f.g) == std::vector<std::string>{"identity", "conv", "relu", "conv", "identity"});
  CHECK(f.g.value(f.g.inputs[0]).order.empty());
  CHECK(f.g.value(f.g.outputs[0]).order.empty());
  CHECK(f.g.value(mid).order == std::vector<uint8_t>{0, 2, 3, 1});
}

TEST_CASE("written-out activations and norms are recognised", "[rewrite]") {
  Fixture f;
  const ValueId x = f.input("x", DType::F32, {"N", "8"});
  const auto number = [&](float v) { return f.constant<float>("c" + std::to_string(v), DType::F32, {}, {v}); };
  SECTION("GELU") {
    const ValueId erf = f.add("erf", {f.add("div", {x, number(1.41421356f)})});
    f.g.add_output("y", f.add("mul", {f.add("mul", {x, f.add("add", {erf, number(1)})}), number(0.5f)}));
    REQUIRE(recognise_patterns(f.g));
    CHECK(op_names(f.g) == std::vector<std::string>{"gelu"});
  }
  SECTION("softmax") {
    const ops::Attrs last{{"axes", std::vector<int64_t>{-1}}, {"keepdims", int64_t{1}}};
    const ValueId e = f.add("exp", {f.add("sub", {x, f.add("reduce_max", {x}, last)})});
    f.g.add_output("y", f.add("div", {e, f.add("reduce_sum", {e}, last)}));
    REQUIRE(recognise_patterns(f.g));
    CHECK(op_names(f.g) == std::vector<std::string>{"softmax"});
  }
  SECTION("hard swish") {
    const ValueId clip = f.add("clip", {f.add("add", {x, number(3)})}, {{"min", 0.0}, {"max", 6.0}});
    f.g.add_output("y", f.add("div", {f.add("mul", {x, clip}), number(6)}));
    REQUIRE(recognise_patterns(f.g));
    CHECK(op_names(f.g) == std::vector<std::string>{"hard_swish"});
  }
  SECTION("not when a constant differs") {
    const ValueId clip = f.add("clip", {f.add("add", {x, number(3)})}, {{"min", 0.0}, {"max", 5.0}});
    f.g.add_output("y", f.add("div", {f.add("mul", {x, clip}), number(6)}));
    REQUIRE(recognise_patterns(f.g));
    CHECK(op_names(f.g).size() == 4);
  }
}

}  // namespace
}  // namespace dlcb::rewrite
