#include "catch.h"
#include "import/declared_input.h"

using namespace dlcb;

namespace {

std::string error_of(std::string_view text) {
  auto input = parse_declared_input(text);
  return input ? "" : message(input.error());
}

}  // namespace

TEST_CASE("numbers, names and ranges") {
  auto input = parse_declared_input("x:f16[N, 3,H=1..640 ,W=32..]");
  REQUIRE(input);
  CHECK(input->name == "x");
  CHECK(input->dtype == DType::F16);
  CHECK(input->dims == std::vector<DeclaredDim>{{"N"}, {"", 3}, {"H", 0, 1, 640}, {"W", 0, 32, INT64_MAX}});
}

TEST_CASE("the element type is optional and may have its long name") {
  CHECK_FALSE(parse_declared_input("x[N]")->dtype);
  CHECK_FALSE(parse_declared_input("x:[N]")->dtype);
  CHECK(parse_declared_input("x:int64[N]")->dtype == DType::I64);
}

TEST_CASE("scalars have no dims") { CHECK(parse_declared_input("length:i64[]")->dims.empty()); }

TEST_CASE("the last colon before the dims separates") {
  CHECK(parse_declared_input("serving/in.put:0:f32[1]")->name == "serving/in.put:0");
  CHECK(parse_declared_input("x:0:[1]")->name == "x:0");
  CHECK(parse_declared_input("a[0]:i8[1]")->name == "a[0]");
}

TEST_CASE("what is wrong is quoted") {
  CHECK(error_of("x") == "--input 'x': is not of the form NAME:DTYPE[DIMS], for example x:f32[N,3,224,224]");
  CHECK(error_of(":f32[1]") == "--input ':f32[1]': the input's name is missing");
  CHECK(error_of("x:f33[1]").find("unknown element type 'f33'") != std::string::npos);
  CHECK(error_of("x[1,,2]").find("dim '' is neither") != std::string::npos);
  CHECK(error_of("x[-1]").find("dim '-1' is neither") != std::string::npos);
  CHECK(error_of("x[99999999999999999999]").find("is neither") != std::string::npos);
  CHECK(error_of("x[N=8..1]").find("range '8..1' of dim 'N'") != std::string::npos);
  CHECK(error_of("x[N=4]").find("range '4' of dim 'N'") != std::string::npos);
  CHECK(error_of("x[N=..]").find("range '..'") != std::string::npos);
}

TEST_CASE("a range holds wherever the dim is named") {
  auto inputs = parse_declared_inputs(std::vector<std::string>{"a[N,4]", "b[N=1..8]"});
  REQUIRE(inputs);
  CHECK((*inputs)[0].dims[0] == DeclaredDim{"N", 0, 1, 8});
  CHECK_FALSE(parse_declared_inputs(std::vector<std::string>{"a[N=1..4]", "b[N=1..8]"}));
  CHECK_FALSE(parse_declared_inputs(std::vector<std::string>{"a[N]", "a[M]"}));
}
