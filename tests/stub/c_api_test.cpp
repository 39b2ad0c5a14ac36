// Runs the checks of c_api_test.c.
#include "catch.h"

extern "C" int c_api_without_device(const char* bad_path);

TEST_CASE("the C interface refuses misuse") { CHECK(c_api_without_device("/proc/self/exe") == 0); }
