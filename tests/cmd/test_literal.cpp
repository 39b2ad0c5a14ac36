#include <cmath>

#include "catch.h"
#include "cmd/tensor_io/literal.h"
#include "cmd/tensor_io/number.h"

using namespace dlcb;
using namespace dlcb::cmd;

namespace {

std::string error_of(std::string_view text, DType dtype) {
  auto tensor = parse_literal("x", text, dtype);
  return tensor ? "" : message(tensor.error());
}

}  // namespace

TEST_CASE("numbers and lists") {
  auto scalar = parse_literal("x", "3", DType::I64);
  REQUIRE(scalar);
  CHECK(scalar->dims.empty());
  CHECK(load_integer(DType::I64, scalar->bytes.data(), 0) == 3);
  auto matrix = parse_literal("x", "[[1.5, 2], [3, -4], [5, 6]]", DType::F16);
  REQUIRE(matrix);
  CHECK(matrix->dims == std::vector<int64_t>{3, 2});
  CHECK(load_number(DType::F16, matrix->bytes.data(), 3) == -4);
  CHECK(parse_literal("x", "[]", DType::F32)->dims == std::vector<int64_t>{0});
  CHECK(parse_literal("x", "[[], []]", DType::F32)->dims == std::vector<int64_t>{2, 0});
  CHECK(load_integer(DType::Bool, parse_literal("x", "true", DType::Bool)->bytes.data(), 0) == 1);
  CHECK(load_integer(DType::U64, parse_literal("x", "18446744073709551615", DType::U64)->bytes.data(), 0) == -1);
}

TEST_CASE("float literals may be infinite or no number") {
  auto values = parse_literal("x", "[nan, inf, -inf, 1e3]", DType::F16);
  REQUIRE(values);
  const auto at = [&](size_t i) { return load_number(DType::F16, values->bytes.data(), i); };
  CHECK(std::isnan(at(0)));
  CHECK(at(1) == INFINITY);
  CHECK(at(2) == -INFINITY);
  CHECK(at(3) == 1000);
  CHECK(parse_literal("x", "nan", DType::F32));
  for (const char* text : {"[nan]", "-inf"}) CHECK_FALSE(parse_literal("x", text, DType::I32));
  for (const char* text : {"infinit", "1nan", "\"nan\"", "\"5\""}) CHECK_FALSE(parse_literal("x", text, DType::F32));
}

TEST_CASE("filled and random tensors") {
  CHECK(load_number(DType::F32, parse_literal("x", "ones[2, 2]", DType::F32)->bytes.data(), 3) == 1);
  auto a = parse_literal("x", "random[2,3,5]", DType::F32), b = parse_literal("x", "random[2,3,5]:0", DType::F32);
  auto c = parse_literal("x", "random[2,3,5]:1", DType::F32);
  REQUIRE((a && b && c));
  CHECK(a->bytes == b->bytes);
  CHECK(a->bytes != c->bytes);
  auto ids = parse_literal("x", "random[100]:3:5..7", DType::I64);
  REQUIRE(ids);
  for (size_t i = 0; i < 100; ++i) {
    int64_t id = load_integer(DType::I64, ids->bytes.data(), i);
    CHECK((id >= 5 && id <= 7));
  }
  CHECK(parse_literal("x", "random[]", DType::F32)->dims.empty());
}

TEST_CASE("bad literals are refused with a reason") {
  CHECK(error_of("abc", DType::F32) == "input 'x': 'abc' is neither @FILE, a number, a list nor random[SHAPE]");
  CHECK(error_of("[[1,2],[3]]", DType::F32) == "input 'x': the lists of level 2 differ in length");
  CHECK(error_of("1.5", DType::I32) == "input 'x': 1.5 is not a value of type i32");
  CHECK(error_of("300", DType::U8) == "input 'x': 300 is not a value of type u8");
  CHECK(error_of("18446744073709551615", DType::I64).find("not a value of type i64") != std::string::npos);
  CHECK(error_of("\"a\"", DType::F32) == "input 'x': \"a\" is not a value of type f32");
  CHECK(error_of("random", DType::F32).find("in brackets") != std::string::npos);
  CHECK(error_of("random[a]", DType::F32) == "input 'x': 'a' is not a dim");
  CHECK(error_of("random[2]x", DType::F32).find("must be :SEED") != std::string::npos);
  CHECK(error_of("random[2]:1:9..3", DType::I8).find("must be :SEED") != std::string::npos);
  CHECK(error_of("random[2]:1:0..300", DType::I8) == "input 'x': the range is outside of i8");
  CHECK(error_of("random[9223372036854775807,4]", DType::F32) == "input 'x': a tensor of this shape is too large");
  CHECK(error_of(std::string(100, '[') + std::string(100, ']'), DType::F32).find("too deeply") != std::string::npos);
}

TEST_CASE("halves convert exactly and round to even") {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    auto half = static_cast<uint16_t>(bits);
    bool nan = (bits & 0x7c00) == 0x7c00 && (bits & 0x3ff) != 0;
    if (!nan && float_to_half(half_to_float(half)) != half) FAIL("half " << bits << " does not read back");
  }
  CHECK(float_to_half(1.0f + 0x1p-11f) == 0x3c00);  // a tie goes to even
  CHECK(float_to_half(1.0f + 3 * 0x1p-11f) == 0x3c02);
  CHECK(float_to_half(65520.0f) == 0x7c00);
  CHECK(float_to_half(0x1p-25f) == 0);
  CHECK(float_to_bfloat(1.0f + 0x1p-8f) == 0x3f80);
}
