// Constant folding computes what is cheap and leaves the rest in the graph: what counts is work, not the result's size.
#include "graph/fixture.h"
#include "rewrite/fold.h"

namespace dlcb::rewrite {
namespace {

using graph::testing::Fixture;
using ops::ValueId;

ValueId ones(Fixture& f, const std::string& name, std::vector<int64_t> dims) {
  size_t count = 1;
  for (int64_t d : dims) count *= static_cast<size_t>(d);
  return f.constant<float>(name, DType::F32, std::move(dims), std::vector<float>(count, 1));
}

size_t nodes_left(const graph::Graph& g) {
  size_t count = 0;
  for (uint32_t n = 0; n < g.node_count(); ++n) count += g.node({n}).op != nullptr;
  return count;
}

}  // namespace

TEST_CASE("a product of small constant matrices is a constant, one of large matrices a library's work", "[rewrite]") {
  for (const int64_t size : {16, 512}) {
    Fixture f;
    f.g.add_output("y", f.add("matmul", {ones(f, "a", {size, size}), ones(f, "b", {size, size})}));
    REQUIRE(fold_constants(f.g));
    CHECK(nodes_left(f.g) == (size == 16 ? 0 : 1));
    if (size > 16) continue;
    const auto& data = f.g.value(f.g.outputs[0]).constant;
    REQUIRE(data);
    CHECK(*reinterpret_cast<const float*>(data->bytes.data()) == 16);
  }
}

TEST_CASE("a long reduction to few elements is work, too", "[rewrite]") {
  for (const int64_t length : {1000, 4000000}) {
    Fixture f;
    f.g.add_output("y", f.add("reduce_sum", {ones(f, "x", {length})}, {{"axes", std::vector<int64_t>{0}}}));
    REQUIRE(fold_constants(f.g));
    CHECK(nodes_left(f.g) == (length == 1000 ? 0 : 1));
  }
}

TEST_CASE("many nodes together have a budget", "[rewrite]") {
  Fixture f;
  const ValueId w = ones(f, "w", {64, 3, 64, 64});
  constexpr int kCount = 200;
  for (int i = 0; i < kCount; ++i) {
    const ValueId v = f.add("transpose", {w}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
    f.g.add_output("y" + std::to_string(i),
                   f.add("conv", {f.input("x" + std::to_string(i), DType::F32, {"N", "3", "H", "W"}), v}));
  }
  REQUIRE(fold_constants(f.g));
  const size_t left = nodes_left(f.g) - kCount;
  CHECK(left > 0);
  CHECK(left < kCount);
}

TEST_CASE("the weights of a convolution are laid out at compile time, however they are stored", "[rewrite]") {
  Fixture f;
  const ValueId w = ones(f, "w", {3, 3, 256, 256});
  const ValueId turned = f.add("transpose", {w}, {{"perm", std::vector<int64_t>{3, 2, 0, 1}}});
  f.g.add_output("y", f.add("conv", {f.input("x", DType::F32, {"N", "256", "H", "W"}), turned}));
  REQUIRE(fold_constants(f.g));
  CHECK(nodes_left(f.g) == 1);
}

TEST_CASE("nodes before the first one asked for are left alone", "[rewrite]") {
  Fixture f;
  const ValueId x = ones(f, "x", {4});
  f.g.add_output("y", f.add("neg", {x}));
  const uint32_t first = f.g.node_count();
  f.g.add_output("z", f.add("abs", {x}));
  REQUIRE(fold_constants(f.g, first));
  CHECK(nodes_left(f.g) == 1);
}

}  // namespace dlcb::rewrite
