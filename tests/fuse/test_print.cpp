// The steps' text, where what they share is too much to be written out.
#include "fuse/print.h"

#include "fuse/fuse.h"
#include "graph/fixture.h"

namespace dlcb::fuse {
namespace {

using graph::testing::Fixture;
using ops::ValueId;

TEST_CASE("steps share one set of definitions", "[fuse]") {
  Fixture f;
  const std::string rows = "max(0, min(length, 512) - 3*(stride + 1)//2)";
  ValueId x = f.input("x", DType::F32, {rows, "8"});
  for (const char* name : {"y", "z"}) {
    x = f.add("exp", {x}, {}, name);
    f.g.add_output(name, x);
  }
  const auto steps = fuse(f.g, {}, [](const Region&) { return Classification{Schedule::Pointwise, {}}; });
  REQUIRE(steps);
  const std::string text = print(f.g, *steps);
  INFO(text);
  const std::string definition = "let $1 = max(0, ";
  CHECK(text.starts_with(definition));
  CHECK(text.find("min(", definition.size() + 40) == std::string::npos);
  CHECK(text.find("%y: f32[$1, 8]") != std::string::npos);
  CHECK(text.find("%z: f32[$1, 8]") != std::string::npos);
}

TEST_CASE("a chain that would be 2^40 long as a tree is printed", "[fuse]") {
  Fixture f;
  ValueId x = f.input("x", DType::F32, {"N"});
  for (int i = 0; i < 40; ++i) x = f.add("mul", {x, f.add("tanh", {x})});
  f.g.add_output("y", x);
  const auto steps = fuse(f.g, {}, [](const Region&) { return Classification{Schedule::Pointwise, {}}; });
  REQUIRE(steps);
  CHECK(print(f.g, *steps).size() < 40 * 200);
}

}  // namespace
}  // namespace dlcb::fuse
