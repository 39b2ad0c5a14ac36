// The steps as text, for people. Expressions and bodies share one set of `let` definitions, each before the step that
// first needs it.
#include "fuse/print.h"

#include <fmt/format.h>

#include "ops/scalar_text.h"

namespace dlcb::fuse {
namespace {

using graph::Graph;
using ops::ValueId;

class Printer {
 public:
  Printer(const Graph& graph, std::span<const Step> steps)
      : graph_(graph), steps_(steps), texts_(graph.scalars(), [&](ValueId v) { return "%" + graph_.value(v).name; }) {}

  std::string run() {
    for (const Step& step : steps_) text(step);  // finds what is worth a name
    texts_.close();
    std::string all;
    for (const Step& step : steps_) {
      const std::string one = text(step);
      all += texts_.take_lets("") + one;
    }
    return all;
  }

 private:
  std::string expr(sym::Expr e) { return texts_.text(e); }
  std::string exprs(std::span<const sym::Expr> list) {
    std::string text;
    for (size_t i = 0; i < list.size(); ++i) text += (i ? ", " : "") + expr(list[i]);
    return text;
  }

  std::string text(const Step& step) {
    std::string text;
    if (!graph_.sym().is_const(step.predicate, 1)) text += "if " + expr(step.predicate) + ": ";
    if (const auto* region = std::get_if<Region>(&step.action)) return text + region_text(*region, step.schedule);
    if (const auto* claim = std::get_if<Claim>(&step.action)) return text + claim_text(*claim);
    const Alias& alias = std::get<Alias>(step.action);
    return text + "alias " + tensor(alias.value) + " = " + tensor(alias.source) + "\n";
  }

  std::string tensor(ValueId v) {
    if (!v.valid()) return "-";
    const graph::Value& value = graph_.value(v);
    std::string text = "%" + value.name + ": " + std::string(name_of(value.dtype)) + "[" + exprs(value.dims) + "]";
    if (value.order.empty()) return text;
    text += "{";
    for (uint8_t d : value.order) text += std::to_string(d);
    return text + "}";
  }

  std::string region_text(const Region& region, Schedule schedule) {
    constexpr const char* kNames[] = {"none", "pointwise", "transpose", "row_reduce", "column_reduce", "contraction"};
    std::string text = std::string("kernel ") + kNames[static_cast<int>(schedule)] + " " + region.name + "\n";
    for (const Output& o : region.outputs)
      text += "  " + tensor(o.tensor.value) + "\n    [" + exprs(o.index) + "] = " + texts_.text(o.body) + "\n";
    return text;
  }

  std::string claim_text(const Claim& claim) {
    if (const auto* m = std::get_if<MatmulCall>(&claim.call)) return matmul_text(*m);
    const auto& c = std::get<ConvCall>(claim.call);
    return std::string(c.transposed ? "conv_transpose " : "conv ") + tensor(c.out) + " = " + tensor(c.x) + " * " +
           tensor(c.w) + added(c) + activation(c.activation) + "\n";
  }

  std::string matmul_text(const MatmulCall& m) {
    const std::string scale = m.alpha == 1 ? "" : fmt::format("{} * ", m.alpha);
    return "matmul " + tensor(m.out) + " = " + scale + tensor(m.a) + (m.trans_a ? "^T" : "") + " @ " + tensor(m.b) +
           (m.trans_b ? "^T" : "") + added(m) + "\n  m " + expr(m.m) + ", n " + expr(m.n) + ", k " + expr(m.k) +
           ", batch " + expr(m.batch) + ", lda " + expr(m.lda) + ", ldb " + expr(m.ldb) + ", strides " +
           expr(m.stride_a) + ", " + expr(m.stride_b) + activation(m.activation) + "\n";
  }

  std::string added(const Epilogue& e) {
    return " + " + tensor(e.bias) + (e.residual.valid() ? " + " + tensor(e.residual) : "");
  }

  static const char* activation(Activation a) { return a == Activation::Relu ? ", relu" : ""; }

  const Graph& graph_;
  std::span<const Step> steps_;
  ops::ScalarTexts texts_;
};

}  // namespace

std::string print(const Graph& graph, std::span<const Step> steps) { return Printer(graph, steps).run(); }

}  // namespace dlcb::fuse
