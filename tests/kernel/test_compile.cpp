// What the CUDA compiler makes of generated kernels: needs NVRTC, no device.
#include <algorithm>
#include <unordered_set>

#include "catch.h"
#include "cuda/cubin.h"
#include "cuda/modules.h"
#include "launch.h"

namespace dlcb::testing {

namespace {

// Equal texts of all lists are compiled once.
std::vector<cuda::EntryFacts> compile(std::initializer_list<std::span<const Compiled>> lists) {
  std::vector<cuda::KernelText> texts;
  std::unordered_set<std::string> names;
  for (std::span<const Compiled> cases : lists) {
    for (const Compiled& c : cases) {
      for (const kernel::Function& f : c.kernel.functions) {
        if (names.insert(f.name).second) texts.push_back({f.name, f.text});
      }
    }
  }
  auto modules = cuda::compile_modules(cuda::arrange_modules(texts), {{*cuda::parse_target("sm_90")}, 0, nullptr});
  if (!modules) FAIL(message(modules.error()));
  return modules->entries;
}

const cuda::EntryFacts& facts_of(std::span<const cuda::EntryFacts> entries, const std::string& name) {
  auto found = std::ranges::find(entries, name, &cuda::EntryFacts::name);
  REQUIRE(found != entries.end());
  return *found;
}

}  // namespace

TEST_CASE("kernels compile for sm_90 without arrays in local memory or calls and cost what literal sizes cost") {
  if (auto version = cuda::nvrtc_version(); !version) {
    WARN("skipped: " << message(version.error()));
    return;
  }
  std::vector<Compiled> dynamic = compile_cases(), literal = compile_cases({.literal_dims = true});
  const std::vector<cuda::EntryFacts> entries = compile({dynamic, literal});
  for (size_t i = 0; i < dynamic.size(); i++) {
    REQUIRE(dynamic[i].kernel.functions.size() == literal[i].kernel.functions.size());
    for (size_t f = 0; f < dynamic[i].kernel.functions.size(); f++) {
      const cuda::EntryFacts& a = facts_of(entries, dynamic[i].kernel.functions[f].name);
      const cuda::EntryFacts& b = facts_of(entries, literal[i].kernel.functions[f].name);
      INFO(dynamic[i].test->name << ", " << a.name << ": " << a.instructions << " instructions, " << b.instructions
                                 << " with literals, " << a.registers << " registers");
      CHECK(a.stack_bytes <= 32);  // a few registers that the compiler saves for the sake of full occupancy
      CHECK((!a.has_calls || dynamic[i].test->calls));
      CHECK(a.registers * a.max_threads <= 65536);
      CHECK(a.instructions <= b.instructions * 1.15 + 16);
    }
  }
}

TEST_CASE("a cubin tells what its kernels use") {
  if (!cuda::nvrtc_version()) {
    WARN("skipped: no NVRTC");
    return;
  }
  auto cubin = cuda::compile_to_cubin(
      "extern \"C\" __global__ void __launch_bounds__(96) plain(float* p) { __shared__ float s[40]; s[threadIdx.x] = "
      "p[0]; "
      "__syncthreads(); p[1] = s[3] * 2; }\n"
      "extern \"C\" __global__ void dividing(long long* p) { p[0] = p[1] / p[2]; }\n"
      "extern \"C\" __global__ void spilling(int* p) { int a[64]; for (int i = 0; i < p[0]; ++i) a[p[i]] = i; p[1] = "
      "a[p[2]]; }\n",
      *cuda::parse_target("sm_90"));
  REQUIRE(cubin);
  auto kernels = cuda::read_cubin({reinterpret_cast<const std::byte*>(cubin->data()), cubin->size()});
  REQUIRE(kernels);
  REQUIRE(kernels->size() == 3);
  const cuda::KernelInfo &dividing = (*kernels)[0], &plain = (*kernels)[1], &spilling = (*kernels)[2];
  CHECK(plain.name == "plain");
  CHECK(plain.max_threads == 96);
  CHECK(plain.shared_bytes == 160);
  CHECK(plain.registers > 0);
  CHECK(plain.instructions > 0);
  CHECK(plain.instructions % 8 == 0);
  CHECK(plain.stack_bytes == 0);
  CHECK_FALSE(plain.has_calls);
  CHECK(dividing.has_calls);
  CHECK(spilling.stack_bytes >= 256);
  CHECK_FALSE(cuda::read_cubin({}));
}

}  // namespace dlcb::testing
