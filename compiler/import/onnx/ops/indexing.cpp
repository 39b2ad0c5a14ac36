// Operators whose coordinates come from tensors: gathers, one-hot, running sums.
#include <fmt/format.h>

#include "import/onnx/node_context.h"
#include "import/onnx/ops/translators.h"
#include "ops/arithmetic.h"

namespace dlcb::importer::onnx {

void gather(NodeContext& n) { n.out(0, n.gather(n.in(0), n.in(1), n.axis_of(n.integer("axis", 0), n.rank(n.in(0))))); }

void gather_elements(NodeContext& n) {
  const int axis = n.axis_of(n.integer("axis", 0), n.rank(n.in(0)));
  n.out(0, n.op("gather_elements", {n.in(0), n.in(1)}, {{"axis", int64_t{axis}}}));
}

void gather_nd(NodeContext& n) {
  n.out(0, n.op("gather_nd", {n.in(0), n.in(1)}, {{"batch_dims", n.integer("batch_dims", 0)}}));
}

// The off and on values are an operand; where they are constants they become attributes.
void one_hot(NodeContext& n) {
  const ValueId indices = n.cast(n.in(0), DType::I64), values = n.in(2);
  const auto known = n.constant_numbers(values);
  if (!known || known->size() != 2) n.unsupported("the values are not constants");
  ValueId depth_operand = n.in(1);
  if (is_float(n.dtype(depth_operand))) {
    const auto depth = n.constant_reals(depth_operand);
    if (!depth || depth->size() != 1) n.unsupported("the depth is a float that is not constant");
    depth_operand = n.ints({n.lit(ops::float_to_integer(DType::I64, depth->front()))});
  }
  const Exprs depth = n.elements(depth_operand);
  if (depth.size() != 1) n.malformed("the depth has not exactly one element");
  const int axis = n.axis_of(n.integer("axis", -1), n.rank(indices) + 1);
  n.out(0, n.op("one_hot", {indices},
                {{"depth", depth},
                 {"axis", int64_t{axis}},
                 {"off", known->at(0)},
                 {"on", known->at(1)},
                 {"dtype", n.dtype(values)}}));
}

void cum_sum(NodeContext& n) {
  const ValueId x = n.in(0);
  const Ints axis = n.constant_ints(n.in(1), "the axis");
  if (axis.size() != 1) n.malformed("the axis has not exactly one element");
  n.out(0, n.op("cumsum", {x},
                {{"axis", int64_t{n.axis_of(axis[0], n.rank(x))}},
                 {"exclusive", n.integer("exclusive", 0)},
                 {"reverse", n.integer("reverse", 0)}}));
}

// Row b's first lengths[b] steps backwards, the others as they are: a gather along the time axis.
void reverse_sequence(NodeContext& n) {
  const ValueId x = n.in(0);
  const int batch = n.axis_of(n.integer("batch_axis", 1), n.rank(x), "batch_axis"),
            time = n.axis_of(n.integer("time_axis", 0), n.rank(x), "time_axis");
  if (batch + time != 1) n.bad_attribute("time_axis", "and batch_axis are not 0 and 1");
  const ValueId lengths = n.unsqueeze(n.in(1), {time}),
                steps = n.unsqueeze(n.iota(n.lit(0), 1, n.dim(x, time), DType::I64), {batch});
  const ValueId reversed = n.sub(n.sub(lengths, n.graph().add_ints("one", DType::I64, {n.lit(1)}, true)), steps);
  const ValueId source = n.where(n.op("lt", {steps, lengths}), reversed, steps);
  const ValueId everywhere = n.broadcast_to(n.pad_rank_right(source, n.rank(x)), n.dims(x));
  n.out(0, n.op("gather_elements", {x, everywhere}, {{"axis", int64_t{time}}}));
}

}  // namespace dlcb::importer::onnx
