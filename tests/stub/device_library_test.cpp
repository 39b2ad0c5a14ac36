// The simulator's library steps (oneDNN and the plain loops) against loops in double.
#include <cstring>

#include "device_math_calls.h"
#include "device_sim_fixture.h"
#include "runtime_stub/include/dlcb.h"

using namespace dlcb;
using namespace dlcb::testing;

namespace {

rt::Ptr place(Values& v) { return v.value.empty() ? 0 : reinterpret_cast<rt::Ptr>(v.bytes.data()); }

double tolerance(int dtype, int64_t terms) {
  const double rounding = dtype == kF64 ? 1e-15 : dtype == kF32 ? 1e-6 : dtype == kF16 ? 1e-3 : 8e-3;
  return rounding * (4 + std::sqrt(double(terms)));
}

void check(const Values& got, const std::vector<double>& expected, double tolerated) {
  double worst = 0;
  for (size_t i = 0; i < expected.size(); ++i)
    worst = std::max(worst, std::abs(got.get(i) - expected[i]) / (1 + std::abs(expected[i])));
  CHECK(worst <= tolerated);
}

void check_matmul(rt::Device& device, const MatmulOptions& o, std::mt19937& random) {
  MatmulCase t = make_matmul(o, random);
  Values c(o.dtype, t.c_elements);
  for (size_t i = 0; i < t.c_elements; ++i) c.set(i, 7);
  t.call.a = place(t.a);
  t.call.b = place(t.b);
  t.call.c = place(c);
  t.call.bias = place(t.bias);
  t.call.residual = place(t.residual);
  const rt::Error error = device.matmul(t.call, nullptr);
  INFO(error.message);
  REQUIRE(!error);
  check(c, t.expected(7), tolerance(o.dtype, o.k));
}

void check_conv(rt::Device& device, const ConvOptions& o, std::mt19937& random) {
  ConvCase t = make_conv(o, random);
  Values y(o.dtype, t.y_elements);
  t.call.x = place(t.x);
  t.call.w = place(t.w);
  t.call.y = place(y);
  t.call.bias = place(t.bias);
  t.call.residual = place(t.residual);
  const rt::Error error = device.conv(t.call, nullptr);
  INFO(error.message);
  REQUIRE(!error);
  check(y, t.expected(), tolerance(o.dtype, o.c * o.r * o.s));
}

std::shared_ptr<rt::Device> device_for(bool reference) {
  Variable wanted("DLCB_SIM_REFERENCE", reference ? "1" : "0");
  std::shared_ptr<rt::Device> device;
  REQUIRE(!open_texts({}, {}, shared_folder(), &device));
  return device;
}

}  // namespace

TEST_CASE("matmul in all its forms") {
  for (bool reference : {false, true}) {
    auto device = device_for(reference);
    std::mt19937 random(7);
    for (int dtype : {kF32, kF16, kBF16, kF64})
      for (int bits = 0; bits < 64; ++bits) {
        MatmulOptions o;
        o.dtype = dtype;
        o.m = 1 + random() % 20;
        o.n = 1 + random() % 20;
        o.k = 1 + random() % 40;
        o.trans_a = bits & 1;
        o.trans_b = bits & 2;
        o.bias = bits & 4;
        o.residual = bits & 8;
        o.share_a = bits & 16;
        o.share_b = bits & 32;
        o.batch = 1 + random() % 3;
        o.slack = random() % 3;
        o.alpha = random() % 2 ? 1 : 0.25;
        o.activation = int(std::vector<int>{0, 1, 2, 3, 4, 5, 6, 8}[random() % 8]);
        INFO("reference " << reference << " " << dtype_name(dtype) << " bits " << bits << " activation "
                          << o.activation);
        check_matmul(*device, o, random);
      }
  }
}

// Attention heads lie side by side in each row: batch strides are smaller than a matrix.
TEST_CASE("matmul of interleaved matrices") {
  for (bool reference : {false, true}) {
    auto device = device_for(reference);
    constexpr int64_t heads = 3, m = 5, k = 7, width = 4;
    std::vector<float> a(heads * m * k), b(k * heads * width), c(heads * m * width);
    for (size_t i = 0; i < a.size(); ++i) a[i] = float(i % 11) - 5;
    for (size_t i = 0; i < b.size(); ++i) b[i] = float(i % 7) - 3;
    rt::MatmulCall call{};
    call.a = reinterpret_cast<rt::Ptr>(a.data());
    call.b = reinterpret_cast<rt::Ptr>(b.data());
    call.c = reinterpret_cast<rt::Ptr>(c.data());
    call.dtype = kF32;
    call.m = m, call.n = width, call.k = k, call.batch = heads;
    call.lda = k, call.ldb = heads * width, call.ldc = width;
    call.stride_a = m * k, call.stride_b = width, call.stride_c = m * width;
    call.alpha = 1;
    REQUIRE(!device->matmul(call, nullptr));
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < width; ++j) {
          float wanted = 0;
          for (int64_t t = 0; t < k; ++t) wanted += a[(h * m + i) * k + t] * b[t * heads * width + h * width + j];
          CHECK(c[(h * m + i) * width + j] == wanted);
        }
  }
}

TEST_CASE("matmul without terms or without results") {
  for (bool reference : {false, true}) {
    auto device = device_for(reference);
    std::mt19937 random(7);
    MatmulOptions o;
    o.m = 3;
    o.n = 4;
    o.k = 0;
    o.bias = true;
    check_matmul(*device, o, random);
    rt::MatmulCall nothing{};
    nothing.n = nothing.k = nothing.batch = 5;
    CHECK(!device->matmul(nothing, nullptr));
  }
}

TEST_CASE("convolution in all its forms") {
  for (bool reference : {false, true}) {
    auto device = device_for(reference);
    std::mt19937 random(9);
    for (int dtype : {kF32, kF16, kBF16, kF64})
      for (int round = 0; round < 60; ++round) {
        ConvOptions o;
        o.dtype = dtype;
        auto pick = [&](int low, int high) { return low + int(random() % unsigned(high - low + 1)); };
        o.n = pick(1, 2);
        o.r = pick(1, 4);
        o.s = pick(1, 4);
        o.h = pick(7, 12);
        o.w = pick(7, 12);
        o.groups = std::vector<int>{1, 1, 2, 4}[random() % 4];
        o.c = o.groups * pick(1, 5);
        o.k = o.groups * pick(1, 5);
        for (int i = 0; i < 4; ++i) o.pad[i] = pick(0, 1);
        for (int i = 0; i < 2; ++i) o.stride[i] = pick(1, 3);
        for (int i = 0; i < 2; ++i) o.dilation[i] = pick(1, 2);
        o.transposed = round % 3 == 2;
        o.output_padding = o.transposed ? pick(0, 1) : 0;
        o.bias = random() % 2;
        o.residual = random() % 2;
        o.activation = random() % 2;
        INFO("reference " << reference << " " << dtype_name(dtype) << " round " << round);
        check_conv(*device, o, random);
      }
  }
}

TEST_CASE("what libraries do not take is handed back") {
  auto device = device_for(false);
  rt::MatmulCall call{};
  call.dtype = 10;  // i64
  CHECK(device->matmul(call, nullptr).status == DLCB_MISSING_LIBRARY);
  call.dtype = kF32;
  call.activation = 9;  // clip needs bounds
  CHECK(device->matmul(call, nullptr).status == DLCB_MISSING_LIBRARY);
}
