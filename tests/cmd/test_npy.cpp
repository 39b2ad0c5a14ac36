#include <cstring>

#include "catch.h"
#include "cmd/tensor_io/npy.h"
#include "cmd/tensor_io/number.h"

using namespace dlcb;
using namespace dlcb::cmd;

namespace {

Result<Tensor> parse(const std::string& file) { return parse_npy("t.npy", std::as_bytes(std::span(file))); }

std::string file_with(std::string dict, const std::string& data, char major = 1) {
  dict += '\n';
  std::string file = "\x93NUMPY";
  file += {major, 0, static_cast<char>(dict.size()), 0};
  if (major > 1) file += std::string(2, '\0');
  return file + dict + data;
}

std::string error_of(const std::string& file) {
  auto tensor = parse(file);
  return tensor ? "" : message(tensor.error());
}

Tensor iota(DType dtype, std::vector<int64_t> dims) {
  Tensor tensor = make_tensor(dtype, std::move(dims));
  for (size_t i = 0; i < tensor.bytes.size() / size_of(dtype); ++i)
    store_integer(dtype, tensor.bytes.data(), i, dtype == DType::Bool ? i % 2 : i);
  return tensor;
}

}  // namespace

TEST_CASE("npy: every type reads back what it writes") {
  for (int i = 0; i <= static_cast<int>(DType::Bool); ++i) {
    auto dtype = static_cast<DType>(i);
    for (std::vector<int64_t> dims : {std::vector<int64_t>{}, {3}, {2, 3}, {2, 0, 5}}) {
      Tensor tensor = iota(dtype, dims);
      auto back = parse(npy_bytes(tensor));
      REQUIRE(back);
      CHECK(back->dims == dims);
      CHECK(back->dtype == (dtype == DType::BF16 ? DType::F32 : dtype));
      if (dtype != DType::BF16) CHECK(back->bytes == tensor.bytes);
    }
  }
}

TEST_CASE("npy: the data begins at a multiple of 64") {
  for (int64_t dim = 1; dim < 100'000'000; dim *= 10) {
    std::string file = npy_bytes(make_tensor(DType::U8, {0, dim}));
    CHECK(file.size() % 64 == 0);
  }
}

TEST_CASE("npy: Fortran order is transposed") {
  auto tensor = parse(file_with("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }", "adbecf"));
  REQUIRE(tensor);
  CHECK(std::memcmp(tensor->bytes.data(), "abcdef", 6) == 0);
}

TEST_CASE("npy: other legal spellings") {
  CHECK(parse(file_with("{\"shape\": (2L,), \"descr\": \"<f4\", \"fortran_order\": False}", "12345678")));
  CHECK(parse(file_with("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "12345678", 2)));
  CHECK(parse(file_with("{'descr': '|V2', 'fortran_order': False, 'shape': (2,)}", "1234"))->dtype == DType::BF16);
}

TEST_CASE("npy: bad files are refused with a reason") {
  CHECK(error_of("") == "input 't.npy': is not an .npy file");
  CHECK(error_of("\x93NUMPY\x01") == "input 't.npy': ends within its header");
  CHECK(error_of(file_with("{'descr': '<f4'", "").substr(0, 20)) == "input 't.npy': ends within its header");
  CHECK(error_of(file_with("{}", "", 9)) == "input 't.npy': is of .npy version 9, not 1 to 3");
  for (const char* dict :
       {"{}", "{'descr': '<f4'}", "no dict", "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x"})
    CHECK(error_of(file_with(dict, "1234")) == "input 't.npy': has a malformed header");
  auto described = [](const char* descr) {
    return file_with(std::string("{'descr': ") + descr + ", 'fortran_order': False, 'shape': (1,)}", "1234");
  };
  CHECK(error_of(described("'>f4'")) == "input 't.npy': is big-endian, which is not supported");
  CHECK(error_of(described("'|O'")).find("type '|O'") != std::string::npos);
  CHECK(error_of(described("[('a', '<f4')]")).find("'a structure'") != std::string::npos);
  CHECK(error_of(described("'<f8'")) == "input 't.npy': holds 4 bytes of data, but f64[1] was announced");
  CHECK_FALSE(parse(file_with("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 8)}", "1234")));
}

TEST_CASE("npy: every cut of a file is refused") {
  std::string file = npy_bytes(iota(DType::F32, {2, 3}));
  for (size_t size = 0; size < file.size(); ++size) CHECK_FALSE(parse(file.substr(0, size)));
}
