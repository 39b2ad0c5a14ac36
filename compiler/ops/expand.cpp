// The builder that follows an expansion's extents without making a graph.
#include "ops/expand.h"

#include <algorithm>

namespace dlcb::ops {
namespace {

constexpr uint32_t kFirstInner = 0x8000'0000u;  // ids of values inside an expansion, apart from any graph's

class ExtentBuilder final : public GraphBuilder {
 public:
  // An expansion inside an expansion counts on from its operands' ids.
  explicit ExtentBuilder(DefineContext& ctx) : ctx_(ctx) {
    for (const Operand& o : ctx.operands)
      if (o.value.valid()) first_ = std::max(first_, o.value.id + 1);
  }

  Result<std::vector<ValueId>> emit(std::string_view name, std::vector<ValueId> inputs, Attrs attrs) override {
    std::vector<Operand> operands;
    for (ValueId v : inputs) operands.push_back(v.valid() ? operand(v) : Operand{});
    DLCB_ASSIGN(Definition d, define(ops::op(name), ctx_.scalars, ctx_.facts(), operands, attrs));
    for (Requirement& r : d.requirements) {
      // Blame falls on the expanded operator's operand when the inner operand is one, else on nobody in particular.
      int position = -1;
      for (size_t i = 0; r.operand >= 0 && i < ctx_.operands.size(); ++i)
        if (ctx_.operands[i].value == inputs[r.operand]) position = static_cast<int>(i);
      ctx_.require(r.condition, std::move(r.why), position, position < 0 ? -1 : r.axis);
    }
    std::vector<ValueId> out;
    for (OutputDef& o : d.outputs) {
      const ValueId v{first_ + static_cast<uint32_t>(inner_.size())};
      inner_.push_back({v, o.dtype, std::move(o.dims)});
      out.push_back(v);
    }
    return out;
  }

  Operand operand(ValueId v) const override {
    if (v.id >= first_) return inner_.at(v.id - first_);
    for (const Operand& o : ctx_.operands)
      if (o.value == v) return o;
    DLCB_CHECK(false, "an expansion used a value that is not its own");
  }

  sym::Store& sym() override { return ctx_.sym; }
  const sym::Facts& facts() const override { return ctx_.facts(); }
  Status require(sym::Expr condition, std::string why, int operand, int axis) override {
    ctx_.require(condition, std::move(why), operand, axis);
    return ok();
  }

 private:
  DefineContext& ctx_;
  uint32_t first_ = kFirstInner;
  std::vector<Operand> inner_;
};

}  // namespace

Result<Definition> define_expansion(DefineContext& ctx) {
  ExtentBuilder builder(ctx);
  DLCB_ASSIGN(std::vector<ValueId> values, ctx.op.expand(builder, ctx.operands, ctx.attrs));
  for (ValueId v : values) {
    Operand o = builder.operand(v);
    ctx.output(o.dtype, o.dims, ctx.indices(o.dims), Scalar{});
  }
  return std::move(ctx.definition);
}

}  // namespace dlcb::ops
