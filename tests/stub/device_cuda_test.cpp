// What of the CUDA device can be checked without a GPU: target choice, parameters of kernels, convolution plans for a
// described H200 (where cuDNN is installed), and plain refusals where there is no driver.
#include <string>

#include "catch.h"
#include "runtime_stub/src/cuda/conv_plan.h"
#include "runtime_stub/src/cuda/parameters.h"
#include "runtime_stub/src/cuda/target.h"

using namespace dlcb::rt;

// cuDNN's engines keep memory of their own when a plan is built, some in libraries that are unloaded again, which no
// suppression by name can match: LeakSanitizer, where there is one, looks away while plans are built.
extern "C" {
__attribute__((weak)) void __lsan_disable();
__attribute__((weak)) void __lsan_enable();
}
namespace {
struct LeaksIgnored {
  LeaksIgnored() {
    if (__lsan_disable) __lsan_disable();
  }
  ~LeaksIgnored() {
    if (__lsan_enable) __lsan_enable();
  }
};
}  // namespace

TEST_CASE("a target is chosen by compute capability") {
  CHECK(choose_target({"sm_80", "sm_90"}, 9, 0) == 1);
  CHECK(choose_target({"sm_80", "sm_86"}, 8, 6) == 1);
  CHECK(choose_target({"sm_86", "sm_80"}, 8, 9) == 0);
  CHECK(choose_target({"sm_80", "sm_86"}, 8, 0) == 0);
  CHECK(choose_target({"sm_90", "sm_90a"}, 9, 0) == 1);
  CHECK(choose_target({"sm_100a", "sm_100f", "sm_100"}, 10, 3) == 1);
  CHECK(choose_target({"sm_120"}, 12, 1) == 0);
  CHECK(choose_target({"sm_90"}, 8, 0) == -1);
  CHECK(choose_target({"sm_86"}, 8, 0) == -1);
  CHECK(choose_target({"", "sm_", "sm_9", "compute_90", "sm_90z", "sm_90aa"}, 9, 0) == -1);
  CHECK(choose_target({}, 9, 0) == -1);
}

namespace {

// A driver whose every function has the parameters (pointer, 4 bytes, 4 bytes, 8 bytes).
CUresult four_parameters(CUfunction, size_t index, size_t* offset, size_t* size) {
  constexpr size_t kOffsets[] = {0, 8, 12, 16}, kSizes[] = {8, 4, 4, 8};
  if (index >= std::size(kSizes)) return kCudaErrorInvalidValue;
  *offset = kOffsets[index];
  *size = kSizes[index];
  return 0;
}

Driver described_by(CUresult (*parameters)(CUfunction, size_t, size_t*, size_t*)) {
  Driver driver;
  driver.cuFuncGetParamInfo = parameters;
  driver.cuGetErrorName = [](CUresult, const char** text) { return *text = "NAME", 0; };
  driver.cuGetErrorString = [](CUresult, const char** text) { return *text = "words", 0; };
  return driver;
}

}  // namespace

TEST_CASE("a kernel with other parameters than its launches pass is refused") {
  const Driver driver = described_by(four_parameters);
  const auto status = [&](const char* passed) {
    return check_parameters(driver, nullptr, {"k", 0, 1, false, passed}).status;
  };
  CHECK(status("p448") == DLCB_OK);
  CHECK(status("p44p") == DLCB_OK);  // the driver does not tell them apart
  for (const char* other : {"", "p", "p44", "p4484", "p484", "4448", "p444", "8448p"}) {
    INFO(other);
    CHECK(status(other) == DLCB_BAD_BUNDLE);
  }
}

TEST_CASE("parameters of kernels are believed where they cannot be compared") {
  CHECK(!check_parameters(described_by(nullptr), nullptr, {"k", 0, 1, false, "44"}));  // an old driver
  CHECK(!check_parameters(described_by(four_parameters), nullptr, {"k", 0, 1, false, std::nullopt}));
  const auto none = [](CUfunction, size_t, size_t*, size_t*) -> CUresult { return kCudaErrorInvalidValue; };
  CHECK(!check_parameters(described_by(none), nullptr, {"k", 0, 1, false, ""}));
  const auto broken = [](CUfunction, size_t, size_t*, size_t*) -> CUresult { return kCudaErrorInvalidImage; };
  CHECK(check_parameters(described_by(broken), nullptr, {"k", 0, 1, false, "p"}).message ==
        "cuFuncGetParamInfo of k: words (NAME)");
}

namespace {

const char kH200[] =
    R"({"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],"regsPerBlock":65536,"multiProcessorCount":132,)"
    R"("warpSize":32,"maxSharedMemoryPerBlock":49152,"maxSharedMemoryPerBlockOptin":232448,"reservedSharedMemoryPerBlock":1024,)"
    R"("maxRegistersPerSM":65536,"maxCtasPerSM":32,"maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,"pciDeviceId":0,)"
    R"("isTccDriver":0,"supportCoopLaunch":1,"totalGlobalMem":150109880320,"smClockRateKHz":1980000,)"
    R"("memClockRateKHz":3201000,"l2CacheSize":62914560,"cudaDeviceId":0,"deviceVer":900,"driverVer":13000,)"
    R"("deviceName":"NVIDIA H200"})";

ConvCall conv3x3(int dtype, int64_t c, int64_t groups) {
  ConvCall call{};
  call.x = call.w = call.y = 256;
  call.dtype = dtype;
  call.n = 4;
  call.h = call.wd = call.p = call.q = 28;
  call.c = c;
  call.k = 64;
  call.r = call.s = 3;
  call.groups = groups;
  for (int i = 0; i < 2; ++i) call.pad[i] = call.pad[i + 2] = call.stride[i] = call.dilation[i] = 1;
  return call;
}

}  // namespace

TEST_CASE("cuDNN has precompiled plans for every forward convolution a step can ask for") {
  const LeaksIgnored ignored;
  const cudnn::Api* api = nullptr;
  if (const Error error = open_api(&api)) {
    WARN("not checked: " << error.message);
    return;
  }
  if (api->version() < 90800) {
    WARN("not checked: this cuDNN builds no plans without a GPU");
    return;
  }
  cudnn::Descriptor device(*api, cudnn::Kind::DeviceProperties);
  device.set(cudnn::kDeviceJson, cudnn::Type::Char, int64_t(sizeof kH200 - 1), kH200);
  REQUIRE(device.finalize() == 0);
  const ConvTarget target{api, nullptr, &device};
  for (int dtype : {0, 1, 2})
    for (int64_t groups : {1, 4, 64})
      for (int bits = 0; bits < 16; ++bits) {
        ConvCall call = conv3x3(dtype, 64, groups);
        call.bias = bits & 1 ? 256 : 0;
        call.residual = bits & 2 ? 256 : 0;
        call.activation = bits & 4 ? 1 : 0;
        call.tf32 = bits & 8;
        INFO("dtype " << dtype << ", " << groups << " groups, bits " << bits);
        ConvPlan plan;
        const Error error = build_conv_plan(target, call, &plan);
        INFO(error.message);
        CHECK(!error);
        CHECK(!plan.runtime_compiled);
        CHECK(plan.zero_bias == (!call.bias && (call.residual || call.activation)));
      }

  SECTION("asymmetric padding, 3 channels, a transposed convolution with output padding") {
    ConvCall call = conv3x3(1, 3, 1);
    call.stride[0] = call.stride[1] = 2;
    call.pad[0] = call.pad[1] = 0;
    call.p = call.q = 14;
    ConvPlan plan;
    CHECK(!build_conv_plan(target, call, &plan));
    ConvCall up = conv3x3(0, 16, 1);
    up.transposed = true;
    up.stride[0] = up.stride[1] = 2;
    up.p = up.q = (28 - 1) * 2 + 3 - 2 + 1;
    ConvPlan up_plan;
    CHECK(!build_conv_plan(target, up, &up_plan));
  }
  SECTION("what it does not take is handed back") {
    ConvCall call = conv3x3(10, 64, 1);
    ConvPlan plan;
    CHECK(build_conv_plan(target, call, &plan).status == DLCB_MISSING_LIBRARY);
    call.dtype = 0;
    call.activation = 4;
    CHECK(build_conv_plan(target, call, &plan).status == DLCB_MISSING_LIBRARY);
  }
}

TEST_CASE("opening the CUDA device never fails other than by an error") {
  std::shared_ptr<Device> device;
  DeviceConfig config;
  config.device_index = -1;
  const Error error = open_cuda(config, &device);
  CHECK(error.status != DLCB_OK);
  CHECK(!error.message.empty());
}
