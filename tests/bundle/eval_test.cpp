// The host program's arithmetic at its edges, and the arena packing.
#include "bundle_format/eval.h"

#include <cmath>
#include <limits>
#include <random>

#include "bundle/sample.h"
#include "bundle_format/packing.h"
#include "bundle_format/verify.h"
#include "catch.h"

using namespace dlcb;
using namespace dlcb::bundle;
using dlcb::test::ProgramBuilder;

namespace {

constexpr int64_t kLow = std::numeric_limits<int64_t>::min(), kHigh = std::numeric_limits<int64_t>::max();

// After the one segment.
Registers run_all(ProgramBuilder& b, const HostArgs& args = {}) {
  const auto bytes = b.finish();
  std::vector<uint64_t> storage((bytes.size() + 7) / 8);
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<uint8_t*>(storage.data()));
  const fb::Program* p = fb::GetProgram(storage.data());
  Registers registers(*p->host());
  run_segment(*p->host(), 0, args, registers);
  return registers;
}

// The value of one instruction whose operands are constants of the given registers' making.
int64_t run(ProgramBuilder& b, uint32_t result, const HostArgs& args = {}) { return run_all(b, args)[result]; }

int64_t binary(fb::Op op, int64_t a, int64_t b) {
  ProgramBuilder builder;
  const uint32_t x = builder.i64(a), y = builder.i64(b);
  return run(builder, builder.op(op, x, y));
}

int64_t scaled(fb::Op op, int64_t a, double scale) {
  ProgramBuilder builder;
  const uint32_t x = builder.i64(a), y = builder.f64(scale);
  return run(builder, builder.op(op, x, y));
}

}  // namespace

TEST_CASE("integer operations saturate and never trap") {
  struct Row {
    fb::Op op;
    int64_t a, b, result;
  };
  const Row rows[] = {
      {fb::Op::Add, kHigh, 1, kHigh},
      {fb::Op::Sub, kLow, 1, kLow},
      {fb::Op::Mul, kLow, -1, kHigh},
      {fb::Op::Mul, int64_t{1} << 32, int64_t{1} << 32, kHigh},
      {fb::Op::Mul, int64_t{1} << 40, -kHigh, kLow},
      {fb::Op::FloorDiv, 7, 2, 3},
      {fb::Op::FloorDiv, -7, 2, -4},
      {fb::Op::FloorDiv, 7, -2, -4},
      {fb::Op::FloorDiv, -7, -2, 3},
      {fb::Op::FloorDiv, 5, 0, 0},
      {fb::Op::FloorDiv, kLow, -1, kHigh},
      {fb::Op::Mod, 7, 2, 1},
      {fb::Op::Mod, -7, 2, 1},
      {fb::Op::Mod, 7, -2, -1},
      {fb::Op::Mod, 5, 0, 0},
      {fb::Op::Mod, kLow, -1, 0},
      {fb::Op::Min, -1, 1, -1},
      {fb::Op::Max, -1, 1, 1},
      {fb::Op::Eq, 2, 2, 1},
      {fb::Op::Lt, 2, 2, 0},
      {fb::Op::Le, 2, 2, 1},
  };
  for (const Row& row : rows) {
    INFO(signature_of(row.op)->name << " " << row.a << " " << row.b);
    CHECK(binary(row.op, row.a, row.b) == row.result);
  }
}

TEST_CASE("what left 64 bits is lost, unless it does not matter") {
  ProgramBuilder b;
  const uint32_t high = b.i64(kHigh), low = b.i64(kLow), one = b.i64(1), zero = b.i64(0), two = b.i64(2);
  const uint32_t yes = b.flag(true), no = b.flag(false), half = b.f64(0.5), huge = b.f64(1e30);
  const uint32_t sum = b.op(fb::Op::Add, high, one), less = b.op(fb::Op::Lt, sum, two);
  const std::vector<uint32_t> lost = {
      sum,
      b.op(fb::Op::Sub, low, one),
      b.op(fb::Op::Mul, high, two),
      b.op(fb::Op::FloorDiv, low, b.i64(-1)),
      b.op(fb::Op::FloorScale, high, huge),
      b.op(fb::Op::CeilScale, sum, half),
      b.op(fb::Op::FloorDiv, sum, two),  // would be a size like any other
      b.op(fb::Op::Sub, sum, sum),
      b.op(fb::Op::Min, sum, one),
      b.op(fb::Op::Mul, one, sum),
      b.op(fb::Op::MagicMul, sum),
      b.op(fb::Op::Select, yes, sum, one),
      b.op(fb::Op::Select, less, one, one),
      less,
      b.op(fb::Op::Not, less),
      b.op(fb::Op::BoolToInt, less),
      b.op(fb::Op::And, yes, less),
      b.op(fb::Op::Or, less, no),
  };
  const std::vector<std::pair<uint32_t, int64_t>> kept = {
      {b.op(fb::Op::Mul, sum, zero), 0},       {b.op(fb::Op::Mul, zero, sum), 0},
      {b.op(fb::Op::Or, less, yes), 1},        {b.op(fb::Op::And, no, less), 0},
      {b.op(fb::Op::Select, no, sum, one), 1}, {b.op(fb::Op::Add, high, zero), kHigh},
      {b.op(fb::Op::Mul, low, one), kLow},     {b.op(fb::Op::FloorScale, two, half), 1},
  };
  const Registers registers = run_all(b);
  for (const uint32_t r : lost) CHECK(registers.lost(r));
  for (const auto& [r, value] : kept) {
    CHECK_FALSE(registers.lost(r));
    CHECK(registers[r] == value);
  }
}

TEST_CASE("booleans and select") {
  for (bool a : {false, true})
    for (bool b : {false, true}) {
      ProgramBuilder p;
      const uint32_t x = p.flag(a), y = p.flag(b), one = p.i64(1), two = p.i64(2);
      CHECK(run(p, p.op(fb::Op::And, x, y)) == (a && b));
      CHECK(run(p, p.op(fb::Op::Or, x, y)) == (a || b));
      CHECK(run(p, p.op(fb::Op::Not, x)) == !a);
      CHECK(run(p, p.op(fb::Op::Select, x, one, two)) == (a ? 1 : 2));
      CHECK(run(p, p.op(fb::Op::BoolToInt, x)) == a);
    }
}

TEST_CASE("scales round in double, saturate and survive NaN") {
  CHECK(scaled(fb::Op::FloorScale, 7, 0.5) == 3);
  CHECK(scaled(fb::Op::CeilScale, 7, 0.5) == 4);
  CHECK(scaled(fb::Op::FloorScale, 3, 1.0 / 3) == 1);
  CHECK(scaled(fb::Op::FloorScale, -7, 0.5) == -4);
  CHECK(scaled(fb::Op::FloorScale, kHigh, 1e10) == kHigh);
  CHECK(scaled(fb::Op::FloorScale, kLow, 1e10) == kLow);
  CHECK(scaled(fb::Op::FloorScale, 1, std::nan("")) == 0);
}

TEST_CASE("magic division is exact for every divisor and dividend below 2^31") {
  std::mt19937 random(1);
  std::vector<int64_t> divisors = {
      1, 2, 3, 5, 7, 31, 32, 33, 641, 65535, 65536, 65537, (1 << 30) - 1, 1 << 30, (1 << 30) + 1, 0x7fffffff};
  for (int i = 0; i < 100; ++i) divisors.push_back(1 + static_cast<int64_t>(random() % 0x7fffffff));
  for (int64_t d : divisors) {
    ProgramBuilder b;
    const uint32_t r = b.i64(d), mul = b.op(fb::Op::MagicMul, r), shift = b.op(fb::Op::MagicShift, r);
    const uint64_t m = static_cast<uint64_t>(run(b, mul)), s = static_cast<uint64_t>(run(b, shift));
    REQUIRE(m <= UINT32_MAX);
    std::vector<uint64_t> dividends = {0, 1, 0x7ffffffe, 0x7fffffff};
    for (int64_t near : {d - 1, d, d + 1, 2 * d - 1, (0x7fffffff / d) * d, (0x7fffffff / d) * d - 1})
      if (near >= 0 && near <= 0x7fffffff) dividends.push_back(static_cast<uint64_t>(near));
    for (int i = 0; i < 50; ++i) dividends.push_back(random() & 0x7fffffff);
    for (uint64_t n : dividends) {
      const uint32_t sum = static_cast<uint32_t>((n * m) >> 32) + static_cast<uint32_t>(n);
      if ((sum >> s) != n / static_cast<uint64_t>(d)) FAIL(n << " / " << d);
    }
  }
  CHECK(binary(fb::Op::MagicMul, 0, 0) == 0);
  CHECK(binary(fb::Op::MagicShift, -5, 0) == 0);
}

TEST_CASE("what the host program reads from outside") {
  ProgramBuilder b;
  const std::vector<int64_t> dims = {4, 9}, align = {64}, elements = {11, 12};
  const std::span<const int64_t> dim_spans[] = {dims}, element_spans[] = {elements};
  const HostArgs args{dim_spans, align, align, element_spans};
  CHECK(run(b, b.op(fb::Op::InputDim, 0, 1), args) == 9);
  CHECK(run(b, b.op(fb::Op::InputAlign, 0), args) == 64);
  CHECK(run(b, b.op(fb::Op::InputElem, 0, 1), args) == 12);
  CHECK(run(b, b.op(fb::Op::InputElem, 0, 2), args) == 0);
  CHECK(alignment_of(0) == 256);
  CHECK(alignment_of(4096) == 256);
  CHECK(alignment_of(4100) == 4);
  CHECK(alignment_of(4097) == 1);
}

TEST_CASE("packed buffers that are alive together do not overlap") {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<Life> lives(1 + random() % 60);
    uint64_t most_alive = 0, total = 0;
    for (Life& life : lives) {
      life.first = random() % 50;
      life.last = life.first + random() % 12;
      life.size = random() % 5 == 0 ? 0 : random() % 10000;
    }
    const auto rounded = [](uint64_t size) { return (size + 255) / 256 * 256; };
    for (uint32_t step = 0; step < 64; ++step) {
      uint64_t alive = 0;
      for (const Life& life : lives) alive += life.first <= step && step <= life.last ? rounded(life.size) : 0;
      most_alive = std::max(most_alive, alive);
    }
    const Packing packing = pack(lives);
    CHECK(packing.offsets == pack(lives).offsets);
    for (size_t i = 0; i < lives.size(); ++i) {
      total += rounded(lives[i].size);
      if (lives[i].size == 0) continue;
      REQUIRE(packing.offsets[i] % 256 == 0);
      REQUIRE(packing.offsets[i] + lives[i].size <= packing.peak);
      for (size_t j = 0; j < i; ++j) {
        if (lives[j].size == 0 || lives[j].last < lives[i].first || lives[i].last < lives[j].first) continue;
        REQUIRE((packing.offsets[i] + lives[i].size <= packing.offsets[j] ||
                 packing.offsets[j] + lives[j].size <= packing.offsets[i]));
      }
    }
    CHECK(packing.peak >= most_alive);
    CHECK(packing.peak <= total);
    CHECK(packing.peak <= most_alive * 3 / 2 + 256);
  }
}

TEST_CASE("packing at its limits") {
  CHECK(pack({}).peak == 0);
  const Life huge[] = {{uint64_t{1} << 61, 0, 0}, {uint64_t{1} << 61, 0, 0}, {1, 0, 0}};
  CHECK(pack(huge).overflow);
  const Life largest[] = {{~uint64_t{0}, 0, 0}};
  CHECK(pack(largest).overflow);
  CHECK(arena_capacity(0) == 0);
  CHECK(arena_capacity(1) == 256);
  for (uint64_t peak = 256; peak < (uint64_t{1} << 40); peak = peak * 3 / 2) {
    CHECK(arena_capacity(peak) >= peak);
    CHECK(arena_capacity(peak) <= peak + std::max<uint64_t>(256, peak / 8));
  }
}
