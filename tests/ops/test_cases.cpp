// Every operator against expected data, with literal and with symbolic dims; and no operator without a case.
#include <cmath>
#include <set>

#include "catch.h"
#include "ops/cases.h"

using namespace dlcb;
using namespace dlcb::ops;

namespace {

bool close(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return std::fabs(a - b) <= tolerance * std::max(1.0, std::fabs(b));
}

void compare(const test::Case& c, bool symbolic) {
  INFO(c.name << (symbolic ? " with symbolic dims" : ""));
  std::string why;
  const auto got = test::run(c, symbolic, why);
  INFO(why);
  CHECK(got.has_value());
  if (!got) return;
  CHECK(got->dtype == c.out.dtype);
  CHECK(got->dims == c.out.dims);
  if (got->dims != c.out.dims) return;
  for (int64_t i = 0; i < c.out.size(); ++i) {
    INFO("element " << i << ": " << got->real(i) << ", expected " << c.out.real(i));
    const bool same =
        is_float(c.out.dtype) ? close(got->real(i), c.out.real(i), c.tolerance) : got->integer(i) == c.out.integer(i);
    CHECK(same);
    if (!same) return;
  }
}

}  // namespace

TEST_CASE("operators give what numpy and ONNX say") {
  for (const test::Case& c : test::read_cases()) compare(c, false);
}

TEST_CASE("a definition with symbolic dims, evaluated at the dims, is the definition with literals") {
  for (const test::Case& c : test::read_cases()) compare(c, true);
}

TEST_CASE("every operator has a case") {
  std::set<std::string, std::less<>> covered;
  for (const test::Case& c : test::read_cases()) covered.insert(c.op);
  for (const OpDef& o : all_ops()) {
    INFO(o.name);
    CHECK(covered.contains(o.name));
  }
}
