// Activation functions: each is one core operator, so what is left here are attributes and their defaults.
#include "import/onnx/node_context.h"
#include "import/onnx/ops/translators.h"

namespace dlcb::importer::onnx {
namespace {

void activation(NodeContext& n, std::string_view op,
                std::initializer_list<std::pair<const char*, double>> defaults = {}) {
  ops::Attrs attrs;
  for (const auto& [name, value] : defaults) attrs.set(name, n.real(name, value));
  n.out(0, n.op(op, {n.in(0)}, std::move(attrs)));
}

}  // namespace

void leaky_relu(NodeContext& n) { activation(n, "leaky_relu", {{"alpha", 0.01f}}); }
void thresholded_relu(NodeContext& n) { activation(n, "thresholded_relu", {{"alpha", 1}}); }
void elu(NodeContext& n) { activation(n, "elu", {{"alpha", 1}}); }
void celu(NodeContext& n) { activation(n, "celu", {{"alpha", 1}}); }
void selu(NodeContext& n) {
  activation(n, "selu", {{"alpha", 1.67326319217681884765625}, {"gamma", 1.05070102214813232421875}});
}
void hard_sigmoid(NodeContext& n) { activation(n, "hard_sigmoid", {{"alpha", 0.2f}, {"beta", 0.5}}); }

void prelu(NodeContext& n) { n.out(0, n.op("prelu", {n.in(0), n.in(1)})); }

void gelu(NodeContext& n) { n.out(0, n.op("gelu", {n.in(0)}, {{"approximate", n.text("approximate", "none")}})); }

void swish(NodeContext& n) {
  const double alpha = n.real("alpha", 1);
  if (alpha == 1) return n.out(0, n.unary("silu", n.in(0)));
  n.out(0, n.mul(n.in(0), n.unary("sigmoid", n.mul(n.in(0), alpha))));
}

// x + bias below -lambda, x - bias above lambda, 0 between.
void shrink(NodeContext& n) {
  const ValueId x = n.in(0);
  const double bias = n.real("bias", 0), lambda = n.real("lambd", 0.5);
  const auto scalar = [&](double v) { return n.scalar(n.dtype(x), v); };
  const ValueId low = n.where(n.op("lt", {x, scalar(-lambda)}), n.add(x, bias), scalar(0));
  n.out(0, n.where(n.op("gt", {x, scalar(lambda)}), n.add(x, -bias), low));
}

}  // namespace dlcb::importer::onnx
