#include "fuse/print.h"

namespace dlcb::fuse {
namespace {

using graph::Graph;
using ops::ValueId;

std::string tensor_text(const Graph& graph, ValueId v) {
  if (!v.valid()) return "-";
  const graph::Value& value = graph.value(v);
  std::string text = "%" + value.name + ": " + std::string(name_of(value.dtype)) + "[";
  for (size_t i = 0; i < value.dims.size(); ++i) text += (i ? ", " : "") + sym::print(graph.sym(), value.dims[i]);
  text += "]";
  if (value.order.empty()) return text;
  text += "{";
  for (uint8_t d : value.order) text += std::to_string(d);
  return text + "}";
}

std::string region_text(const Graph& graph, const Region& region, Schedule schedule) {
  constexpr const char* kNames[] = {"none", "pointwise", "transpose", "row_reduce", "column_reduce", "contraction"};
  std::string text = std::string("kernel ") + kNames[static_cast<int>(schedule)] + " " + region.name + "\n";
  for (const Output& o : region.outputs) {
    text += "  " + tensor_text(graph, o.tensor.value) + "\n    [";
    for (size_t i = 0; i < o.index.size(); ++i) text += (i ? ", " : "") + sym::print(graph.sym(), o.index[i]);
    text += "] = " + ops::print(graph.scalars(), o.body, [&](ValueId v) { return "%" + graph.value(v).name; }) + "\n";
  }
  return text;
}

std::string claim_text(const Graph& graph, const Claim& claim) {
  const auto p = [&](sym::Expr e) { return sym::print(graph.sym(), e); };
  if (const auto* m = std::get_if<MatmulCall>(&claim.call)) {
    return "matmul " + tensor_text(graph, m->out) + " = " + tensor_text(graph, m->a) + (m->trans_a ? "^T" : "") +
           " @ " + tensor_text(graph, m->b) + (m->trans_b ? "^T" : "") + " + " + tensor_text(graph, m->bias) +
           "\n  m " + p(m->m) + ", n " + p(m->n) + ", k " + p(m->k) + ", batch " + p(m->batch) + ", lda " + p(m->lda) +
           ", ldb " + p(m->ldb) + ", strides " + p(m->stride_a) + ", " + p(m->stride_b) +
           (m->activation == Activation::Relu ? ", relu" : "") + "\n";
  }
  const auto& c = std::get<ConvCall>(claim.call);
  return std::string(c.transposed ? "conv_transpose " : "conv ") + tensor_text(graph, c.out) + " = " +
         tensor_text(graph, c.x) + " * " + tensor_text(graph, c.w) + " + " + tensor_text(graph, c.bias) +
         (c.activation == Activation::Relu ? ", relu" : "") + "\n";
}

}  // namespace

std::string print(const Graph& graph, std::span<const Step> steps) {
  std::string text;
  for (const Step& step : steps) {
    if (!graph.sym().is_const(step.predicate, 1)) text += "if " + sym::print(graph.sym(), step.predicate) + ": ";
    if (const auto* region = std::get_if<Region>(&step.action)) {
      text += region_text(graph, *region, step.schedule);
    } else if (const auto* claim = std::get_if<Claim>(&step.action)) {
      text += claim_text(graph, *claim);
    } else {
      const Alias& alias = std::get<Alias>(step.action);
      text += "alias " + tensor_text(graph, alias.value) + " = " + tensor_text(graph, alias.source) + "\n";
    }
  }
  return text;
}

}  // namespace dlcb::fuse
