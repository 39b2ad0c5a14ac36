// Resize in its four forms (opsets 10, 11, 13 to 17, 18 on) and Upsample before it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "import/onnx/node_context.h"
#include "import/onnx/ops/translators.h"

namespace dlcb::importer::onnx {
namespace {

bool present(NodeContext& n, int input) { return n.has(input) && n.literal(n.product(n.dims(n.in(input)))) != 0; }

std::vector<double> constant_operand(NodeContext& n, int input, std::string_view what) {
  const auto values = n.constant_reals(n.in(input));
  if (!values) n.unsupported(fmt::format("{} are not constants", what));
  return *values;
}

std::vector<int> listed_axes(NodeContext& n, size_t count) {
  const int rank = n.rank(n.in(0));
  std::vector<int> axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  if (n.has_attr("axes")) axes = n.axes_of(n.integers("axes"), rank);
  if (axes.size() != count) n.malformed(fmt::format("Resize has {} sizes or scales for {} axes", count, axes.size()));
  return axes;
}

// One scale for all listed axes, so that none gets larger (or smaller) than its size. Positions follow that scale and
// not the rounded sizes.
void keep_aspect_ratio(NodeContext& n, const std::vector<int>& axes, Exprs& sizes, bool not_larger, ops::Attrs& attrs) {
  float scale = 0;  // and the sizes in f32, as onnxruntime computes them
  for (const int axis : axes) {
    const auto size = n.literal(sizes[static_cast<size_t>(axis)]), in = n.literal(n.dim(n.in(0), axis));
    if (!size || !in || *in == 0) n.unsupported("keep_aspect_ratio_policy with sizes that are not constant");
    const float s = static_cast<float>(*size) / static_cast<float>(*in);
    scale = scale == 0 ? s : not_larger ? std::min(scale, s) : std::max(scale, s);
  }
  std::vector<double> scales(sizes.size(), 1);
  for (const int axis : axes) {
    const auto in = static_cast<float>(*n.literal(n.dim(n.in(0), axis)));
    sizes[static_cast<size_t>(axis)] = n.lit(static_cast<int64_t>(std::round(scale * in)));
    scales[static_cast<size_t>(axis)] = scale;
  }
  attrs.set("scales", scales);
}

void set_extents(NodeContext& n, int scales_input, int sizes_input, ops::Attrs& attrs) {
  const auto rank = static_cast<size_t>(n.rank(n.in(0)));
  if (present(n, scales_input)) {
    const std::vector<double> given = constant_operand(n, scales_input, "scales");
    std::vector<double> scales(rank, 1);
    const auto axes = listed_axes(n, given.size());
    for (size_t i = 0; i < axes.size(); ++i) scales[static_cast<size_t>(axes[i])] = given[i];
    attrs.set("scales", scales);
    return;
  }
  if (!present(n, sizes_input)) n.malformed("Resize has neither scales nor sizes");
  const Exprs given = n.elements(n.in(sizes_input));
  const auto axes = listed_axes(n, given.size());
  Exprs sizes = n.dims(n.in(0));
  for (size_t i = 0; i < axes.size(); ++i) sizes[static_cast<size_t>(axes[i])] = given[i];
  const std::string policy = n.text("keep_aspect_ratio_policy", "stretch");
  if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller")
    n.bad_attribute("keep_aspect_ratio_policy", fmt::format("is '{}'", policy));
  if (policy != "stretch") keep_aspect_ratio(n, axes, sizes, policy == "not_larger", attrs);
  attrs.set("sizes", sizes);
}

void set_crop(NodeContext& n, ops::Attrs& attrs) {
  const auto rank = static_cast<size_t>(n.rank(n.in(0)));
  const std::vector<double> given = constant_operand(n, 1, "the region's bounds");
  const auto axes = listed_axes(n, given.size() / 2);
  std::vector<double> roi(2 * rank, 0);
  std::fill(roi.begin() + static_cast<long>(rank), roi.end(), 1);
  for (size_t i = 0; i < axes.size(); ++i) {
    roi[static_cast<size_t>(axes[i])] = given[i];
    roi[rank + static_cast<size_t>(axes[i])] = given[axes.size() + i];
  }
  attrs.set("roi", roi);
  attrs.set("extrapolation_value", n.real("extrapolation_value", 0));
}

std::string interpolation(NodeContext& n) {
  const std::string mode = n.text("mode", "nearest");
  return mode == "bilinear" || mode == "trilinear" ? "linear" : mode;
}

// Before opset 11 `nearest` takes the position's floor on axes that grow and its ceiling on those that shrink.
ValueId resize_by_scales(NodeContext& n, const std::vector<double>& scales) {
  ops::Attrs attrs{{"mode", interpolation(n)}, {"coordinate_transformation_mode", std::string("asymmetric")}};
  const auto step = [&](ValueId x, const std::vector<double>& part, const char* rounding) {
    if (std::all_of(part.begin(), part.end(), [](double s) { return s == 1; })) return x;
    attrs.set("scales", part);
    attrs.set("nearest_mode", std::string(rounding));
    return n.op("resize", {x}, attrs);
  };
  if (attrs.text("mode") != "nearest") return step(n.in(0), scales, "floor");
  std::vector<double> up = scales, down = scales;
  for (double& s : up) s = s < 1 ? 1 : s;
  for (double& s : down) s = s < 1 ? s : 1;
  return step(step(n.in(0), up, "floor"), down, "ceil");
}

}  // namespace

void resize(NodeContext& n) {
  if (n.opset() < 11) {
    std::vector<double> scales = constant_operand(n, 1, "scales");
    listed_axes(n, scales.size());
    return n.out(0, resize_by_scales(n, scales));
  }
  ops::Attrs attrs{{"mode", interpolation(n)}};
  if (n.integer("antialias", 0)) n.unsupported("antialias");
  const std::string transform = n.text("coordinate_transformation_mode", "half_pixel");
  attrs.set("coordinate_transformation_mode", transform);
  attrs.set("nearest_mode", n.text("nearest_mode", "round_prefer_floor"));
  attrs.set("cubic_coeff_a", n.real("cubic_coeff_a", -0.75));
  attrs.set("exclude_outside", n.integer("exclude_outside", 0));
  if (transform == "tf_crop_and_resize") set_crop(n, attrs);
  set_extents(n, 2, 3, attrs);
  n.out(0, n.op("resize", {n.in(0)}, std::move(attrs)));
}

// Scales are an attribute in opset 7 and an input in opset 9.
void upsample(NodeContext& n) {
  if (n.opset() > 9) n.unsupported("Upsample was removed in opset 10");
  const std::vector<double> scales = n.has(1) ? constant_operand(n, 1, "scales") : n.reals("scales");
  listed_axes(n, scales.size());
  n.out(0, resize_by_scales(n, scales));
}

}  // namespace dlcb::importer::onnx
