#include <random>

#include "graph/fixture.h"
#include "graph/text.h"

using namespace dlcb;
using namespace dlcb::graph;
using testing::Fixture;

namespace {

// What stands for the file of weights.
struct Weights {
  std::vector<std::byte> bytes;
  WeightsOut out() {
    return {"w.bin", [this](const Constant& c) {
              bytes.insert(bytes.end(), c.bytes.begin(), c.bytes.end());
              return bytes.size() - c.bytes.size();
            }};
  }
  OpenWeights open() const {
    return [this](const std::string& name) -> Result<Constant> {
      CHECK(name == "w.bin");
      return Constant{bytes, nullptr};
    };
  }
};

std::string reprint(const std::string& text, const Weights* weights = nullptr) {
  sym::Store s;
  ops::ScalarStore scalars(s);
  auto g = parse(s, scalars, text, weights ? weights->open() : OpenWeights());
  INFO(text);
  INFO((g ? "" : to_text(g.error())));
  REQUIRE(g);
  CHECK(verify(*g).empty());
  Weights again;
  const WeightsOut out = again.out();
  return print(*g, weights ? &out : nullptr);
}

// A random graph of pointwise operators with broadcasting, reshapes and branches over a few inputs with shared symbols.
void fill(Fixture& f, std::mt19937& random) {
  auto pick = [&](size_t n) { return random() % n; };
  const std::vector<std::string> sizes = {"N", "T", "1", "8", "2*T", "L.1"};
  std::vector<ValueId> values;
  f.input("sizes", DType::F32, {"N", "T", "L.1"});
  for (int i = 0; i < 3; ++i)
    values.push_back(f.input("in" + std::to_string(i), DType::F32, {sizes[pick(6)], sizes[pick(6)]}));
  values.push_back(f.constant<float>("odd \"name\"\n", DType::F32, {1, 8}, {0.1F, -1e30F, 3, 1e-40F, 5, 6, 7, 8}));
  ValueId flag = f.input("flag", DType::Bool, {});
  sym::Expr taken = f.g.elements(flag, {})->at(0);
  for (int i = 0; i < 12; ++i) {
    bool branch = pick(4) == 0;
    if (branch) f.g.push_predicate(taken);
    std::string node = "/n" + std::to_string(i);
    ValueId a = values[pick(values.size())], b = values[pick(values.size())];
    const char* kOps[] = {"add", "mul", "max"};
    Result<ValueId> made = pick(2) ? f.g.add1(kOps[pick(3)], {a, b}, {}, {{"Binary", node, "y"}}, node)
                                   : f.g.add1("leaky_relu", {a}, {{"alpha", 0.1 * i}}, {{"LeakyRelu", node, ""}}, node);
    if (made) values.push_back(*made);
    if (branch) f.g.pop_predicate();
  }
  f.g.add_output("result", values.back());
}

}  // namespace

TEST_CASE("what is printed reads back and prints the same") {
  int read_back = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    Fixture f;
    std::mt19937 random(seed);
    fill(f, random);
    std::string text = print(f.g);
    INFO("seed " << seed);
    REQUIRE(verify(f.g).empty());
    // Constraints that exclude each other may only be seen to do so when all are known from the start.
    sym::Store s;
    ops::ScalarStore scalars(s);
    auto g = parse(s, scalars, text);
    if (!g && g.error().kind == DiagKind::ShapeContradiction) continue;
    INFO((g ? "" : to_text(g.error())));
    REQUIRE(g);
    CHECK(verify(*g).empty());
    REQUIRE(print(*g) == text);
    ++read_back;
  }
  CHECK(read_back >= 40);
}

// Each row count is read three times by the next: as trees the dims have more than 2^40 nodes.
TEST_CASE("dims that share deeply are defined once and read back") {
  Fixture f;
  ValueId x = f.input("x", DType::F32, {"L"});
  ValueId lengths = f.input("lengths", DType::I64, {"40"});
  const auto reads = f.g.elements(lengths, {});
  REQUIRE(reads);
  for (int i = 0; i < 40; ++i) {
    const sym::Expr rows = f.g.value(x).dims[0], wanted = reads->at(i);
    const sym::Expr start = f.s.min(rows, f.s.select(f.s.lt(wanted, rows), f.s.add(wanted, rows), wanted));
    x = f.add("slice", {x},
              {{"axes", std::vector<int64_t>{0}},
               {"starts", std::vector<sym::Expr>{start}},
               {"extents", std::vector<sym::Expr>{f.s.max(f.s.constant(0), f.s.sub(rows, start))}},
               {"steps", std::vector<int64_t>{1}}},
              "/slice" + std::to_string(i));
  }
  f.g.add_output("y", x);
  const std::string text = print(f.g);
  CHECK(text.size() < 40 * 1000);
  CHECK(text.find("  let $1 = ") != std::string::npos);
  CHECK(reprint(text) == text);
  const auto again = parse(f.s, f.scalars, text);
  REQUIRE(again);
  CHECK(again->value(again->outputs[0]).dims == f.g.value(x).dims);
  CHECK(statement(f.g, f.g.value(x).producer).size() < 40 * 400);
}

TEST_CASE("hand-written text may leave out types and names what it infers") {
  std::string text =
      "graph \"m.onnx\" {\n"
      "  symbol N dim 0..8\n"
      "  symbol T dim 0..\n"
      "  input %x: f32[N, T]\n"
      "  const %w: f32[2] = [1, 2.5]\n"
      "  range N in 1..8\n"
      "  require T == 2 or T == 1 why \"dims must be equal or 1\" node %y operand 0 axis 1\n"
      "  %y = add %x, %w from \"Add\" \"/add\" \"y\"\n"
      "  output \"y\" %y\n"
      "}\n";
  std::string printed = reprint(text);
  CHECK(printed.find("%y: f32[N, ") != std::string::npos);
  CHECK(printed.find("node %y operand 0 axis 1") != std::string::npos);
  CHECK(reprint(printed) == printed);
}

TEST_CASE("every kind of attribute and of constant survives") {
  Fixture f;
  ValueId x = f.input("x", DType::F32, {"N", "3"});
  f.constant<uint16_t>("h", DType::F16, {2}, {0x3c00, 0x7e00});
  f.constant<double>("d", DType::F64, {3}, {0.1, std::numeric_limits<double>::infinity(), -0.0});
  f.constant<uint64_t>("u", DType::U64, {1}, {UINT64_MAX});
  f.constant<int8_t>("i", DType::I8, {2, 0}, {});
  ValueId y = f.add("cast", {x}, {{"to", DType::F16}});
  ValueId z = f.add("transpose", {y}, {{"perm", std::vector<int64_t>{1, 0}}});
  ValueId r = f.add("reshape", {z}, {{"shape", f.exprs({"N*3"})}});
  ValueId gelu = f.add("gelu", {r}, {{"approximate", std::string("tanh")}});
  f.g.value(z).order = {1, 0};
  f.g.add_output("out", gelu);
  std::string text = print(f.g);
  CHECK(reprint(text) == text);
  CHECK(text.find("order(1, 0)") != std::string::npos);
}

TEST_CASE("large constants go to the weights") {
  Fixture f;
  ValueId w = f.constant<float>("w", DType::F32, {100}, std::vector<float>(100, 2));
  f.g.add_output("w", w);
  f.g.digest = "0123";
  Weights weights;
  const WeightsOut out = weights.out();
  std::string text = print(f.g, &out);
  CHECK(weights.bytes.size() == 400);
  CHECK(reprint(text, &weights) == text);
  CHECK(text.starts_with("graph digest \"0123\" weights \"w.bin\" {\n"));
  CHECK(print(f.g).find("= digest ") != std::string::npos);
}

TEST_CASE("text that cannot be read says where") {
  auto error = [](std::string_view text) {
    sym::Store s;
    ops::ScalarStore scalars(s);
    auto g = parse(s, scalars, text);
    REQUIRE_FALSE(g);
    return to_text(g.error());
  };
  CHECK(error("graph {\n").find("ends early") != std::string::npos);
  CHECK(error("graph {\n  %y = nonsense %x\n}\n").find("line 2: unknown value '%x'") != std::string::npos);
  CHECK(error("graph {\n  input %x: f32[Q]\n}\n").find("line 2: 'Q'") != std::string::npos);
  CHECK(error("graph {\n  input %x: f32[2\n}\n").find("line 2: a bracket is not closed") != std::string::npos);
  CHECK(error("graph {\n  const %c: i8[2] = [1, 300]\n}\n").find("not an element") != std::string::npos);
  CHECK(error("graph {\n  const %c: f32[99999999999, 99999999999] = at 0\n}\n").find("literal dims") !=
        std::string::npos);
  CHECK(error("graph {\n  input %x: f32[2]\n  input %x: f32[2]\n}\n").find("defined twice") != std::string::npos);
  for (const char* order : {"", "0", "0, 0", "0, 2", "-1, 0", "1, 0, 1", "256, 1"})
    CHECK(error("graph {\n  input %x: f32[2, 3] order(" + std::string(order) + ")\n}\n").find("every dim once") !=
          std::string::npos);
  CHECK(error("graph {\n  input %x: f32[`\n}\n").find("line 2") != std::string::npos);
  std::string ones = "1";
  for (int i = 1; i < 33; ++i) ones += ", 1";
  CHECK(error("graph {\n  input %x: f32[" + ones + "]\n}\n").find("rank 33") != std::string::npos);
  CHECK(error("graph {\n  let $1 = Q\n}\n").find("line 2: 'Q'") != std::string::npos);
  CHECK(error("graph {\n  input %x: f32[$1]\n}\n").find("'$1' is not defined") != std::string::npos);
  CHECK(error("graph {\n  let $a = 1\n  let $a = 2\n}\n").find("line 3: ") != std::string::npos);
  CHECK(error("graph {\n  const %c: i8[2] = digest 12\n}\n").find("--dump-dir") != std::string::npos);
  CHECK(error("graph {\n  const %c: i8[2] = at 0\n}\n").find("do not hold this") != std::string::npos);
}

TEST_CASE("a symbol that no input gives a value is refused where it is first used") {
  const auto parsed = [](const std::string& statements) {
    sym::Store s;
    ops::ScalarStore scalars(s);
    auto g = parse(s, scalars, "graph {\n  symbol T dim 0..\n  symbol P dim 0..\n" + statements + "}\n");
    return g ? "" : to_text(g.error());
  };
  const std::string used[] = {
      "  input %x: f32[T, 2*P]\n",
      "  input %x: f32[T]\n  let $1 = P + T\n",
      "  input %x: f32[T]\n  %y = reshape %x {shape = (P, T)}\n",
      "  input %x: f32[T]\n  %y = neg %x if P == 1\n",
      "  input %x: f32[T]\n  require P <= T why \"\"\n",
      "  input %x: f32[T]\n  eliminated T = P why \"\"\n",
  };
  for (const std::string& statements : used) {
    const std::string line = statements.find("\n") + 1 == statements.size() ? "line 4: " : "line 5: ";
    INFO(statements);
    CHECK(parsed(statements).find(line + "nothing gives symbol 'P' a value") != std::string::npos);
    CHECK(parsed(statements + "  input %p: f32[P]\n") == "");
    CHECK(parsed(statements + "  input %p: i64[]\n  read P = %p[0]\n") == "");
  }
  CHECK(parsed("  input %x: f32[T]\n") == "");  // declared and used nowhere
}
