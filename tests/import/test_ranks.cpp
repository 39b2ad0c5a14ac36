// Operands of any rank are read or refused. Operators read dims of one operand because of another's rank; a model may
// have either wrong. Made from the importer's table: every operator, with operands of random ranks.
#include <random>

#include "import/onnx/ops/table.h"
#include "import_fixture.h"

using namespace dlcb;
using namespace dlcb::testing;

namespace {

// Plausible values of what operators cannot do without; others do not look at them.
std::vector<AttributeProto> attributes() {
  return {attr("q_num_heads", 2),
          attr("kv_num_heads", 2),
          attr("num_heads", 2),
          attr("hidden_size", 4),
          attr("num_groups", 2),
          attr("blocksize", 2),
          attr("size", 3),
          attr("to", 1),
          attr("kernel_shape", std::vector<int64_t>{2}),
          attr("equation", "ij,jk->ik")};
}

GraphBuilder random_node(std::string_view op, std::mt19937& random) {
  const auto below = [&](unsigned n) { return static_cast<int>(random() % n); };
  GraphBuilder g;
  std::vector<std::string> names;
  const int common = below(5);
  for (int i = 0, count = 3 + below(5); i < count; ++i) {
    const std::string name = "x" + std::to_string(i);
    const int rank = below(3) ? common : below(5);
    if (i > 2 && below(4) == 0) {
      names.emplace_back();
    } else if (i > 0 && below(4) == 0) {
      g.initializer(ints(name, std::vector<int64_t>(static_cast<size_t>(rank), below(3))));
      names.push_back(name);
    } else {
      const bool real = below(8) > 0;
      g.input(name, std::vector<TestDim>(static_cast<size_t>(rank), real ? 4 : 2),
              real ? TensorProto::FLOAT : TensorProto::INT64);
      names.push_back(name);
    }
  }
  g.node(std::string(op), names, {"y"}, attributes());
  return g.output("y");
}

}  // namespace

TEST_CASE("operands of any rank are read or refused, never worse") {
  std::mt19937 random(5);
  for (const importer::onnx::OpRow& row : importer::onnx::all_rows()) {
    if (!row.translate) continue;
    for (int i = 0; i < 50; ++i) {
      const GraphBuilder g = random_node(row.name, random);
      INFO(row.name << ", attempt " << i);
      CHECK_NOTHROW(Imported(g, row.name == "Upsample" ? 9 : 23));
    }
  }
}
