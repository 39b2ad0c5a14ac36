#include "base/hash.h"
#include "catch.h"

using namespace dlcb;

TEST_CASE("hashes are the published ones, the same on every machine") {
  CHECK(hex(hash_bytes("")) == "99aa06d3014798d86001c324468d497f");
  CHECK(hash_bytes("a") != hash_bytes("b"));
  CHECK(hash_bytes("kernel") == hash_bytes("kernel", 6));
}
