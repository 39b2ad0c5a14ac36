#include "catch.h"
#include "cmd/tensor_io/number.h"
#include "cmd/tensor_io/tensor_proto.h"
#include "cmd/tensor_io/wire.h"

using namespace dlcb;
using namespace dlcb::cmd;

namespace {

Result<NamedTensor> parse(const std::string& file) {
  return parse_tensor_proto("t.pb", std::as_bytes(std::span(file)));
}

std::string error_of(const std::string& file) {
  auto tensor = parse(file);
  return tensor ? "" : message(tensor.error());
}

std::string typed(int data_type, std::string_view dims) {
  std::string message;
  append_bytes(message, 1, dims);
  append_tag(message, 2, WireType::Varint);
  append_varint(message, static_cast<uint64_t>(data_type));
  return message;
}

}  // namespace

TEST_CASE("pb: every type reads back what it writes") {
  for (int i = 0; i <= static_cast<int>(DType::Bool); ++i) {
    auto dtype = static_cast<DType>(i);
    for (std::vector<int64_t> dims : {std::vector<int64_t>{}, {300}, {2, 0}}) {
      Tensor tensor = make_tensor(dtype, dims);
      for (std::byte& byte : tensor.bytes) byte = std::byte{1};
      auto back = parse(tensor_proto_bytes("out/0", tensor));
      REQUIRE(back);
      CHECK(back->name == "out/0");
      CHECK(back->tensor.dtype == dtype);
      CHECK(back->tensor.dims == dims);
      CHECK(back->tensor.bytes == tensor.bytes);
    }
  }
}

TEST_CASE("pb: values in typed fields, packed and not") {
  std::string packed = typed(6, "\x02");
  append_bytes(packed, 5, std::string("\x07\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11));
  auto ints = parse(packed);
  REQUIRE(ints);
  CHECK(load_integer(DType::I32, ints->tensor.bytes.data(), 0) == 7);
  CHECK(load_integer(DType::I32, ints->tensor.bytes.data(), 1) == -1);

  std::string single = typed(1, "\x01");
  append_tag(single, 4, WireType::Fixed32);
  single += std::string("\0\0\x80\x3f", 4);
  CHECK(load_number(DType::F32, parse(single)->tensor.bytes.data(), 0) == 1.0);

  std::string halves = typed(10, "\x01");
  append_bytes(halves, 5, std::string("\x80\x78", 2));  // 0x3c00
  CHECK(load_number(DType::F16, parse(halves)->tensor.bytes.data(), 0) == 1.0);

  std::string wide = typed(12, "\x01");
  append_bytes(wide, 11, "\x05");
  CHECK(load_integer(DType::U32, parse(wide)->tensor.bytes.data(), 0) == 5);
}

TEST_CASE("pb: bad files are refused with a reason") {
  CHECK(error_of("") == "input 't.pb': is not an ONNX tensor, or is cut off");
  CHECK(error_of("\xff\xff\xff") == "input 't.pb': is not an ONNX tensor, or is cut off");
  CHECK(error_of(typed(8, "\x01")) == "input 't.pb': has element type 8, which is not supported");
  CHECK(error_of(typed(1, "\x02")) == "input 't.pb': holds 0 values, but f32[2] was announced");
  std::string negative = typed(1, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  CHECK(error_of(negative) == "input 't.pb': has impossible dims");
  std::string external = typed(1, "\x01");
  append_tag(external, 14, WireType::Varint);
  external += '\x01';
  CHECK(error_of(external).find("in another file") != std::string::npos);
  std::string wrong_field = typed(1, "\x01");
  append_bytes(wrong_field, 7, "\x05");
  CHECK_FALSE(parse(wrong_field));
  std::string both = typed(6, "\x01");
  append_bytes(both, 5, "\x05");
  append_bytes(both, 9, "1234");
  CHECK_FALSE(parse(both));
}

TEST_CASE("pb: no cut and no flipped bit of a file crashes") {
  std::string file = tensor_proto_bytes("x", make_tensor(DType::F32, {2, 3}));
  for (size_t size = 0; size < file.size(); ++size) CHECK_FALSE(parse(file.substr(0, size)));
  for (size_t bit = 0; bit < file.size() * 8; ++bit) {
    std::string flipped = file;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
    (void)parse(flipped);
  }
}
