// An attribute that is declared float is a real number whatever its value: models may give 1.0 where others give 0.5.
// Made from the table: every operator with float attributes, with whole values and with values next to them.
#include <cmath>

#include "catch.h"
#include "ops/cases.h"

using namespace dlcb;
using namespace dlcb::ops;

namespace {

// The operator's case with one attribute replaced; every operator has a case (test_cases.cpp).
std::optional<Tensor> with(test::Case c, std::string_view attr, double value, std::string& why) {
  std::erase_if(c.attrs, [&](const auto& a) { return a.first == attr; });
  c.attrs.emplace_back(attr, std::vector<std::string>{"float", std::to_string(value)});
  return test::run(c, false, why);
}

void same(const Tensor& a, const Tensor& b) {
  REQUIRE(a.dims == b.dims);
  for (int64_t i = 0; i < a.size(); ++i) {
    const double x = a.real(i), y = b.real(i);
    if (!std::isfinite(x) || !std::isfinite(y)) continue;
    CHECK(std::fabs(x - y) <= 1e-3 * std::max(1.0, std::fabs(y)));
  }
}

}  // namespace

TEST_CASE("a whole number as a float attribute is a float") {
  for (const test::Case& c : test::read_cases())
    for (const AttrSpec& spec : op(c.op).attrs) {
      if (spec.type != "float" && spec.type != "float?") continue;
      for (const double value : {0.0, 1.0, 2.0, 3.0, 1e19}) {
        INFO(c.name << ", " << spec.name << " = " << value);
        std::string why;
        std::optional<Tensor> whole, near;
        CHECK_NOTHROW(whole = with(c, spec.name, value, why));
        INFO(why);
        CHECK(whole.has_value());
        if (!whole || value == 0 || value > 3) continue;
        near = with(c, spec.name, value + 1e-6, why);
        CHECK(near.has_value());
        if (near && is_float(c.out.dtype)) same(*whole, *near);
      }
    }
}
