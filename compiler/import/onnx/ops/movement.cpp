// Operators that move elements without computing: permutations, parts, repetitions and borders.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "import/onnx/node_context.h"
#include "import/onnx/onnx.pb.h"
#include "import/onnx/ops/translators.h"

namespace dlcb::importer::onnx {

void transpose(NodeContext& n) {
  const int rank = n.rank(n.in(0));
  std::vector<int> perm;
  if (n.has_attr("perm"))
    perm = n.axes_of(n.integers("perm"), rank, "perm");
  else
    for (int i = rank; i-- > 0;) perm.push_back(i);
  if (static_cast<int>(perm.size()) != rank)
    n.bad_attribute("perm", fmt::format("has {} axes, but the operand has rank {}", perm.size(), rank));
  n.out(0, n.transpose(n.in(0), perm));
}

void concat(NodeContext& n) {
  std::vector<ValueId> xs;
  for (int i = 0; i < n.input_count(); ++i) xs.push_back(n.in(i));
  if (xs.empty()) n.malformed("Concat has no input");
  n.out(0, n.concat(xs, n.axis_of(n.required_integer("axis"), n.rank(xs[0]))));
}

namespace {

// Sizes of the parts of a Split: given, or as equal as may be.
Exprs split_sizes(NodeContext& n, Expr whole) {
  sym::Store& s = n.sym();
  if (n.has(1)) return n.elements(n.in(1));
  if (n.has_attr("split")) return n.lits(n.integers("split"));
  const int64_t parts = n.integer("num_outputs", n.output_count());
  if (parts < 1 || parts != n.output_count())
    n.bad_attribute("num_outputs", fmt::format("is {}, but the node has {} outputs", parts, n.output_count()));
  if (!n.has_attr("num_outputs")) {
    n.require(s.eq(s.mod(whole, n.lit(parts)), n.lit(0)),
              fmt::format("a Split into {} equal parts must divide the dim", parts), 0);
    return Exprs(static_cast<size_t>(parts), s.floordiv(whole, n.lit(parts)));
  }
  // All parts but the last have the rounded up size; the last takes the rest.
  const Expr chunk = s.ceildiv(whole, n.lit(parts));
  Exprs sizes(static_cast<size_t>(parts - 1), chunk);
  sizes.push_back(s.sub(whole, s.mul(chunk, n.lit(parts - 1))));
  return sizes;
}

}  // namespace

void split(NodeContext& n) {
  const ValueId x = n.in(0);
  const int axis = n.axis_of(n.integer("axis", 0), n.rank(x));
  const Exprs sizes = split_sizes(n, n.dim(x, axis));
  if (static_cast<int>(sizes.size()) != n.output_count())
    n.malformed(fmt::format("Split has {} sizes and {} outputs", sizes.size(), n.output_count()));
  n.require(n.sym().eq(n.sym().add(sizes), n.dim(x, axis)), "the sizes of a Split must add up to the dim", 0, axis);
  Expr start = n.lit(0);
  for (int i = 0; i < n.output_count(); ++i) {
    const Expr size = sizes[static_cast<size_t>(i)];
    n.out(i, n.slice(x, axis, start, size));
    start = n.sym().add(start, size);
  }
}

// Starts and ends are attributes up to opset 9, then inputs that may be computed.
void slice(NodeContext& n) {
  const ValueId x = n.in(0);
  const bool inputs = n.has(1);
  const Exprs starts = inputs ? n.elements(n.in(1)) : n.lits(n.integers("starts"));
  const Exprs ends = inputs ? n.elements(n.in(2)) : n.lits(n.integers("ends"));
  Ints axis_list(starts.size()), steps(starts.size(), 1);
  std::iota(axis_list.begin(), axis_list.end(), 0);
  if (n.has(3))
    axis_list = n.constant_ints(n.in(3), "axes");
  else if (n.has_attr("axes"))
    axis_list = n.integers("axes");
  if (n.has(4)) steps = n.constant_ints(n.in(4), "steps");
  if (ends.size() != starts.size() || axis_list.size() != starts.size() || steps.size() != starts.size())
    n.malformed("Slice has different numbers of starts, ends, axes and steps");
  const std::vector<int> axes = n.axes_of(axis_list, n.rank(x));
  n.out(0, n.slice_between(x, axes, starts, ends, steps));
}

void tile(NodeContext& n) {
  const ValueId x = n.in(0);
  Exprs repeats = n.elements(n.in(1));
  if (n.opset() < 6 || static_cast<int>(repeats.size()) != n.rank(x))
    n.malformed(fmt::format("Tile has {} repeats for an operand of rank {}", repeats.size(), n.rank(x)));
  n.out(0, n.tile(x, repeats));
}

// Pads are all lows, then all highs; of all axes or of the listed ones; negative ones crop.
void pad(NodeContext& n) {
  const ValueId x = n.in(0);
  const int rank = n.rank(x);
  const Exprs pads = n.has(1) ? n.elements(n.in(1)) : n.lits(n.integers(n.has_attr("pads") ? "pads" : "paddings"));
  Ints list(static_cast<size_t>(rank));
  std::iota(list.begin(), list.end(), 0);
  if (n.has(3)) list = n.constant_ints(n.in(3), "axes");
  const std::vector<int> axes = n.axes_of(list, rank);
  if (pads.size() != axes.size() * 2) n.malformed(fmt::format("Pad has {} pads for {} axes", pads.size(), axes.size()));
  Exprs lo(static_cast<size_t>(rank), n.lit(0)), hi = lo;
  for (size_t i = 0; i < axes.size(); ++i) {
    lo[static_cast<size_t>(axes[i])] = pads[i];
    hi[static_cast<size_t>(axes[i])] = pads[axes.size() + i];
  }
  const std::string mode = n.text("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap")
    n.bad_attribute("mode", fmt::format("is '{}'", mode));
  ops::AttrValue value = n.real("value", 0);
  if (n.has(2)) {
    const auto known = n.constant_numbers(n.in(2));
    if (!known || known->size() != 1) n.unsupported("the padding value is not a constant");
    value = known->front();
  }
  n.out(0, n.pad(x, lo, hi, mode, value));
}

// Before a division of a dim of operand 0, so that the message names that dim.
void require_multiple(NodeContext& n, int axis, int64_t divisor, const char* why) {
  const Expr rest = n.sym().mod(n.dim(n.in(0), axis), n.lit(divisor));
  n.require(n.sym().eq(rest, n.lit(0)), why, 0, axis);
}

void depth_to_space(NodeContext& n) {
  const ValueId x = n.in(0);
  if (n.rank(x) != 4) n.malformed("DepthToSpace needs an operand of rank 4");
  const int64_t b = n.required_integer("blocksize");
  if (b < 1) n.bad_attribute("blocksize", "is not positive");
  require_multiple(n, 1, b * b, "the channels must be a multiple of the block's elements");
  const Expr block = n.lit(b), depth = n.sym().floordiv(n.dim(x, 1), n.lit(b * b));
  const Expr height = n.dim(x, 2), width = n.dim(x, 3);
  const bool column_first = n.text("mode", "DCR") == "CRD";
  const ValueId split = column_first ? n.reshape(x, {n.dim(x, 0), depth, block, block, height, width})
                                     : n.reshape(x, {n.dim(x, 0), block, block, depth, height, width});
  const ValueId moved =
      n.transpose(split, column_first ? std::vector<int>{0, 1, 4, 2, 5, 3} : std::vector<int>{0, 3, 4, 1, 5, 2});
  n.out(0, n.reshape(moved, {n.dim(x, 0), depth, n.sym().mul(height, block), n.sym().mul(width, block)}));
}

void space_to_depth(NodeContext& n) {
  const ValueId x = n.in(0);
  if (n.rank(x) != 4) n.malformed("SpaceToDepth needs an operand of rank 4");
  const int64_t b = n.required_integer("blocksize");
  if (b < 1) n.bad_attribute("blocksize", "is not positive");
  for (int axis : {2, 3}) require_multiple(n, axis, b, "height and width must be multiples of the block size");
  const Expr block = n.lit(b), height = n.sym().floordiv(n.dim(x, 2), block),
             width = n.sym().floordiv(n.dim(x, 3), block);
  const ValueId split = n.reshape(x, {n.dim(x, 0), n.dim(x, 1), height, block, width, block});
  n.out(0, n.reshape(n.transpose(split, {0, 3, 5, 1, 2, 4}),
                     {n.dim(x, 0), n.sym().mul(n.dim(x, 1), n.lit(b * b)), height, width}));
}

// Crops or zero-pads each axis around its centre; the odd element goes to the end.
void center_crop_pad(NodeContext& n) {
  sym::Store& s = n.sym();
  ValueId x = n.in(0);
  const int rank = n.rank(x);
  const Exprs shape = n.elements(n.in(1));
  std::vector<int> axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  if (n.has_attr("axes")) axes = n.axes_of(n.integers("axes"), rank);
  if (shape.size() != axes.size()) n.malformed("CenterCropPad has another number of sizes than axes");
  Exprs lo(static_cast<size_t>(rank), n.lit(0)), hi = lo;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(axes[i]);
    const Expr missing = s.sub(shape[i], n.dim(x, axes[i]));
    const Expr crop_before = s.floordiv(s.max(n.lit(0), s.neg(missing)), n.lit(2));
    lo[axis] = s.sub(s.floordiv(s.max(n.lit(0), missing), n.lit(2)), crop_before);
    hi[axis] = s.sub(missing, lo[axis]);
  }
  n.out(0, n.pad(x, lo, hi, "constant", 0.0));
}

void trilu(NodeContext& n) {
  const ValueId x = n.in(0);
  if (n.rank(x) < 2) n.malformed("Trilu needs an operand of rank 2 or more");
  const Exprs k = n.has(1) ? n.elements(n.in(1)) : Exprs{n.lit(0)};
  if (k.size() != 1) n.malformed("k of Trilu has not exactly one element");
  n.out(0, n.triangular(x, n.integer("upper", 1) != 0, k[0]));
}

}  // namespace dlcb::importer::onnx
