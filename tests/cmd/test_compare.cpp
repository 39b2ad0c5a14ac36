#include <cmath>
#include <limits>

#include "catch.h"
#include "cmd/tensor_io/compare.h"
#include "cmd/tensor_io/number.h"

using namespace dlcb;
using namespace dlcb::cmd;

namespace {

Tensor tensor_of(std::vector<double> values) {
  Tensor tensor = make_tensor(DType::F32, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) store_number(DType::F32, tensor.bytes.data(), i, values[i]);
  return tensor;
}

}  // namespace

TEST_CASE("each element within rtol and atol") {
  Tolerance tolerance{1e-3, 1e-5, {}};
  CHECK(compare(tensor_of({1, 1000}), tensor_of({1.0005, 1000.9}), tolerance).equal);
  auto off = compare(tensor_of({1, 2, 3}), tensor_of({1, 2.5, 3}), tolerance);
  CHECK_FALSE(off.equal);
  CHECK(off.outside == 1);
  CHECK(off.max_abs == 0.5);
  CHECK(off.difference == "relative norm 0.124, 1 of 3 elements outside; at [1] 2 instead of 2.5");
}

TEST_CASE("a relative norm decides alone") {
  Tolerance tolerance{0, 0, 1e-3};
  CHECK(compare(tensor_of({1000, 0.5}), tensor_of({1000, 0}), tolerance).equal);
  CHECK_FALSE(compare(tensor_of({1000, 5}), tensor_of({1000, 0}), tolerance).equal);
  CHECK_FALSE(compare(tensor_of({1e-9}), tensor_of({0}), tolerance).equal);
}

TEST_CASE("infinities and NaN equal only themselves") {
  double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  for (Tolerance tolerance : {Tolerance{}, Tolerance{0, 0, 1e-3}}) {
    CHECK(compare(tensor_of({inf, -inf, nan}), tensor_of({inf, -inf, nan}), tolerance).equal);
    CHECK_FALSE(compare(tensor_of({inf}), tensor_of({-inf}), tolerance).equal);
    CHECK_FALSE(compare(tensor_of({nan}), tensor_of({1}), tolerance).equal);
    CHECK_FALSE(compare(tensor_of({1}), tensor_of({inf}), tolerance).equal);
  }
}

TEST_CASE("types and dims must agree") {
  auto shape = compare(make_tensor(DType::F32, {2, 3}), make_tensor(DType::F32, {3, 2}), {});
  CHECK_FALSE(shape.equal);
  CHECK(shape.difference == "it is f32[2, 3], but f32[3, 2] was expected");
  CHECK(compare(make_tensor(DType::I64, {0, 3}), make_tensor(DType::I64, {0, 3}), {}).equal);
}
