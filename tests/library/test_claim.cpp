// Which nodes libraries take: strides of operands that are views, and what a call absorbs of the nodes after it.
#include "graph/fixture.h"
#include "library/claim.h"
#include "rewrite/batch_norm.h"
#include "rewrite/layout.h"

namespace dlcb::library {
namespace {

using graph::testing::Fixture;
using ops::ValueId;

std::vector<fuse::Claim> claims_of(Fixture& f) {
  REQUIRE(rewrite::assign_layouts(f.g));
  return claim_library_calls(f.g);
}

const fuse::MatmulCall& matmul_of(const std::vector<fuse::Claim>& claims) {
  REQUIRE(claims.size() == 1);
  return std::get<fuse::MatmulCall>(claims[0].call);
}

TEST_CASE("a transposed operand is read in place", "[library]") {
  Fixture f;
  const ValueId x = f.input("x", DType::F32, {"B", "S", "4", "8"});
  const ValueId heads = f.add("transpose", {x}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  const ValueId keys = f.add("transpose", {x}, {{"perm", std::vector<int64_t>{0, 2, 3, 1}}});
  f.g.add_output("y", f.add("matmul", {heads, f.add("exp", {keys})}));
  const auto claims = claims_of(f);
  // Batch and heads are not one stride in x, so the transposed copy is what the library reads.
  CHECK(matmul_of(claims).a == heads);
  CHECK(f.texts(std::vector{matmul_of(claims).lda}) == "8");
}

TEST_CASE("a view is not stored whole where a part of it is read", "[library]") {
  Fixture f;
  const ValueId x = f.input("x", DType::F32, {"S", "B", "3", "8"}), w = f.input("w", DType::F32, {"8", "8"});
  // The queries of a packed projection: the first third of a transposed copy.
  const ValueId turned = f.add("transpose", {x}, {{"perm", std::vector<int64_t>{2, 1, 0, 3}}});
  const ValueId zero = f.constant<int64_t>("zero", DType::I64, {}, {0});
  const ValueId first = f.add("gather", {turned, zero}, {{"axis", int64_t{0}}});
  f.g.add_output("y", f.add("matmul", {first, w}));
  CHECK(matmul_of(claims_of(f)).a == first);
}

TEST_CASE("repeated rows are not read in place: libraries step over whole rows", "[library]") {
  Fixture f;
  const ValueId w = f.constant<float>("w", DType::F32, {8, 2}, std::vector<float>(16, 1));
  SECTION("rows known to repeat") {
    const ValueId x = f.input("x", DType::F32, {"1", "8"});
    const ValueId rows = f.add("broadcast_to", {x}, {{"shape", f.exprs({"5", "8"})}});
    f.g.add_output("y", f.add("matmul", {rows, w}));
    CHECK(matmul_of(claims_of(f)).a == rows);
  }
  SECTION("rows that may repeat") {
    const ValueId x = f.input("x", DType::F32, {"R", "8"});
    const ValueId rows = f.add("broadcast_to", {x}, {{"shape", f.exprs({"M", "8"})}});
    f.g.add_output("y", f.add("matmul", {rows, w}));
    CHECK(matmul_of(claims_of(f)).a == rows);
  }
}

TEST_CASE("a sum of no terms keeps its bias apart", "[library]") {
  Fixture f;
  const ValueId x = f.input("x", DType::F32, {"M", "K"}), y = f.input("y", DType::F32, {"K", "2"});
  const ValueId bias = f.constant<float>("b", DType::F32, {2}, {1, 2});
  f.g.add_output("z", f.add("add", {f.add("matmul", {x, y}), bias}));
  const auto claims = claims_of(f);
  CHECK_FALSE(matmul_of(claims).bias.valid());
  CHECK(claims[0].nodes.size() == 1);
}

TEST_CASE("convolutions absorb bias and ReLU, transposed ones do not", "[library]") {
  Fixture f;
  const ValueId x = f.input("x", DType::F32, {"N", "4", "H", "W"});
  const ValueId w = f.constant<float>("w", DType::F32, {4, 4, 1, 1}, std::vector<float>(16, 1));
  const ValueId bias = f.constant<float>("b", DType::F32, {4}, {1, 2, 3, 4});
  const bool transposed = GENERATE(false, true);
  f.g.add_output("y", f.add("relu", {f.add(transposed ? "conv_transpose" : "conv", {x, w, bias})}));
  REQUIRE(rewrite::fold_channel_scales(f.g));
  const auto claims = claims_of(f);
  REQUIRE(claims.size() == 1);
  const auto& call = std::get<fuse::ConvCall>(claims[0].call);
  CHECK(call.transposed == transposed);
  CHECK(call.bias.valid() == !transposed);
  CHECK((call.activation == fuse::Activation::Relu) == !transposed);
  CHECK(may_be_refused(claims[0]) == transposed);
}

TEST_CASE("a convolution that cuts its input stays with generated kernels", "[library]") {
  Fixture f;
  const ValueId x = f.input("x", DType::F32, {"N", "4", "H", "W"});
  const ValueId w = f.constant<float>("w", DType::F32, {4, 4, 1, 1}, std::vector<float>(16, 1));
  const std::string lo = GENERATE("0", "-1");
  f.g.add_output("y", f.add("conv", {x, w}, {{"lo", f.exprs({lo, "0"})}, {"hi", f.exprs({"0", "0"})}}));
  CHECK(claims_of(f).empty() == (lo == "-1"));
}

}  // namespace
}  // namespace dlcb::library
