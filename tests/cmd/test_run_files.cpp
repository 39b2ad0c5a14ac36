// Inputs from flags and folders, and the names of output files.
#include <filesystem>

#include "catch.h"
#include "cmd/run/bench.h"
#include "cmd/run/inputs.h"
#include "cmd/run/outputs.h"
#include "cmd/tensor_io/number.h"
#include "cmd/tensor_io/tensor_proto.h"
#include "temp_folder.h"

using namespace dlcb;
using namespace dlcb::cmd;
namespace fs = std::filesystem;

namespace {

const std::vector<Port> kPorts = {{"x", DType::F32, {"N", "3"}, "random[1,3]"}, {"x=y", DType::I64, {}, "7"}};

using Folder = testing::TempFolder;

Tensor scalar(int64_t value) {
  Tensor tensor = make_tensor(DType::I64, {});
  store_integer(DType::I64, tensor.bytes.data(), 0, value);
  return tensor;
}

std::string error_of(const std::vector<std::string>& texts, const std::string& folder = "") {
  auto inputs = gather_inputs(kPorts, texts, folder);
  return inputs ? "" : message(inputs.error());
}

}  // namespace

TEST_CASE("names may hold the separator") {
  auto inputs = gather_inputs(kPorts, {"x=random[2,3]", "x=y=5"}, "");
  REQUIRE(inputs);
  CHECK((*inputs)[0].dims == std::vector<int64_t>{2, 3});
  CHECK(load_integer(DType::I64, (*inputs)[1].bytes.data(), 0) == 5);
}

TEST_CASE("wrong and missing inputs are named") {
  CHECK(error_of({"z=1"}) == "the model has no input 'z'; its inputs are x: f32[N, 3]; x=y: i64[]");
  CHECK(error_of({"x"}) == "--input 'x' is not NAME=VALUE");
  CHECK(error_of({"x=1", "x=2"}) == "--input gives 'x' twice");
  CHECK(error_of({"x=1"}) == "no value for input x=y: i64[]; give one, for example --input x=y=7");
  CHECK(error_of({"x=@a.txt"}) == "input 'x': 'a.txt' is neither an .npy nor a .pb file");
  CHECK(error_of({}, "/no/such/folder").find("cannot open '/no/such/folder'") == 0);
}

TEST_CASE("test data folders: by name, else by number; flags come first") {
  Folder folder;
  REQUIRE(write_tensor_proto((folder.path / "input_0.pb").string(), "x=y", scalar(7)));
  REQUIRE(write_tensor_proto((folder.path / "input_1.pb").string(), "x", make_tensor(DType::F32, {1, 3})));
  auto inputs = gather_inputs(kPorts, {}, folder.path.string());
  REQUIRE(inputs);
  CHECK(load_integer(DType::I64, (*inputs)[1].bytes.data(), 0) == 7);
  auto overridden = gather_inputs(kPorts, {"x=y=8"}, folder.path.string());
  REQUIRE(overridden);
  CHECK(load_integer(DType::I64, (*overridden)[1].bytes.data(), 0) == 8);
  REQUIRE(write_tensor_proto((folder.path / "input_2.pb").string(), "", scalar(0)));
  CHECK(error_of({}, folder.path.string()).find("the model has only 2 such tensors") != std::string::npos);
}

TEST_CASE("a test data folder that compares nothing is refused") {
  Folder folder;
  const std::string path = folder.path.string();
  const std::vector<Port> one = {{"y", DType::F32, {}}};
  const auto refusal = [&](const std::vector<Port>& ports) {
    auto expected = gather_expected(ports, {}, path);
    return expected ? "" : message(expected.error());
  };
  CHECK(refusal(one).find("nothing to compare") != std::string::npos);
  CHECK(refusal({}).find("nothing to compare") != std::string::npos);
  auto given = gather_expected(one, {"y=nan"}, path);
  REQUIRE(given);
  CHECK((*given)[0]);
  REQUIRE(write_tensor_proto((folder.path / "output_1.pb").string(), "y", make_tensor(DType::F32, {})));
  CHECK(refusal(one).find("has output_1.pb but no output_0.pb") != std::string::npos);
}

TEST_CASE("output files are named by the output") {
  std::vector<Port> ports = {{"a/b:0", DType::F32, {}}, {"a_b_0", DType::F32, {}}, {"..", DType::F32, {}}};
  CHECK(output_files(ports, "npy") == std::vector<std::string>{"a_b_0.npy", "a_b_0.1.npy", "...npy"});
  CHECK(output_files(ports, "pb") == std::vector<std::string>{"output_0.pb", "output_1.pb", "output_2.pb"});
}

TEST_CASE("output folders are made, and refused where they cannot be") {
  Folder folder;
  std::vector<Port> ports = {{"y", DType::I64, {}}};
  std::string deep = (folder.path / "a/b").string();
  REQUIRE(write_outputs(deep, "pb", ports, {scalar(3)}));
  CHECK(read_tensor_proto(deep + "/output_0.pb")->name == "y");
  CHECK_FALSE(write_outputs(deep + "/output_0.pb/c", "npy", ports, {scalar(3)}));
}

TEST_CASE("percentiles are nearest ranks") {
  std::vector<double> sorted = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  CHECK(percentile(sorted, 0) == 1);
  CHECK(percentile(sorted, 0.5) == 5);
  CHECK(percentile(sorted, 0.9) == 9);
  CHECK(percentile(sorted, 0.99) == 10);
  CHECK(percentile({}, 0.5) == 0);
}

TEST_CASE("previews are short") {
  CHECK(preview(scalar(3)) == "3");
  CHECK(preview(make_tensor(DType::F32, {12}), 2) == "0, 0, ... (12 values)");
  CHECK(preview(make_tensor(DType::F32, {0})) == "(no values)");
}
