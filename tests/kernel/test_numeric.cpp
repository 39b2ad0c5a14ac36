// Every generated kernel, every variant that may be chosen, against the definition of its region.
#include <cmath>
#include <random>

#include "catch.h"
#include "launch.h"
#include "ops/arithmetic.h"

namespace dlcb::testing {

namespace {

// Symbol values of one run. Alignments of callers' pointers: the simulator's allocations are aligned.
void set_symbols(Env& env, const Case& c, const Sizes& sizes) {
  for (const auto& [name, value] : sizes) {
    if (auto s = c.sym.find_symbol(name)) env.symbols[s->id] = value;
  }
  auto align = [&](const kernel::Tensor& t) {
    env.symbols[kernel::pointer_alignment(env.scalars->sym(), t.value).id] = 256;
  };
  for (const kernel::Tensor& t : c.region.inputs) align(t);
  for (const kernel::Output& o : c.region.outputs) align(o.tensor);
}

void fill_inputs(Env& env, const Case& c, std::mt19937& random) {
  for (const kernel::Tensor& t : c.region.inputs) {
    Elements e(static_cast<size_t>(count(env, t)));
    for (double& v : e) {
      if (is_float(t.dtype))
        v = ops::round_to(t.dtype, std::uniform_real_distribution<>(-2, 2)(random));
      else
        v = static_cast<double>(
            random() % static_cast<unsigned>(c.index_limit.contains(t.value.id) ? c.index_limit.at(t.value.id) : 2));
    }
    env.tensors[t.value.id] = std::move(e);
  }
}

void compare(DType t, const Elements& expected, const Elements& actual, double tolerance) {
  REQUIRE(expected.size() == actual.size());
  double largest = 1;
  for (double v : expected) {
    if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
  }
  const double unit = t == DType::F16 ? 1e-3 : t == DType::BF16 ? 8e-3 : is_float(t) ? tolerance : 0;
  for (size_t i = 0; i < expected.size(); i++) {
    if (expected[i] == actual[i] || (std::isnan(expected[i]) && std::isnan(actual[i]))) continue;
    if (std::abs(expected[i] - actual[i]) <= unit * largest) continue;
    INFO("element " << i << ": expected " << expected[i] << ", got " << actual[i]);
    REQUIRE(false);
  }
}

// Every way to launch the kernel at the sizes that are set.
void check_launches(const Machine& machine, Env& env, const Compiled& c, const std::string& at) {
  std::vector<Elements> expected;
  for (const kernel::Output& o : c.test->region.outputs) {
    expected.push_back(evaluate(env, o));
    for (double& v : expected.back()) v = is_float(o.tensor.dtype) ? ops::round_to(o.tensor.dtype, v) : v;
  }
  for (const kernel::Variant& variant : c.kernel.variants) {
    if (env.integer(variant.when) == 0) continue;
    INFO(c.test->name << at << ", " << variant.entry);
    const std::vector<Elements> actual = launch(machine, env, c.kernel, variant);
    for (size_t i = 0; i < actual.size(); i++)
      compare(c.test->region.outputs[i].tensor.dtype, expected[i], actual[i], c.test->tolerance);
  }
}

void check_cases(std::vector<Compiled> cases) {
  Machine machine = open_machine(cases);
  std::mt19937 random(7);
  for (Compiled& c : cases) {
    for (const Sizes& sizes : c.test->sizes) {
      Env env{&c.test->scalars, &c.test->region, {}, {}, {}};
      set_symbols(env, *c.test, sizes);
      fill_inputs(env, *c.test, random);
      std::string at;
      for (const auto& [name, value] : sizes) at += " " + name + "=" + std::to_string(value);
      check_launches(machine, env, c, at);
    }
  }
}

}  // namespace

TEST_CASE("kernels compute what their regions define") { check_cases(compile_cases()); }

TEST_CASE("parts of reductions, however short, are combined to what their regions define") {
  std::vector<Compiled> cases = compile_cases({.split_from = 2});
  std::erase_if(cases, [](const Compiled& c) { return !c.kernel.combine; });
  for (Compiled& c : cases) {  // the larger ones are split anyway
    std::erase_if(c.test->sizes, [](const Sizes& sizes) {
      int64_t steps = 1;
      for (const auto& [name, value] : sizes) steps *= value;
      return steps > 3000;
    });
  }
  CHECK(cases.size() >= 10);
  check_cases(std::move(cases));
}

TEST_CASE("long reductions with few outputs are split into parts, and only they") {
  for (const Compiled& c : compile_cases()) {
    if (!c.kernel.combine || c.test->name.find("long mean") != 0) continue;
    const auto split = [&](int64_t n, int64_t h, int64_t w) {
      Env env{&c.test->scalars, &c.test->region, {}, {}, {}};
      set_symbols(env, *c.test, {{"N", n}, {"H", h}, {"W", w}});
      return env.integer(c.kernel.combine->when) != 0;
    };
    CHECK(split(1, 32, 64));
    CHECK(split(4, 160, 160));
    CHECK_FALSE(split(1, 23, 89));
    CHECK_FALSE(split(0, 64, 64));
    CHECK_FALSE(split(1, 0, 64));
    CHECK_FALSE(split(100000, 64, 64));
  }
}

TEST_CASE("grids stay within the device's limits when one dim is large") {
  for (const Compiled& c : compile_cases()) {
    for (const auto& [large, unused] : c.test->sizes[0]) {
      Env env{&c.test->scalars, &c.test->region, {}, {}, {}};
      Sizes sizes = c.test->sizes[0];
      for (auto& [name, value] : sizes) value = name == large ? int64_t{1} << 25 : 1;
      set_symbols(env, *c.test, sizes);
      std::vector<kernel::Variant> variants = c.kernel.variants;
      if (c.kernel.combine) variants.push_back(c.kernel.combine->variant);
      for (const kernel::Variant& v : variants) {
        INFO(c.test->name << " with large " << large);
        CHECK(env.integer(v.grid[0]) < int64_t{1} << 31);
        CHECK(env.integer(v.grid[1]) <= 65535);
        CHECK(env.integer(v.grid[2]) <= 65535);
      }
    }
  }
}

}  // namespace dlcb::testing
