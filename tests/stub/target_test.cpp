// Which of a bundle's targets a device runs.
#include "runtime_stub/src/cuda/target.h"

#include "catch.h"

using dlcb::rt::choose_target;

TEST_CASE("the nearest older target of the device's family is taken") {
  CHECK(choose_target({"sm_80", "sm_86"}, 8, 9) == 1);
  CHECK(choose_target({"sm_80", "sm_86"}, 8, 0) == 0);
  CHECK(choose_target({"sm_90", "sm_90a"}, 9, 0) == 1);
  CHECK(choose_target({"sm_100", "sm_103"}, 10, 3) == 1);
}

TEST_CASE("no target fits another family, an older device or a text that is no target") {
  CHECK(choose_target({"sm_80", "sm_86"}, 9, 0) == -1);
  CHECK(choose_target({"sm_86"}, 8, 0) == -1);
  CHECK(choose_target({"sm_100a"}, 10, 3) == -1);
  CHECK(choose_target({"", "90", "sm_", "sm_90x", "sm_90aa"}, 9, 0) == -1);
  CHECK(choose_target({}, 9, 0) == -1);
}
