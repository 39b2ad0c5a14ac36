#include "catch.h"
#include "cmd/common/program.h"
#include "cmd/common/units.h"

using namespace dlcb::cmd;

TEST_CASE("sizes and times have three digits") {
  CHECK(bytes_text(0) == "0 B");
  CHECK(bytes_text(999) == "999 B");
  CHECK(bytes_text(1000) == "1.00 KB");
  CHECK(bytes_text(12345678) == "12.3 MB");
  CHECK(bytes_text(999499) == "999 KB");
  CHECK(bytes_text(999500) == "1.00 MB");
  CHECK(bytes_text(UINT64_MAX) == "18.4 EB");
  CHECK(seconds_text(4.2e-6) == "4.20 us");
  CHECK(seconds_text(0.01234) == "12.3 ms");
  CHECK(seconds_text(62.04) == "62.0 s");
}

TEST_CASE("commands can be pasted into a shell") {
  CHECK(shell_words({"dlcbc", "a b", "x:f32[N]", "it's", "", "--j=4"}) == "dlcbc 'a b' 'x:f32[N]' 'it'\\''s' '' --j=4");
}
