#include "import/emitter.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/constant.h"
#include "import/element.h"
#include "import/fold.h"
#include "ops/arithmetic.h"
#include "ops/slice_rules.h"

namespace dlcb::importer {

Location Emitter::location() const {
  return {"", origin_.op, origin_.node.empty() ? origin_.output : origin_.node, ""};
}

void Emitter::fail(Diagnostic d) const {
  if (d.where.op.empty()) d.where = location();
  throw Refusal{std::move(d)};
}

void Emitter::unsupported(std::string reason) const {
  fail(diag(DiagKind::UnsupportedOps, {std::move(reason)}, location()));
}
void Emitter::malformed(std::string what) const { fail(diag(DiagKind::MalformedModel, {std::move(what)}, location())); }
void Emitter::bad_attribute(std::string_view name, std::string what) const {
  fail(diag(DiagKind::BadAttribute, {std::string(name), std::move(what)}, location()));
}

// Operators read dims of operands whose ranks the model need not have got right.
Expr Emitter::dim(ValueId v, int64_t axis) const {
  if (axis < 0 || axis >= rank(v))
    malformed(fmt::format("an operand of rank {} has no axis {}, which the operator needs", rank(v), axis));
  return graph_.value(v).dims[static_cast<size_t>(axis)];
}

int Emitter::axis_of(int64_t axis, int rank, std::string_view attribute) const {
  if (axis < -rank || axis >= rank)
    bad_attribute(attribute, fmt::format("is {}, which is no axis of a tensor of rank {}", axis, rank));
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

std::vector<int> Emitter::axes_of(std::span<const int64_t> axes, int rank, std::string_view attribute) const {
  std::vector<int> out;
  for (const int64_t a : axes) {
    const int axis = axis_of(a, rank, attribute);
    if (std::find(out.begin(), out.end(), axis) != out.end())
      bad_attribute(attribute, fmt::format("names axis {} twice", axis));
    out.push_back(axis);
  }
  return out;
}

Exprs Emitter::lits(std::span<const int64_t> v) {
  Exprs out;
  for (const int64_t x : v) out.push_back(lit(x));
  return out;
}

Exprs Emitter::elements(ValueId v) { return take(graph_.elements(v, std::span(&origin_, 1))); }

Ints Emitter::constant_ints(ValueId v, std::string_view what) {
  Ints out;
  for (const Expr e : elements(v)) {
    const auto n = literal(e);
    if (!n) unsupported(fmt::format("{} is not a constant", what));
    out.push_back(*n);
  }
  return out;
}

std::optional<std::vector<double>> Emitter::constant_reals(ValueId v) {
  const auto data = fold_constant(graph_, v);
  if (!data) return std::nullopt;
  const DType t = dtype(v);
  std::vector<double> out(data->bytes.size() / size_of(t));
  for (size_t i = 0; i < out.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    out[i] = is_float(t) ? graph::real_element(t, data->bytes, at)
                         : static_cast<double>(graph::integer_element(t, data->bytes, at).value_or(INT64_MAX));
  }
  return out;
}

std::optional<std::vector<ops::AttrValue>> Emitter::constant_numbers(ValueId v) {
  const DType t = dtype(v);
  std::vector<ops::AttrValue> out;
  if (is_float(t)) {
    const auto reals = constant_reals(v);
    if (reals) out.assign(reals->begin(), reals->end());
    return reals ? std::optional(std::move(out)) : std::nullopt;
  }
  const auto data = fold_constant(graph_, v);
  if (!data) return std::nullopt;
  const DType read_as = t == DType::U64 ? DType::I64 : t;
  const auto count = static_cast<int64_t>(data->bytes.size() / size_of(t));
  for (int64_t i = 0; i < count; ++i) out.emplace_back(*graph::integer_element(read_as, data->bytes, i));
  return out;
}

ValueId Emitter::scalar(DType t, double v) {
  if (!is_float(t)) return graph_.add_ints("scalar", t, {lit(ops::float_to_integer(t, v))}, true);
  auto bytes = std::make_shared<std::vector<std::byte>>(size_of(t));
  store_real(t, *bytes, v);
  return graph_.add_constant("scalar", t, {}, {*bytes, bytes});
}

ValueId Emitter::filled(DType t, double v, const Exprs& shape) { return broadcast_to(scalar(t, v), shape); }

ValueId Emitter::op(std::string_view name, std::vector<ValueId> inputs, ops::Attrs attrs) {
  return take(graph_.add1(name, std::move(inputs), std::move(attrs), {origin_}));
}

std::vector<ValueId> Emitter::op_all(std::string_view name, std::vector<ValueId> inputs, ops::Attrs attrs) {
  return take(graph_.add(ops::op(name), std::move(inputs), std::move(attrs), {origin_}));
}

ValueId Emitter::cast(ValueId x, DType t) { return dtype(x) == t ? x : op("cast", {x}, {{"to", t}}); }

ValueId Emitter::reshape(ValueId x, const Exprs& shape) {
  return dims(x) == shape ? x : op("reshape", {x}, {{"shape", shape}});
}

ValueId Emitter::transpose(ValueId x, const std::vector<int>& perm) {
  if (std::is_sorted(perm.begin(), perm.end())) return x;
  return op("transpose", {x}, {{"perm", Ints(perm.begin(), perm.end())}});
}

ValueId Emitter::broadcast_to(ValueId x, const Exprs& shape) {
  return dims(x) == shape ? x : op("broadcast_to", {x}, {{"shape", shape}});
}

ValueId Emitter::slice(ValueId x, const std::vector<int>& axes, const Exprs& starts, const Ints& steps,
                       const Exprs& extents) {
  bool whole = true;
  for (size_t i = 0; i < axes.size(); ++i)
    whole = whole && literal(starts[i]) == 0 && steps[i] == 1 && extents[i] == dim(x, axes[i]);
  if (whole) return x;
  return op("slice", {x},
            {{"axes", Ints(axes.begin(), axes.end())}, {"starts", starts}, {"steps", steps}, {"extents", extents}});
}

ValueId Emitter::concat(const std::vector<ValueId>& xs, int axis) {
  return xs.size() == 1 ? xs[0] : op("concat", xs, {{"axis", int64_t{axis}}});
}

ValueId Emitter::gather(ValueId x, ValueId indices, int axis) {
  return op("gather", {x, indices}, {{"axis", int64_t{axis}}});
}

ValueId Emitter::squeeze(ValueId x, const std::vector<int>& axes) {
  Exprs shape;
  for (int i = 0; i < rank(x); ++i) {
    if (std::find(axes.begin(), axes.end(), i) == axes.end())
      shape.push_back(dim(x, i));
    else
      require(sym().eq(dim(x, i), lit(1)), "a squeezed dim must be 1", 0, i);
  }
  return reshape(x, shape);
}

ValueId Emitter::unsqueeze(ValueId x, const std::vector<int>& axes) {
  Exprs shape(static_cast<size_t>(rank(x)) + axes.size());
  for (const int a : axes) {
    if (a < 0 || a >= static_cast<int>(shape.size()))
      malformed(fmt::format("an operand of rank {} cannot get an axis {}", rank(x), a));
    shape[static_cast<size_t>(a)] = lit(1);
  }
  int next = 0;
  for (Expr& e : shape)
    if (!e.valid()) e = dim(x, next++);
  return reshape(x, shape);
}

ValueId Emitter::pad_rank_right(ValueId x, int to) {
  Exprs shape = dims(x);
  while (static_cast<int>(shape.size()) < to) shape.push_back(lit(1));
  return reshape(x, shape);
}

ValueId Emitter::pad(ValueId x, const Exprs& lo, const Exprs& hi, std::string_view mode, ops::AttrValue value) {
  const auto zero = [&](Expr e) { return literal(e) == 0; };
  if (std::all_of(lo.begin(), lo.end(), zero) && std::all_of(hi.begin(), hi.end(), zero)) return x;
  return op("pad", {x}, {{"lo", lo}, {"hi", hi}, {"mode", std::string(mode)}, {"value", std::move(value)}});
}

ValueId Emitter::tile(ValueId x, const Exprs& repeats) { return op("tile", {x}, {{"repeats", repeats}}); }

ValueId Emitter::triangular(ValueId x, bool upper, Expr diagonal) {
  return op("triangular", {x}, {{"upper", int64_t{upper}}, {"k", Exprs{diagonal}}});
}

ValueId Emitter::slice_between(ValueId x, const std::vector<int>& axes, const Exprs& starts, const Exprs& ends,
                               const Ints& steps) {
  Exprs from, extents;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (steps[i] == 0) malformed("a step of Slice is 0");
    const ops::SliceRange range = ops::clamp_slice(graph_.facts(), starts[i], ends[i], steps[i], dim(x, axes[i]));
    from.push_back(range.start);
    extents.push_back(range.extent);
  }
  return slice(x, axes, from, steps, extents);
}

ValueId Emitter::iota(Expr start, int64_t step, Expr extent, DType t) {
  return op("iota", {}, {{"start", Exprs{start}}, {"step", Exprs{lit(step)}}, {"extent", Exprs{extent}}, {"dtype", t}});
}

ValueId Emitter::reduce(std::string_view name, ValueId x, const std::vector<int>& axes, bool keepdims) {
  return op(fmt::format("reduce_{}", name), {x},
            {{"axes", Ints(axes.begin(), axes.end())}, {"keepdims", int64_t{keepdims}}});
}

void Emitter::require(Expr condition, std::string why, int operand, int axis) {
  auto status = graph_.require(condition, std::move(why), {origin_}, operand, axis);
  if (!status) fail(std::move(status.error()));
}

}  // namespace dlcb::importer
