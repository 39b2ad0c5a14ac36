// Operators about shapes: those that make shape tensors (they vanish into expressions), constants, and those that only
// relabel dims.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "import/onnx/model_file.h"
#include "import/onnx/node_context.h"
#include "import/onnx/onnx.pb.h"
#include "import/onnx/ops/translators.h"
#include "ops/slice_rules.h"

namespace dlcb::importer::onnx {
namespace {

using dlcb::onnx::AttributeProto;

template <class T>
graph::Constant constant_of(const std::vector<T>& values) {
  auto bytes = std::make_shared<std::vector<std::byte>>(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(bytes->data(), values.data(), bytes->size());
  return {*bytes, bytes};
}

// An element that is no literal and might be negative was read from a tensor, so it may hold one of Reshape's codes.
bool may_be_code(NodeContext& n, Expr e) { return !n.literal(e) && n.sym().bounds(e).lo < 0; }

// A size that is no literal and is 0 when the model runs is the same code as a literal 0: ONNX copies the operand's
// dim. Where that dim is 0 as well there is no difference ([N, -1] of a tensor of N rows). Where it need not be, the
// shape turns from what the model's author wrote into another ([batch, 0, C] into [batch, rows, C]). That is a guard,
// so that dims stay the sizes that are written. Where no other dim can be 0 either, ONNX's shape has more elements than
// the operand; such empty tensors are no other shape but an error there, and are taken as they are written.
void require_no_copy(NodeContext& n, const Exprs& target, size_t at, const Exprs& dims) {
  sym::Store& s = n.sym();
  const Expr size = target[at], zero = n.lit(0), some = n.lit(1);
  const bool beyond = at >= dims.size();
  sym::Facts empty = n.graph().facts();
  if ((!beyond && size == dims[at]) || empty.proves(s.lt(zero, size))) return;
  empty.assume(s.eq(size, zero));
  if (!beyond && empty.proves(s.eq(dims[at], zero))) return;
  bool fits = beyond;
  for (size_t i = 0; i < target.size(); ++i) fits = fits || (i != at && !empty.proves(s.le(some, target[i])));
  if (!fits) return;
  const Expr given = s.bounds(size).lo < 0 ? s.ne(size, zero) : s.le(some, size);
  n.require(beyond ? given : s.logical_or(given, s.eq(dims[at], zero)),
            "a size of 0 in a Reshape stands for the operand's dim, unless allowzero is set", 0,
            beyond ? -1 : static_cast<int>(at));
}

// What a Reshape target means: 0 copies the operand's dim, -1 is what remains.
Exprs reshape_target(NodeContext& n, ValueId x, const Exprs& target, bool allow_zero) {
  sym::Store& s = n.sym();
  const Exprs dims = n.dims(x);
  Exprs out = target, known;
  std::optional<size_t> inferred;
  bool read = false;
  for (size_t i = 0; i < target.size(); ++i) {
    const auto literal = n.literal(target[i]);
    if (literal == 0 && !allow_zero) {
      if (i >= dims.size())
        n.malformed(fmt::format("dim {} of the shape is 0, but the operand has rank {}", i, dims.size()));
      out[i] = dims[i];
    } else if (literal && *literal < 0) {
      if (*literal != -1 || inferred)
        n.malformed(inferred ? "the shape has -1 twice" : fmt::format("the shape has a dim of {}", *literal));
      inferred = i;
      continue;
    } else if (may_be_code(n, target[i])) {
      read = true;
      if (!allow_zero && i >= dims.size()) require_no_copy(n, target, i, dims);
      if (!allow_zero && i < dims.size()) out[i] = s.select(s.eq(target[i], n.lit(0)), dims[i], target[i]);
      known.push_back(s.select(s.eq(target[i], n.lit(-1)), n.lit(1), out[i]));
      continue;
    } else if (!literal && !allow_zero) {
      require_no_copy(n, target, i, dims);
    }
    known.push_back(out[i]);
  }
  if (!inferred && !read) return out;
  const Expr rest = ops::inferred_dim(n.graph().facts(), dims, known);
  for (size_t i = 0; i < target.size(); ++i) {
    if (inferred == i)
      out[i] = rest;
    else if (may_be_code(n, target[i]))
      out[i] = s.select(s.eq(target[i], n.lit(-1)), rest, out[i]);
  }
  return out;
}

// The single element of a scalar operand as an expression: an integer, a whole constant float, or a cast integer.
std::optional<Expr> scalar_expr(NodeContext& n, ValueId v) {
  if (is_integer(n.dtype(v))) {
    const Exprs e = n.elements(v);
    if (e.size() != 1) n.malformed("a scalar operand has not exactly one element");
    return e[0];
  }
  constexpr double kExact = 9007199254740992;  // 2^53: from here on a float says little about an integer
  if (const auto reals = n.constant_reals(v);
      reals && reals->size() == 1 && std::floor((*reals)[0]) == (*reals)[0] && std::fabs((*reals)[0]) < kExact)
    return n.lit(static_cast<int64_t>((*reals)[0]));
  const graph::NodeId producer = n.graph().value(v).producer;
  if (!producer.valid() || n.graph().node(producer).op->name != "cast") return std::nullopt;
  const ValueId source = n.graph().node(producer).inputs[0];
  return is_integer(n.dtype(source)) ? scalar_expr(n, source) : std::nullopt;
}

}  // namespace

void shape(NodeContext& n) {
  const Exprs dims = n.dims(n.in(0));
  const auto rank = static_cast<int64_t>(dims.size());
  const auto clamp = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const int64_t start = clamp(n.integer("start", 0)), end = clamp(n.integer("end", rank));
  n.out(0, n.ints(start < end ? Exprs(dims.begin() + start, dims.begin() + end) : Exprs{}));
}

void size(NodeContext& n) { n.out(0, n.graph().add_ints("size", DType::I64, {n.product(n.dims(n.in(0)))}, true)); }

void constant(NodeContext& n) {
  const auto add = [&](const TensorData& t) { n.out(0, n.constant(t.dtype, t.dims, t.data)); };
  for (const AttributeProto& a : n.node().attribute()) {
    const std::string& name = a.name();
    if (name == "value" && a.has_t()) return add(n.read(a.t()));
    if (name == "sparse_value" && a.has_sparse_tensor()) return add(n.read(a.sparse_tensor()));
    if (name == "value_float") return add({DType::F32, {}, constant_of(std::vector<float>{a.f()})});
    if (name == "value_int") return add({DType::I64, {}, constant_of(Ints{a.i()})});
    if (name == "value_floats")
      return add(
          {DType::F32, {a.floats_size()}, constant_of(std::vector<float>(a.floats().begin(), a.floats().end()))});
    if (name == "value_ints")
      return add({DType::I64, {a.ints_size()}, constant_of(Ints(a.ints().begin(), a.ints().end()))});
    if (name == "value_string" || name == "value_strings") n.unsupported("strings");
  }
  n.bad_attribute("value", "is missing");
}

void constant_of_shape(NodeContext& n) {
  const Exprs shape = n.elements(n.in(0));
  const AttributeProto* a = n.attribute("value");
  if (!a) return n.out(0, n.filled(DType::F32, 0, shape));
  if (!a->has_t()) n.bad_attribute("value", "is not a tensor");
  const TensorData t = n.read(a->t());
  if (t.data.bytes.size() != size_of(t.dtype)) n.bad_attribute("value", "has not exactly one element");
  n.out(0, n.broadcast_to(n.constant(t.dtype, {}, t.data), shape));
}

namespace {

constexpr double kMaxRange = 1e9;  // elements of a Range of literals

// The number of elements of a Range. Literals may lie so far apart that their difference is no int64.
Expr range_extent(NodeContext& n, Expr start, Expr limit, int64_t step) {
  sym::Store& s = n.sym();
  const auto a = n.literal(start), b = n.literal(limit);
  if (a && b) {
    const __int128 span = step > 0 ? __int128{*b} - *a : __int128{*a} - *b, stride = step > 0 ? step : -__int128{step};
    const __int128 extent = span <= 0 ? 0 : (span + stride - 1) / stride;
    if (extent > static_cast<int64_t>(kMaxRange)) n.malformed("Range has too many elements");
    return n.lit(static_cast<int64_t>(extent));
  }
  if (step == INT64_MIN) n.unsupported("a Range with a step of -2^63");
  return s.max(n.lit(0), s.ceildiv(step > 0 ? s.sub(limit, start) : s.sub(start, limit), n.lit(std::abs(step))));
}

}  // namespace

// start, start + delta, ... before limit.
void range(NodeContext& n) {
  const DType t = n.dtype(n.in(0));
  const auto start = scalar_expr(n, n.in(0)), limit = scalar_expr(n, n.in(1)), delta = scalar_expr(n, n.in(2));
  if (start && limit && delta) {
    const auto step = n.literal(*delta);
    if (!step) n.unsupported("the step of Range is not a constant");
    if (*step == 0) n.malformed("the step of Range is 0");
    const Expr extent = range_extent(n, *start, *limit, *step);
    if (is_integer(t)) return n.out(0, n.iota(*start, *step, extent, t));
    return n.out(0, n.cast(n.iota(*start, *step, extent, DType::I64), t));
  }
  const auto a = n.constant_reals(n.in(0)), b = n.constant_reals(n.in(1)), d = n.constant_reals(n.in(2));
  if (!a || !b || !d || a->size() != 1 || b->size() != 1 || d->size() != 1)
    n.unsupported("the operands of Range are floats that are not constant");
  const double count = std::ceil((b->front() - a->front()) / d->front());
  if (d->front() == 0) n.malformed("the step of Range is 0");
  if (!(count < kMaxRange)) n.malformed("Range has too many elements");
  const ValueId steps = n.cast(n.iota(n.lit(0), 1, n.lit(static_cast<int64_t>(std::max(0.0, count))), DType::I64), t);
  n.out(0, n.add(n.mul(steps, d->front()), a->front()));
}

void eye_like(NodeContext& n) {
  const ValueId x = n.in(0);
  if (n.rank(x) != 2) n.malformed("EyeLike needs a matrix");
  const ValueId rows = n.iota(n.lit(n.integer("k", 0)), 1, n.dim(x, 0), DType::I64),
                columns = n.iota(n.lit(0), 1, n.dim(x, 1), DType::I64);
  n.out(0, n.cast(n.op("eq", {n.unsqueeze(rows, {1}), columns}), n.dtype_attr("dtype", n.dtype(x))));
}

void reshape(NodeContext& n) {
  n.out(0, n.reshape(n.in(0), reshape_target(n, n.in(0), n.elements(n.in(1)), n.integer("allowzero", 0) != 0)));
}

void flatten(NodeContext& n) {
  const Exprs dims = n.dims(n.in(0));
  const auto rank = static_cast<int64_t>(dims.size());
  int64_t axis = n.integer("axis", 1);
  if (axis < -rank || axis > rank)
    n.bad_attribute("axis", fmt::format("is {}, but the operand has rank {}", axis, rank));
  if (axis < 0) axis += rank;
  n.out(0, n.reshape(n.in(0), {n.product(std::span(dims).first(static_cast<size_t>(axis))),
                               n.product(std::span(dims).subspan(static_cast<size_t>(axis)))}));
}

void unsqueeze(NodeContext& n) {
  const auto axes = n.axes_operand(1);
  if (!axes) n.bad_attribute("axes", "is missing");
  n.out(0, n.unsqueeze(n.in(0), n.axes_of(*axes, n.rank(n.in(0)) + static_cast<int>(axes->size()))));
}

void expand(NodeContext& n) { n.out(0, n.broadcast_to(n.in(0), n.elements(n.in(1)))); }

}  // namespace dlcb::importer::onnx
