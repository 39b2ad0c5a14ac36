// The simulator's execution of kernels: barriers, shuffles, shared memory, launch geometry, and the faults it must
// name.
#include <numeric>
#include <thread>

#include "device_kernels.h"
#include "device_sim_fixture.h"
#include "runtime_stub/include/dlcb.h"

using namespace dlcb;
using namespace dlcb::testing;

TEST_CASE("block reductions with repeated barriers and threads that leave early") {
  auto device = open_sim(kReductions, {{"row_sum", 1024}, {"reverse3", 512}});
  for (uint32_t threads : {32u, 64u, 256u, 1024u})
    for (uint32_t keep : {threads, threads / 2, 1u}) {
      INFO(threads << " threads, " << keep << " kept");
      const uint32_t rows = 37, n = 777;
      std::vector<float> x(rows * n);
      for (size_t i = 0; i < x.size(); ++i) x[i] = float(i % 13);
      Array<float> in(device, x), out(device, std::vector<float>(rows * keep, -1.f));
      const rt::Error error = device->launch(launch(0, {rows, 1, 1}, {threads, 1, 1}, 0, {in, out, n, keep}), nullptr);
      INFO(error.message);
      REQUIRE(!error);
      const auto y = out.read();
      for (uint32_t r = 0; r < rows; ++r) {
        const float sum = std::accumulate(x.begin() + r * n, x.begin() + (r + 1) * n, 0.f);
        for (uint32_t k = 0; k < keep; ++k) REQUIRE(y[r * keep + k] == sum);
      }
    }
}

TEST_CASE("three-dimensional blocks and grids with dynamic shared memory") {
  auto device = open_sim(kReductions, {{"row_sum", 1024}, {"reverse3", 512}});
  const uint32_t n = 8 * 6 * 5, blocks = 3 * 4 * 7;
  std::vector<int32_t> x(n * blocks);
  std::iota(x.begin(), x.end(), 0);
  Array<int32_t> in(device, x), out(device, std::vector<int32_t>(x.size()));
  REQUIRE(!device->launch(launch(1, {3, 4, 7}, {8, 6, 5}, n * 4, {in, out, n}), nullptr));
  const auto y = out.read();
  for (uint32_t b = 0; b < blocks; ++b)
    for (uint32_t t = 0; t < n; ++t) REQUIRE(y[b * n + t] == int32_t(b * n + n - 1 - t));
}

TEST_CASE("a fiber's stack is aligned as the ABI has it") {
  auto device = open_sim(kReductions, {{"stack_alignment", 64}});
  Array<uint64_t> out(device, std::vector<uint64_t>(64, 1));
  REQUIRE(!device->launch(launch(0, {1, 1, 1}, {64, 1, 1}, 0, {out}), nullptr));
  for (uint64_t remainder : out.read()) CHECK(remainder == 0);
}

TEST_CASE("argument slots of every size, and shuffles of 1 to 8 bytes") {
  auto device = open_sim(kEveryName, {{"every_warp", 32}, {"every_vector", 32}});
  std::vector<int64_t> x(32);
  for (int i = 0; i < 32; ++i) x[i] = (int64_t(i) << 40) + i;
  Array<int64_t> in(device, x), out(device, std::vector<int64_t>(32));
  REQUIRE(!device->launch(launch(0, {1, 1, 1}, {32, 1, 1}, 32 * 8, {in, out, 0xfe}), nullptr));
  const auto y = out.read();
  for (int t = 0; t < 32; ++t) REQUIRE(y[t] == x[(31 - t) ^ 1] + (3 + -2 + 2) + (t ^ 16) + 5);
}

TEST_CASE("launches a GPU would refuse are refused") {
  auto device = open_sim(kReductions, {{"row_sum", 64}, {"reverse3", 512}});
  CHECK(device->launch(launch(0, {1, 1, 1}, {128, 1, 1}, 0, {0, 0, 0, 0}), nullptr).status != 0);
  CHECK(device->launch(launch(0, {1, 65536, 1}, {32, 1, 1}, 0, {0, 0, 0, 0}), nullptr).status != 0);
  CHECK(device->launch(launch(0, {1, 1, 1}, {32, 1, 1}, 300000, {0, 0, 0, 0}), nullptr).status != 0);
  CHECK(device->launch(launch(0, {1, 1, 1}, {0, 1, 1}, 0, {0, 0, 0, 0}), nullptr).status != 0);
  CHECK(device->launch(launch(0, {0, 1, 1}, {32, 1, 1}, 0, {0, 0, 0, 0}), nullptr).status == 0);
}

TEST_CASE("the parameters of the code are those of the bundle") {
  std::shared_ptr<rt::Device> device;
  const auto status_of = [&](const char* params) {
    return open_texts({kReductions}, {{"reverse3", 512, params}}, shared_folder(), &device).status;
  };
  CHECK(status_of("pp4") == DLCB_OK);
  for (const char* other : {"", "pp", "pp44", "p84", "pp8"}) CHECK(status_of(other) == DLCB_BAD_BUNDLE);
  CHECK(device->launch(launch(0, {1, 1, 1}, {32, 1, 1}, 256, {0, 0}), nullptr).status == DLCB_INTERNAL);
}

TEST_CASE("a kernel may have very many parameters") {
  std::string params, sum = "0";
  for (int i = 0; i < 1500; ++i) {
    params += ", i64 p" + std::to_string(i);
    sum += "+p" + std::to_string(i);
  }
  auto device = open_sim(
      "DLCB_KERNEL(many, 32) (i64* out" + params + ") { *out = " + sum + "; }\nDLCB_EXPORT(many, 0)\n", {{"many", 32}});
  Array<int64_t> out(device, {0});
  std::vector<uint64_t> args(1501, 2);
  args[0] = out;
  REQUIRE(!device->launch(launch(0, {1, 1, 1}, {1, 1, 1}, 0, args), nullptr));
  CHECK(out.read()[0] == 3000);
}

TEST_CASE("faulty kernels are reported, and the device goes on working") {
  auto device = open_sim(kFaulty, {{"deadlock", 32}, {"two_barriers", 32}, {"undeclared", 32}, {"one_place", 64}});
  Array<int32_t> out(device, std::vector<int32_t>(64));
  const char* expected[] = {"deadlock", "different barriers", "never synchronizing"};
  for (uint32_t entry = 0; entry < 3; ++entry) {
    const rt::Error error = device->launch(launch(entry, {1, 1, 1}, {32, 1, 1}, 0, {out}), nullptr);
    INFO(error.message);
    CHECK(error.message.find(expected[entry]) != std::string::npos);
  }
  CHECK(!device->launch(launch(3, {1, 1, 1}, {64, 1, 1}, 0, {out}), nullptr));
}

TEST_CASE("the race check finds a missing barrier and a contended place, and passes sound kernels") {
  Variable wanted("DLCB_SIM_RACE_CHECK", "1");
  auto device = open_sim(kFaulty, {{"no_barrier", 64}, {"one_place", 64}});
  std::vector<int32_t> x(64);
  std::iota(x.begin(), x.end(), 0);
  Array<int32_t> in(device, x), out(device, std::vector<int32_t>(64));
  CHECK(device->launch(launch(0, {1, 1, 1}, {64, 1, 1}, 0, {in, out}), nullptr).status != 0);
  CHECK(device->launch(launch(1, {1, 1, 1}, {64, 1, 1}, 0, {out}), nullptr).status != 0);

  auto sound = open_sim(kReductions, {{"row_sum", 1024}, {"reverse3", 512}});
  Array<int32_t> a(sound, x);  // in place: the second run must start from the first one's input
  REQUIRE(!sound->launch(launch(1, {1, 1, 1}, {64, 1, 1}, 256, {a, a, 64}), nullptr));
  for (int i = 0; i < 64; ++i) CHECK(a.read()[i] == 63 - i);
}

TEST_CASE("contexts on several threads share one device's modules") {
  auto device = open_sim(kReductions, {{"row_sum", 1024}, {"reverse3", 512}});
  std::vector<std::thread> threads;
  std::vector<int> good(4);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      std::shared_ptr<rt::Device> own;
      if (device->fork(&own)) return;
      std::vector<int32_t> x(256 * 50, t), y(x.size());
      const auto in = reinterpret_cast<rt::Ptr>(x.data()), out = reinterpret_cast<rt::Ptr>(y.data());
      if (own->launch(launch(1, {50, 1, 1}, {256, 1, 1}, 1024, {in, out, 256}), nullptr)) return;
      good[t] = x == y;
    });
  for (auto& thread : threads) thread.join();
  for (int g : good) CHECK(g == 1);
}
