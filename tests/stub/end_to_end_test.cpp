// The whole way through the C interface: a bundle made by hand, its kernels run by the simulator.
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "bundle/sample.h"
#include "catch.h"
#include "dlcb.h"

namespace {

const char* const kSource = R"(
DLCB_KERNEL(k0, 32) (const float* x, const u8* w, float* t, i64 n) {
  for (i64 i = blockIdx.x * 32 + threadIdx.x; i < n; i += (i64)gridDim.x * 32) t[i] = x[i] + (float)w[i % 3];
}
DLCB_EXPORT(k0, 0)
DLCB_KERNEL(k1, 32) (const float* t, float* y, i64 n) {
  for (i64 i = blockIdx.x * 32 + threadIdx.x; i < n; i += (i64)gridDim.x * 32) y[i] = 2 * t[i];
}
DLCB_EXPORT(k1, 0)
)";

std::vector<uint8_t> bundle() {
  const auto program = dlcb::test::sample_program();
  return dlcb::test::make_bundle(program.program, program.finish(), dlcb::test::manifest_text(), kSource);
}

dlcb_options simulated() {
  dlcb_options options;
  dlcb_options_init(&options);
  options.device = DLCB_SIM;
  options.sim_cache_dir = "/tmp/dlcb_test_cache";
  return options;
}

// y = 2 * (x + [0, 1, 2]) for both rows of a [2, 3] input; then a call that is refused.
void use(dlcb_model* model) {
  REQUIRE(dlcb_input_count(model) == 1);
  CHECK(std::string(dlcb_input_name(model, 0)) == "x");
  CHECK(std::string(dlcb_input_dim(model, 0, 0)) == "N");
  CHECK(std::string(dlcb_output_dim(model, 0, 1)) == "3");
  CHECK(dlcb_output_rank(model, 0) == 2);
  CHECK(std::string(dlcb_manifest(model)) == dlcb::test::manifest_text());
  CHECK(dlcb_input_name(model, 1) == nullptr);
  CHECK(dlcb_input_dim(model, 0, 2) == nullptr);

  dlcb_context* context = nullptr;
  REQUIRE(dlcb_context_create(model, &context) == DLCB_OK);
  float values[] = {0, 0, 0, 10, 10, 10};
  int64_t shape[] = {2, 3}, result_shape[2] = {};
  const DLTensor x = {values, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, nullptr, 0};
  DLTensor y{};
  y.shape = result_shape;
  for (int i = 0; i < 2; ++i) {  // the filled-in output is passed again
    const dlcb_status status = dlcb_invoke(context, &x, 1, &y, 1, nullptr);
    INFO(dlcb_last_error(context));
    REQUIRE(status == DLCB_OK);
    CHECK(result_shape[0] == 2);
    CHECK(y.device.device_type == kDLCPU);
    const float* result = static_cast<const float*>(y.data);
    CHECK(std::vector<float>(result, result + 6) == std::vector<float>{0, 2, 4, 20, 22, 24});
  }
  shape[1] = 4;
  CHECK(dlcb_invoke(context, &x, 1, &y, 1, nullptr) == DLCB_INPUT_REFUSED);
  CHECK(std::string(dlcb_last_error(context)) == "input 'x' dim 1 is 4, but 3 is needed");
  dlcb_context_free(context);
}

}  // namespace

TEST_CASE("load from memory and run") {
  const dlcb_options options = simulated();
  dlcb_model* model = nullptr;
  {
    std::vector<uint8_t> bytes = bundle();
    const dlcb_status status = dlcb_load_memory(bytes.data(), bytes.size(), &options, &model);
    INFO(dlcb_last_error(nullptr));
    REQUIRE(status == DLCB_OK);
  }
  use(model);
  dlcb_model_free(model);
}

TEST_CASE("load from a file and run") {
  const std::string path = "/tmp/dlcb_test_" + std::to_string(::getpid()) + ".dlcb";
  const std::vector<uint8_t> bytes = bundle();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  const dlcb_options options = simulated();
  dlcb_model* model = nullptr;
  const dlcb_status status = dlcb_load_file(path.c_str(), &options, &model);
  INFO(dlcb_last_error(nullptr));
  REQUIRE(status == DLCB_OK);
  ::unlink(path.c_str());
  use(model);
  dlcb_model_free(model);
}
