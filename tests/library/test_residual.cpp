// Which sums of two tensors library calls take: those that a kernel exists for, of a tensor that is stored anyway.
#include "fuse/fuse.h"
#include "fuse/order.h"
#include "fuse/stand_in.h"
#include "graph/fixture.h"
#include "kernel/region.h"
#include "library/claim.h"
#include "library/residual.h"
#include "ops/arithmetic.h"
#include "rewrite/layout.h"

namespace dlcb::library {
namespace {

using fuse::Claim;
using graph::testing::Fixture;
using ops::ValueId;

// Graphs of one element type: an image for convolutions, rows for matrix products, weights of both.
struct Block : Fixture {
  explicit Block(DType type = DType::F16) : dtype(type) {}

  ValueId filled(const std::string& name, double value, std::vector<int64_t> dims = {}) {
    size_t count = 1;
    for (int64_t d : dims) count *= static_cast<size_t>(d);
    if (dtype == DType::F32)
      return constant<float>(name, dtype, dims, std::vector<float>(count, static_cast<float>(value)));
    return constant<uint16_t>(name, dtype, dims, std::vector<uint16_t>(count, ops::double_to_half(value)));
  }
  ValueId conv(ValueId x) { return add("conv", {x, w}); }
  ValueId proj(ValueId x) { return add("matmul", {x, p}); }
  ValueId norm(ValueId x) {
    const std::vector<int64_t> axes{1};
    return add("div", {x, add("reduce_max", {x}, {{"axes", axes}, {"keepdims", int64_t{1}}})});
  }
  void output(ValueId v) { g.add_output("y" + std::to_string(g.outputs.size()), v); }

  // Claims after the first fusion.
  std::vector<Claim> claims() {
    REQUIRE(rewrite::assign_layouts(g));
    std::vector<Claim> list = claim_library_calls(g);
    const auto classify = [&](const fuse::Region& r) { return kernel::classify(scalars, g.facts(), r); };
    auto steps = fuse::fuse(g, list, classify);
    REQUIRE(steps);
    const bool changed = take_residuals(g, *steps, list);
    bool any = false;
    for (const Claim& c : list) any |= c.epilogue().residual.valid();
    CHECK(changed == any);
    REQUIRE(fuse::fuse(g, list, classify));
    return list;
  }

  const DType dtype;
  const ValueId image = input("image", dtype, {"N", "4", "H", "W"}), rows = input("rows", dtype, {"M", "8"});
  const ValueId w = filled("w", 1, {4, 4, 1, 1}), p = filled("p", 1, {8, 8});
};

TEST_CASE("a convolution takes the skip connection and the ReLU after it", "[library]") {
  Block f;
  const ValueId x = f.add("relu", {f.conv(f.image)});
  const ValueId sum = f.add("add", {f.conv(x), x}), y = f.add("relu", {sum});
  f.output(f.conv(y));
  const auto claims = f.claims();
  REQUIRE(claims.size() == 3);
  CHECK(claims[1].epilogue().residual == x);
  CHECK(claims[1].epilogue().out == y);
  CHECK(claims[1].epilogue().activation == fuse::Activation::Relu);
  CHECK(claims[1].nodes.size() == 3);
  CHECK_FALSE(claims[2].epilogue().residual.valid());
  const fuse::Region region = fuse::stand_in(f.g, claims[1]);
  REQUIRE(region.inputs.size() == 2);
  CHECK(region.inputs[0].value == x);
  CHECK(region.outputs[0].tensor.value == y);
}

TEST_CASE("of two products that are added, the later one takes the earlier", "[library]") {
  Block f;
  const ValueId first = f.proj(f.rows), second = f.proj(first);
  const ValueId a = f.proj(second), b = f.proj(first);
  const bool swapped = GENERATE(false, true);
  f.output(swapped ? f.add("add", {b, a}) : f.add("add", {a, b}));
  const auto claims = f.claims();
  REQUIRE(claims.size() == 4);
  for (const Claim& c : claims) {
    CHECK((c.epilogue().residual == a) == (c.epilogue().out == f.g.outputs[0]));
    CHECK(c.epilogue().residual.valid() == (c.epilogue().out == f.g.outputs[0]));
  }
}

TEST_CASE("a sum that a kernel makes on its way stays there, also when it is stored", "[library]") {
  Block f;
  const ValueId sum = f.add("add", {f.proj(f.rows), f.rows});
  f.output(f.norm(sum));
  const bool stored = GENERATE(false, true);
  if (stored) f.output(sum);
  const auto claims = f.claims();
  REQUIRE(claims.size() == 1);
  CHECK_FALSE(claims[0].epilogue().residual.valid());
}

TEST_CASE("a sum whose ReLU is not the only one to need it is taken without it", "[library]") {
  Block f;
  const ValueId sum = f.add("add", {f.proj(f.rows), f.rows});
  f.output(f.proj(sum));
  const bool both = GENERATE(false, true);  // then one kernel makes the two
  f.output(f.proj(both ? f.add("relu", {sum}) : sum));
  const auto claims = f.claims();
  REQUIRE(claims.size() == 3);
  CHECK(claims[0].epilogue().residual == (both ? ValueId{} : f.rows));
  CHECK((claims[0].epilogue().out == sum) == !both);
  CHECK(claims[0].epilogue().activation == fuse::Activation::None);
}

TEST_CASE("a summand that nothing else stores is added by the kernel that computes it", "[library]") {
  Block f;
  f.output(f.add("add", {f.proj(f.rows), f.add("exp", {f.rows})}));
  CHECK_FALSE(f.claims().at(0).epilogue().residual.valid());
}

TEST_CASE("a residual lies in memory as the result does", "[library]") {
  Block f;
  const ValueId product = f.proj(f.rows);
  ValueId other;
  bool taken = false;
  SECTION("dims that are equal by a constraint") {
    other = f.input("other", f.dtype, {"K", "8"});
    REQUIRE(f.g.require(f.expr("K == M"), "as many rows", {}));
    taken = true;
  }
  SECTION("a row that is repeated") { other = f.input("other", f.dtype, {"1", "8"}); }
  SECTION("rows that may be repeated") { other = f.input("other", f.dtype, {"K", "8"}); }
  SECTION("a transposed view") {
    const ValueId turned = f.input("other", f.dtype, {"8", "M"});
    other = f.add("transpose", {turned}, {{"perm", std::vector<int64_t>{1, 0}}});
  }
  SECTION("the result itself") { other = product; }
  f.output(f.add("add", {product, other}));
  CHECK((f.claims().at(0).epilogue().residual == other) == taken);
}

TEST_CASE("a bias may follow the residual, a scale precedes both", "[library]") {
  Block f;
  const ValueId bias = f.filled("bias", 1, {8});
  const ValueId half = f.filled("half", 0.5);
  const ValueId scaled = f.add("mul", {half, f.proj(f.rows)});
  f.output(f.add("relu", {f.add("add", {f.add("add", {scaled, f.rows}), bias})}));
  const auto claims = f.claims();
  REQUIRE(claims.size() == 1);
  const auto& call = std::get<fuse::MatmulCall>(claims[0].call);
  CHECK(call.alpha == 0.5);
  CHECK(call.residual == f.rows);
  CHECK(call.bias == bias);
  CHECK(call.activation == fuse::Activation::Relu);
  CHECK(claims[0].nodes.size() == 5);
}

TEST_CASE("f32 convolutions of single pixels, which cuBLASLt would do in two kernels, take no sum", "[library]") {
  Block f(GENERATE(DType::F32, DType::F16));
  bool taken = true;
  ValueId call, other;
  SECTION("a matrix product with a bias") {
    call = f.add("add", {f.proj(f.rows), f.filled("bias", 1, {8})});
    other = f.rows;
  }
  SECTION("a convolution of single pixels") {
    call = f.conv(other = f.conv(f.image));
    taken = f.dtype != DType::F32;
  }
  SECTION("a convolution of single pixels that skips some") {
    const ops::Attrs every_other{{"strides", std::vector<int64_t>{2, 2}}};
    other = f.add("conv", {f.image, f.w}, every_other);
    call = f.add("conv", {f.image, f.w}, every_other);
  }
  SECTION("a convolution of more pixels") {
    other = f.conv(f.image);
    call = f.add("conv", {other, f.filled("window", 1, {4, 4, 3, 3})},
                 {{"lo", f.exprs({"1", "1"})}, {"hi", f.exprs({"1", "1"})}});
  }
  const ValueId sum = f.add("add", {call, other});
  f.output(f.g.value(sum).dims.size() == 2 ? f.proj(sum) : f.conv(sum));
  bool found = false;
  for (const Claim& c : f.claims()) found |= c.epilogue().residual.valid();
  CHECK(found == taken);
}

TEST_CASE("only a finite literal other than 0 scales a product, and only a matrix product", "[library]") {
  Block f;
  const double factor = GENERATE(2.0, 0.0, std::numeric_limits<double>::infinity());
  const ValueId number = f.filled("number", factor);
  f.output(f.add("mul", {f.proj(f.rows), number}));
  f.output(f.add("mul", {f.proj(f.add("exp", {f.rows})), f.input("scale", f.dtype, {})}));
  f.output(f.add("mul", {f.conv(f.image), number}));
  const auto claims = f.claims();
  REQUIRE(claims.size() == 3);
  CHECK(std::get<fuse::MatmulCall>(claims[0].call).alpha == (factor == 2 ? 2 : 1));
  CHECK(claims[1].nodes.size() == 1);
  CHECK(claims[2].nodes.size() == 1);
}

TEST_CASE("a call in a branch and a sum outside are not one step", "[library]") {
  Block f;
  const ValueId product = f.proj(f.rows);
  const bool inside = GENERATE(false, true);
  if (inside) f.g.push_predicate(f.expr("1 <= M"));
  f.output(f.add("add", {product, f.rows}));
  if (inside) f.g.pop_predicate();
  CHECK(f.claims().at(0).epilogue().residual.valid() == !inside);
}

TEST_CASE("transposed convolutions and products without terms take no sum", "[library]") {
  Block f;
  const ValueId up = f.add("conv_transpose", {f.conv(f.image), f.w});
  f.output(f.conv(f.add("add", {up, f.conv(f.image)})));
  const ValueId a = f.input("a", f.dtype, {"M", "K"}), b = f.input("b", f.dtype, {"K", "8"});
  f.output(f.add("add", {f.add("matmul", {a, b}), f.rows}));
  for (const Claim& c : f.claims()) {
    const auto* conv = std::get_if<fuse::ConvCall>(&c.call);
    CHECK(c.epilogue().residual.valid() == (conv && c.nodes.size() > 1));
    if (conv && conv->transposed) CHECK(c.nodes.size() == 1);
  }
}

}  // namespace
}  // namespace dlcb::library
