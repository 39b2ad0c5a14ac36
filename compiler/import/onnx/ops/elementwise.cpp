// Operators that work element by element: arithmetic, comparisons, logic, type changes.
#include "import/onnx/node_context.h"
#include "import/onnx/ops/translators.h"

namespace dlcb::importer::onnx {

void unary(NodeContext& n) { n.out(0, n.unary(n.variant(), n.in(0))); }

void binary(NodeContext& n) { n.out(0, n.op(n.variant(), {n.in(0), n.in(1)})); }

void variadic(NodeContext& n) {
  ValueId total = n.in(0);
  for (int i = 1; i < n.input_count(); ++i) total = n.op(n.variant(), {total, n.in(i)});
  n.out(0, total);
}

void mean(NodeContext& n) {
  ValueId total = n.in(0);
  for (int i = 1; i < n.input_count(); ++i) total = n.add(total, n.in(i));
  n.out(0, n.div(total, n.input_count()));
}

// The exponent's type may differ; the result has the base's. Integer powers of different types are computed in double.
void pow(NodeContext& n) {
  const ValueId base = n.in(0), exponent = n.in(1);
  const DType t = n.dtype(base);
  if (t == n.dtype(exponent) || is_float(t)) return n.out(0, n.op("pow", {base, n.cast(exponent, t)}));
  const DType wide = is_float(n.dtype(exponent)) ? DType::F64 : t;
  n.out(0, n.cast(n.op("pow", {n.cast(base, wide), n.cast(exponent, wide)}), t));
}

void mod(NodeContext& n) {
  const bool fmod = n.integer("fmod", 0) != 0;
  if (!fmod && is_float(n.dtype(n.in(0)))) n.bad_attribute("fmod", "is 0, but the operands are floats");
  n.out(0, n.op(fmod ? "rem" : "mod", {n.in(0), n.in(1)}));
}

void bit_shift(NodeContext& n) {
  const std::string direction = n.text("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") n.bad_attribute("direction", "is neither LEFT nor RIGHT");
  n.out(0, n.op(direction == "LEFT" ? "shift_left" : "shift_right", {n.in(0), n.in(1)}));
}

void where(NodeContext& n) { n.out(0, n.where(n.in(0), n.in(1), n.in(2))); }

// Bounds are attributes up to opset 10, then optional inputs that may be computed. min(max(x, low), high): when low is
// above high the result is high.
void clip(NodeContext& n) {
  ValueId x = n.in(0);
  const DType t = n.dtype(x);
  ops::Attrs known;
  ValueId computed[2];
  for (const int i : {0, 1}) {
    const char* name = i == 0 ? "min" : "max";
    if (!n.has(i + 1)) {
      if (n.has_attr(name)) known.set(name, n.real(name, 0));
      continue;
    }
    const auto bound = is_float(t) ? n.constant_reals(n.in(i + 1)) : std::nullopt;
    if (bound && bound->size() == 1)
      known.set(name, bound->front());
    else
      computed[i] = n.in(i + 1);
  }
  if (!computed[0].valid() && !computed[1].valid()) return n.out(0, known.all().empty() ? x : n.op("clip", {x}, known));
  for (const int i : {0, 1}) {
    const char* name = i == 0 ? "min" : "max";
    if (!computed[i].valid() && known.has(name)) computed[i] = n.scalar(t, known.real(name));
    if (computed[i].valid()) x = n.op(i == 0 ? "max" : "min", {x, computed[i]});
  }
  n.out(0, x);
}

void cast(NodeContext& n) {
  if (!n.has_attr("to")) n.bad_attribute("to", "is missing");
  n.out(0, n.cast(n.in(0), n.dtype_attr("to", DType::F32)));
}

void cast_like(NodeContext& n) { n.out(0, n.cast(n.in(0), n.dtype(n.in(1)))); }

void is_inf(NodeContext& n) {
  const bool negative = n.integer("detect_negative", 1) != 0, positive = n.integer("detect_positive", 1) != 0;
  const ValueId x = n.in(0), inf = n.unary("is_inf", x);
  if (negative && positive) return n.out(0, inf);
  const ValueId zero = n.scalar(n.dtype(x), 0);
  if (!negative && !positive) return n.out(0, n.op("lt", {x, x}));
  n.out(0, n.op("logical_and", {inf, positive ? n.op("lt", {zero, x}) : n.op("lt", {x, zero})}));
}

void identity(NodeContext& n) { n.out(0, n.in(0)); }

// Inference: the input, and a mask of ones if it is asked for.
void dropout(NodeContext& n) {
  if (n.has(2))
    for (const int64_t training : n.constant_ints(n.in(2), "training_mode"))
      if (training) n.unsupported("training mode");
  n.out(0, n.in(0));
  if (n.wants(1)) n.out(1, n.filled(DType::Bool, 1, n.dims(n.in(0))));
}

}  // namespace dlcb::importer::onnx
