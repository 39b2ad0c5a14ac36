#include "import/onnx/ops/window.h"

#include <fmt/format.h>

namespace dlcb::importer::onnx {

Ints per_axis(NodeContext& n, std::string_view attribute, int count) {
  const Ints given = n.integers(attribute);
  if (given.empty()) return Ints(static_cast<size_t>(count), 1);
  if (static_cast<int>(given.size()) != count)
    n.bad_attribute(attribute, fmt::format("has {} entries for {} spatial axes", given.size(), count));
  for (const int64_t v : given)
    if (v < 1) n.bad_attribute(attribute, fmt::format("holds {}, which is not positive", v));
  return given;
}

Expr reach(NodeContext& n, Expr kernel, int64_t dilation) {
  return n.sym().add(n.sym().mul(n.sym().sub(kernel, n.lit(1)), n.lit(dilation)), n.lit(1));
}

Window window_of(NodeContext& n, ValueId x, const Exprs& kernel) {
  sym::Store& s = n.sym();
  const int count = n.rank(x) - 2;
  if (count < 1) n.malformed(fmt::format("the operand has rank {}, but 3 or more is needed", n.rank(x)));
  if (static_cast<int>(kernel.size()) != count)
    n.malformed(fmt::format("the kernel has {} axes for {} spatial axes", kernel.size(), count));
  Window w{per_axis(n, "strides", count), per_axis(n, "dilations", count), Exprs(static_cast<size_t>(count), n.lit(0)),
           Exprs(static_cast<size_t>(count), n.lit(0))};
  const std::string mode = n.text("auto_pad", "NOTSET");
  const Ints pads = n.integers("pads");
  if (mode == "NOTSET" || mode.empty()) {
    if (!pads.empty() && static_cast<int>(pads.size()) != 2 * count)
      n.bad_attribute("pads", fmt::format("has {} entries for {} spatial axes", pads.size(), count));
    for (size_t i = 0; i < pads.size() / 2; ++i) {
      if (pads[i] < 0 || pads[i + pads.size() / 2] < 0) n.bad_attribute("pads", "holds a negative number");
      w.lo[i] = n.lit(pads[i]);
      w.hi[i] = n.lit(pads[i + pads.size() / 2]);
    }
    return w;
  }
  if (mode == "VALID") return w;
  if (mode != "SAME_UPPER" && mode != "SAME_LOWER") n.bad_attribute("auto_pad", fmt::format("is '{}'", mode));
  for (size_t i = 0; i < kernel.size(); ++i) {
    const Expr in = n.dim(x, static_cast<int64_t>(i) + 2), stride = n.lit(w.strides[i]);
    const Expr covered =
        s.add(s.mul(s.sub(s.ceildiv(in, stride), n.lit(1)), stride), reach(n, kernel[i], w.dilations[i]));
    const Expr total = s.max(n.lit(0), s.sub(covered, in)), half = s.floordiv(total, n.lit(2));
    (mode == "SAME_UPPER" ? w.lo : w.hi)[i] = half;
    (mode == "SAME_UPPER" ? w.hi : w.lo)[i] = s.sub(total, half);
  }
  return w;
}

}  // namespace dlcb::importer::onnx
