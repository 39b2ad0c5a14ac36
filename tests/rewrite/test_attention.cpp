// Attention in the spellings of exporters: recognised with its scale, mask and keys, and only where nothing inside is
// wanted elsewhere; the operator computes what the spelling did.
#include <cmath>
#include <limits>

#include "graph/constant.h"
#include "graph/expand.h"
#include "graph/fixture.h"
#include "rewrite/fold.h"
#include "rewrite/patterns.h"
#include "rewrite/simplify.h"

namespace dlcb::rewrite {
namespace {

using graph::testing::Fixture;
using ops::ValueId;

struct Spelling {
  bool scale_operands = false;  // each by the square root, as torch.onnx does; else the scores are divided
  bool regroup_keys = false;    // heads merged into the batch for the transpose
  bool mask = false, guard_nan = false, decomposed_softmax = false;
};

class Attention {
 public:
  explicit Attention(const Spelling& spelling, bool constant = false) : spelling_(spelling) {
    const auto tensor = [&](const char* name, std::vector<int64_t> dims) {
      std::vector<std::string> texts;
      for (int64_t d : dims) texts.push_back(std::to_string(d));
      if (!constant) {
        texts[0] = "N";
        return f.input(name, DType::F32, texts);
      }
      int64_t count = 1;
      for (int64_t d : dims) count *= d;
      std::vector<float> values;
      for (int64_t i = 0; i < count; ++i) values.push_back(std::sin(0.7f * static_cast<float>(i + name[0])));
      if (name[0] == 'm') values[0] = -std::numeric_limits<float>::infinity();
      return f.constant<float>(name, DType::F32, dims, values);
    };
    const ValueId q = tensor("q", {2, 3, 5, 4}), k = tensor("k", {2, 3, 6, 4}), v = tensor("v", {2, 3, 6, 7});
    batch = constant ? "2" : "N";
    ValueId scores = spelling_.scale_operands ? f.add("matmul", {f.add("mul", {q, number(0.70710678f)}),
                                                                 f.add("mul", {transposed(k), number(0.70710678f)})})
                                              : f.add("div", {f.add("matmul", {q, transposed(k)}), number(2)});
    if (spelling_.mask) scores = f.add("add", {tensor("m", {2, 1, 5, 6}), scores});
    weights = softmax(scores);
    if (spelling_.guard_nan) weights = f.add("select", {f.add("is_nan", {weights}), number(0), weights});
    f.g.add_output("y", f.add("matmul", {weights, v}));
  }

  std::vector<std::string_view> op_names() {
    std::vector<std::string_view> names;
    for (uint32_t n = 0; n < f.g.node_count(); ++n) {
      if (f.g.node({n}).op) names.push_back(f.g.node({n}).op->name);
    }
    return names;
  }
  const graph::Node& root() { return f.g.node(f.g.value(f.g.outputs[0]).producer); }

  // All operands being constants, what the graph gives.
  std::vector<double> folded() {
    for (uint32_t n = 0; n < f.g.node_count(); ++n) {
      if (f.g.node({n}).op && f.g.node({n}).op->kind == ops::OpKind::Expands) REQUIRE(graph::expand_node(f.g, {n}));
    }
    f.g.sort_topologically();
    REQUIRE(fold_constants(f.g));
    const graph::Value& value = f.g.value(f.g.outputs[0]);
    REQUIRE(value.constant);
    std::vector<double> out;
    for (size_t i = 0; i < value.constant->bytes.size() / 4; ++i)
      out.push_back(graph::real_element(DType::F32, value.constant->bytes, static_cast<int64_t>(i)));
    return out;
  }

  Fixture f;
  ValueId weights;

 private:
  ValueId number(float v) { return f.constant<float>("c" + std::to_string(v), DType::F32, {}, {v}); }
  ValueId transposed(ValueId k) {
    if (!spelling_.regroup_keys) return f.add("transpose", {k}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
    const ValueId merged = f.add("reshape", {k}, {{"shape", f.exprs({batch + " * 3", "6", "4"})}});
    const ValueId turned = f.add("transpose", {merged}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
    return f.add("reshape", {turned}, {{"shape", f.exprs({batch, "3", "4", "6"})}});
  }
  ValueId softmax(ValueId x) {
    if (!spelling_.decomposed_softmax) return f.add("softmax", {x}, {{"axis", int64_t{3}}});
    const ops::Attrs last{{"axes", std::vector<int64_t>{-1}}, {"keepdims", int64_t{1}}};
    const ValueId e = f.add("exp", {f.add("sub", {x, f.add("reduce_max", {x}, last)})});
    return f.add("div", {e, f.add("reduce_sum", {e}, last)});
  }

  const Spelling spelling_;
  std::string batch = "N";
};

std::vector<Spelling> all_spellings() {
  std::vector<Spelling> all;
  for (int bits = 0; bits < 32; ++bits)
    all.push_back({(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0, (bits & 16) != 0});
  return all;
}

}  // namespace

TEST_CASE("attention is recognised in every spelling, with untransposed keys and one scale", "[rewrite]") {
  for (const Spelling& s : all_spellings()) {
    Attention a(s);
    INFO(s.scale_operands << s.regroup_keys << s.mask << s.guard_nan << s.decomposed_softmax);
    REQUIRE(recognise_patterns(a.f.g));
    REQUIRE(a.op_names() == std::vector<std::string_view>{"attention"});
    CHECK(std::abs(a.root().attrs.real("scale") - 0.5) < 1e-6);
    CHECK(a.root().attrs.integer("transposed_keys") == 0);
    CHECK(a.root().attrs.integer("nan_is_zero") == s.guard_nan);
    CHECK(a.root().inputs.size() == (s.mask ? 4 : 3));
    CHECK(a.f.g.value(a.root().inputs[1]).name == "k");
  }
}

TEST_CASE("recognised attention computes what its spelling computes", "[rewrite]") {
  for (const Spelling& s : all_spellings()) {
    Attention plain(s, true), recognised(s, true);
    INFO(s.scale_operands << s.regroup_keys << s.mask << s.guard_nan << s.decomposed_softmax);
    REQUIRE(recognise_patterns(recognised.f.g));
    const std::vector<double> expected = plain.folded(), got = recognised.folded();
    REQUIRE(got.size() == expected.size());
    for (size_t i = 0; i < got.size(); ++i) CHECK(std::abs(got[i] - expected[i]) < 1e-5);
  }
}

TEST_CASE("attention whose weights are wanted stays written out", "[rewrite]") {
  Attention a({.guard_nan = true});
  a.f.g.add_output("weights", a.weights);
  REQUIRE(recognise_patterns(a.f.g));
  CHECK(a.op_names().back() == "matmul");
}

TEST_CASE("keys that come transposed are read as they are", "[rewrite]") {
  Fixture f;
  const ValueId q = f.input("q", DType::F32, {"N", "5", "4"}), k = f.input("k", DType::F32, {"N", "4", "6"});
  const ValueId weights = f.add("softmax", {f.add("matmul", {q, k})}, {{"axis", int64_t{-1}}});
  f.g.add_output("y", f.add("matmul", {weights, f.input("v", DType::F32, {"N", "6", "7"})}));
  REQUIRE(recognise_patterns(f.g));
  const graph::Node& made = f.g.node(f.g.value(f.g.outputs[0]).producer);
  CHECK(made.op->name == "attention");
  CHECK(made.attrs.integer("transposed_keys") == 1);
  CHECK(f.dims(made.outputs[0]) == "N, 5, 7");
}

}  // namespace dlcb::rewrite
