// Large constants beside the text: several texts share one file, and only a file beside the text is opened.
#include "graph/weights_file.h"

#include <filesystem>

#include "base/file.h"
#include "graph/fixture.h"
#include "temp_folder.h"

namespace dlcb::graph {
namespace {

using Folder = dlcb::testing::TempFolder;

TEST_CASE("texts share the weights that they have in common") {
  Folder folder;
  testing::Fixture f;
  const ValueId w = f.constant<float>("w", DType::F32, {100}, std::vector<float>(100, 2));
  f.g.add_output("w", w);
  WeightsFile weights(folder.at("made"), "weights.bin");
  const WeightsOut out = weights.out();
  const std::string first = print(f.g, &out);
  const ValueId v = f.constant<float>("v", DType::F32, {80}, std::vector<float>(80, 3));
  f.g.add_output("v", v);
  const std::string second = print(f.g, &out);
  REQUIRE(weights.flush());
  CHECK(std::filesystem::file_size(folder.at("made/weights.bin")) == 448 + 320);  // aligned to 64

  for (const std::string& text : {first, second}) {
    sym::Store s;
    ops::ScalarStore scalars(s);
    auto g = parse(s, scalars, text, weights_beside(folder.at("made/text.ir")));
    REQUIRE(g);
    CHECK(print(*g, &out).substr(0, 40) == text.substr(0, 40));
    float value = 0;
    std::memcpy(&value, g->value(g->outputs.back()).constant->bytes.data() + 4 * 79, sizeof value);
    CHECK(value == (text == first ? 2 : 3));
  }
}

TEST_CASE("weights that are still mapped are not overwritten") {
  Folder folder;
  for (const float number : {2.0f, 3.0f}) {
    const auto before = weights_beside(folder.at("text.ir"))("weights.bin");
    testing::Fixture f;
    f.g.add_output("w", f.constant<float>("w", DType::F32, {100}, std::vector<float>(100, number)));
    WeightsFile weights(folder.path.string(), "weights.bin");
    const WeightsOut out = weights.out();
    print(f.g, &out);
    REQUIRE(weights.flush());
    CHECK(bool(before) == (number == 3));
    float value = 0;
    if (before) std::memcpy(&value, before->bytes.data(), sizeof value);
    CHECK(value == (number == 3 ? 2 : 0));
  }
}

TEST_CASE("weights elsewhere, or none, are refused") {
  Folder folder;
  const OpenWeights open = weights_beside(folder.at("text.ir"));
  CHECK(to_text(open("../weights.bin").error()).find("must lie beside it") != std::string::npos);
  CHECK(open("weights.bin").error().kind == DiagKind::CannotOpen);

  testing::Fixture f;
  f.g.add_output("w", f.constant<float>("w", DType::F32, {100}, std::vector<float>(100, 2)));
  REQUIRE(write_file(folder.at("file"), ""));
  WeightsFile weights(folder.at("file"), "weights.bin");  // no folder
  const WeightsOut out = weights.out();
  print(f.g, &out);
  const Status written = weights.flush();
  REQUIRE_FALSE(written);
  CHECK(written.error().kind == DiagKind::CannotWrite);
}

}  // namespace
}  // namespace dlcb::graph
