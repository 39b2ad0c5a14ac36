// The inspector's views of a bundle made by hand.
#include <nlohmann/json.hpp>

#include "bundle/sample.h"
#include "bundle_format/reader.h"
#include "catch.h"
#include "cmd/inspect/view.h"

using namespace dlcb;
using namespace dlcb::cmd;

namespace {

// x: f32[N, 3] -> y: f32[N, 3], guard N <= 8, one kernel, one arena buffer.
struct Sample {
  Sample() : bytes(test::sample_bundle()) {
    bundle::Error error = bundle::Bundle::open_memory(bytes, &opened);
    INFO(error.message);
    REQUIRE_FALSE(error);
  }
  const bundle::Bundle& bundle() const { return *opened; }
  test::Bytes bytes;
  std::shared_ptr<bundle::Bundle> opened;
};

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("summary names inputs, outputs and what is checked") {
  Sample sample;
  Json view = summary_view(sample.bundle(), "m.dlcb");
  CHECK(view["inputs"][0]["type"] == "f32[N, 3]");
  CHECK(view["guards"] == 1);
  CHECK(view["weight_bytes"] == 64);
  std::string text = summary_text(view);
  INFO(text);
  CHECK(contains(text, "input    x: f32[N, 3]\n"));
  CHECK(contains(text, "output   y: f32[N, 3]\n"));
}

TEST_CASE("dims and guards are in the model's terms") {
  Sample sample;
  Json dims = dims_view(sample.bundle());
  CHECK(dims["symbols"][0]["name"] == "N");
  CHECK(dims["symbols"][0]["is"][0]["input"] == "x");
  CHECK(contains(dims_text(dims), "dim 0 of input 'x'"));
  CHECK(contains(guards_text(guards_view(sample.bundle())), "N <= 8"));
}

TEST_CASE("every view renders") {
  Sample sample;
  const Json kernels = kernels_view(sample.bundle());
  CHECK(kernels["kernels"][0]["calls"] == false);
  CHECK(contains(kernels_text(kernels), "regs"));
  CHECK(contains(host_text(host_view(sample.bundle())), "input_dim 0, 0  ; x"));
  CHECK(contains(thunks_text(thunks_view(sample.bundle(), nullptr)), "launch"));
  CHECK(contains(memory_text(memory_view(sample.bundle(), nullptr)), "Arena"));
}

TEST_CASE("a library call shows its scale and what is added") {
  auto builder = test::sample_program();
  fb::MatmulT product;  // y = 0.5 x W + t + W
  product.b = product.bias = 2;
  product.c = 1;
  product.residual = 3;
  product.alpha = 0.5;
  builder.program.steps.pop_back();
  builder.step(product);
  std::shared_ptr<bundle::Bundle> opened;
  const bundle::Error error = bundle::Bundle::open_memory(test::make_bundle(builder), &opened);
  INFO(error.message);
  REQUIRE_FALSE(error);
  const std::string text = thunks_text(thunks_view(*opened, nullptr));
  INFO(text);
  CHECK(contains(text, "%1 = 0.5 * %0 x %2 + %2 + %3 t; batch 3"));
}

TEST_CASE("a kernel's source is a view like others; unknown kernels get the closest name") {
  Sample sample;
  const auto view = source_view(sample.bundle(), "k1");
  REQUIRE(view);
  CHECK((*view)["kernel"] == "k1");
  CHECK_FALSE(source_text(*view).empty());
  CHECK(source_text(*view) == (*view)["source"]);
  const auto unknown = source_view(sample.bundle(), "k2");
  REQUIRE_FALSE(unknown);
  CHECK(contains(message(unknown.error()), "unknown kernel 'k2' (did you mean 'k"));
}

TEST_CASE("--eval resolves shapes and memory") {
  Sample sample;
  auto at = evaluate(sample.bundle().program(), "N=4");
  REQUIRE(at);
  CHECK_FALSE(at->failed);
  CHECK(at->input_dims == std::vector<std::vector<int64_t>>{{4, 3}});
  Json view = evaluation_view(sample.bundle(), *at);
  CHECK(view["accepted"] == true);
  CHECK(view["outputs"][0]["shape"] == Json({4, 3}));
  CHECK(view["arena_bytes"].get<uint64_t>() >= 48);
  CHECK(contains(evaluation_text(view), "output   y: f32[4, 3]\n"));
  CHECK(memory_view(sample.bundle(), &*at)["arena_bytes"] == view["arena_bytes"]);
}

TEST_CASE("--eval says which guard refuses") {
  Sample sample;
  auto at = evaluate(sample.bundle().program(), "N=9");
  REQUIRE(at);
  CHECK(at->failed == 0u);
  Json view = evaluation_view(sample.bundle(), *at);
  CHECK(view["accepted"] == false);
  CHECK(view["refused"]["guard"] == "N <= 8");
  CHECK(contains(evaluation_text(view), "refused  N <= 8\n"));
}

TEST_CASE("--eval refuses names it does not know and dims it is not told") {
  Sample sample;
  auto error_of = [&](const std::string& bindings) {
    auto at = evaluate(sample.bundle().program(), bindings);
    return at ? std::string() : message(at.error());
  };
  CHECK(error_of("") == "--eval: no value for dim 'N' of input 'x'");
  CHECK(error_of("M=3") == "--eval: unknown dim 'M' (did you mean 'N'?)");
  CHECK(error_of("N") == "--eval: 'N' is not NAME=VALUE");
  CHECK(error_of("N=x") == "--eval: 'x' is not an integer");
  CHECK(error_of("N=-1") == "--eval: dim 'N' of input 'x' has no legal value");
}
