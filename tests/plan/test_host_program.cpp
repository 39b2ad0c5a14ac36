// The host program must compute what Store::evaluate computes: random expressions, run through the stub's interpreter.
#include "bundle_format/eval.h"

#include <optional>

#include "catch.h"
#include "plan/host_program.h"
#include "sym/random_expr.h"

namespace dlcb::plan {
namespace {

using sym::Expr;

// Lowers the roots, runs segment 0 for the given dims and returns the registers' values; nothing where one is lost.
std::vector<std::optional<int64_t>> run(const sym::Store& store, const std::vector<Expr>& symbols,
                                        const std::vector<Expr>& roots, const std::vector<int64_t>& dims) {
  std::vector<int64_t> constants;
  for (int pass = 0;; ++pass) {
    HostProgram host(store, constants);
    for (uint32_t i = 0; i < symbols.size(); ++i) host.define_input_dim(symbols[i], 0, i);
    std::vector<Reg> regs;
    for (Expr e : roots) regs.push_back(host.integer(e));
    if (pass == 0) {
      constants = host.constants();
      continue;
    }
    REQUIRE(host.constants() == constants);
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(fb::HostProgram::Pack(builder, host.finish().get()));
    const auto& program = *flatbuffers::GetRoot<fb::HostProgram>(builder.GetBufferPointer());
    bundle::Registers registers(program);
    const std::vector<std::span<const int64_t>> input_dims{dims};
    bundle::run_segment(program, 0, {input_dims, {}, {}, {}}, registers);
    std::vector<std::optional<int64_t>> values;
    for (Reg r : regs) values.push_back(registers.lost(r) ? std::nullopt : std::optional(registers[r]));
    return values;
  }
}

TEST_CASE("the host program agrees with evaluation of expressions", "[plan]") {
  sym::Store store;
  const sym::test::Symbols symbols(store);
  sym::test::Random random(7, symbols.all.size());
  for (int round = 0; round < 300; ++round) {
    std::vector<sym::test::Tree> trees;
    for (int i = 0; i < 4; ++i) trees.push_back(random.integer(4));
    std::vector<Expr> roots;
    std::vector<const sym::test::Tree*> mentioned;
    for (const sym::test::Tree& tree : trees) {
      roots.push_back(sym::test::build(store, tree, symbols.all));
      mentioned.push_back(&tree);
    }
    const std::vector<int64_t> values = symbols.values(random, mentioned);
    const std::vector<std::optional<int64_t>> got = run(store, symbols.all, roots, values);
    for (size_t i = 0; i < roots.size(); ++i) {
      const auto wanted = store.evaluate(roots[i], symbols.lookup(values));
      INFO(sym::print(store, roots[i]));
      if (wanted) CHECK(got[i] == wanted);
    }
  }
}

TEST_CASE("magic numbers divide", "[plan]") {
  sym::Store store;
  const Expr d = store.symbol("D", sym::SymbolKind::Dim);
  std::mt19937 engine(3);
  for (int round = 0; round < 2000; ++round) {
    const int64_t divisor = round < 70 ? round + 1 : 1 + engine() % ((1u << (1 + round % 31)) - 1);
    HostProgram host(store, {});
    host.define_input_dim(d, 0, 0);
    const Reg mul = host.magic_mul(d), shift = host.magic_shift(d);
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(fb::HostProgram::Pack(builder, host.finish().get()));
    const auto& program = *flatbuffers::GetRoot<fb::HostProgram>(builder.GetBufferPointer());
    bundle::Registers registers(program);
    const std::vector<int64_t> dims{divisor};
    const std::vector<std::span<const int64_t>> input_dims{dims};
    bundle::run_segment(program, 0, {input_dims, {}, {}, {}}, registers);
    for (int i = 0; i < 50; ++i) {
      const uint32_t n = i < 4 ? static_cast<uint32_t>(divisor) * i : engine() & 0x7fffffffu;
      if (n > 0x7fffffffu) continue;
      const uint32_t high =
          static_cast<uint32_t>((static_cast<uint64_t>(n) * static_cast<uint32_t>(registers[mul])) >> 32);
      const uint32_t q = static_cast<uint32_t>((static_cast<uint64_t>(high) + n) >> registers[shift]);
      INFO("n " << n << " d " << divisor);
      CHECK(q == n / divisor);
    }
  }
}

TEST_CASE("what depends on a value read during the run is in a later segment", "[plan]") {
  sym::Store store;
  const Expr n = store.symbol("N", sym::SymbolKind::Dim), t = store.symbol("t", sym::SymbolKind::Data);
  HostProgram host(store, {});
  host.define_input_dim(n, 0, 0);
  host.define_read(t, 1);
  CHECK(host.segment_of(store.mul(n, n)) == 0);
  CHECK(host.segment_of(store.add(n, t)) == 1);
  host.integer(store.add(store.mul(n, n), t));
  const auto program = host.finish();
  REQUIRE(program->segment_starts.size() == 2);
  CHECK(program->code.size() - program->segment_starts[1] == 1);
}

}  // namespace
}  // namespace dlcb::plan
