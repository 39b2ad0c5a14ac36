// The CUDA prelude, and every name in it, compile under NVRTC for each architecture family. Needs libnvrtc, not a GPU;
// passes with a note where there is none.
#include "device_nvrtc.h"

#include "catch.h"
#include "device_kernels.h"

using namespace dlcb::testing;

TEST_CASE("the CUDA prelude compiles for every architecture family") {
  Nvrtc nvrtc;
  if (!nvrtc.available()) {
    WARN("no libnvrtc: the CUDA prelude was not compiled");
    return;
  }
  for (const char* arch : {"sm_75", "sm_80", "sm_90", "sm_100", "sm_120"}) {
    INFO(arch);
    CHECK(nvrtc.compile(kEveryName, arch) == "");
    CHECK(nvrtc.compile(kReductions, arch) == "");
    CHECK(nvrtc.compile(kConversions, arch) == "");
  }
}
