#include "graph/elements.h"

#include <algorithm>
#include <cstring>

#include "graph/constant.h"
#include "ops/symbolic.h"

namespace dlcb::graph {
namespace {

bool holds_integers(DType t) { return is_integer(t) || t == DType::Bool; }

std::optional<std::vector<sym::Expr>> constant_elements(sym::Store& store, const Value& v, int64_t count) {
  std::vector<sym::Expr> list;
  list.reserve(count);
  for (int64_t i = 0; i < count; ++i) {
    auto element = integer_element(v.dtype, v.constant->bytes, i);
    if (!element) return std::nullopt;
    list.push_back(store.constant(*element));
  }
  return list;
}

sym::Bounds range_of(DType t) {
  switch (t) {
    case DType::Bool:
      return {0, 1};
    case DType::I8:
      return {-128, 127};
    case DType::U8:
      return {0, 255};
    case DType::I16:
      return {-32768, 32767};
    case DType::U16:
      return {0, 65535};
    case DType::I32:
      return {INT32_MIN, INT32_MAX};
    case DType::U32:
      return {0, UINT32_MAX};
    case DType::U64:
      return {0, sym::kMax};
    default:
      return {sym::kMin, sym::kMax};
  }
}

}  // namespace

std::optional<int64_t> small_count(const sym::Store& store, std::span<const sym::Expr> dims) {
  int64_t count = 1;
  for (sym::Expr d : dims) {
    auto dim = store.as_const(d);
    if (!dim || *dim < 0 || *dim > kMaxElements) return std::nullopt;
    count *= *dim;
    if (count > kMaxElements) return std::nullopt;
  }
  return count;
}

std::optional<ops::Scalar> single_element(const Graph& g, ValueId v) {
  const Value& value = g.value(v);
  if (small_count(g.sym(), value.dims) != 1 || !g.elements_fit(value)) return std::nullopt;
  if (value.elements && value.elements->size() == 1) {
    sym::Expr e = value.elements->front();
    auto literal = g.sym().as_const(e);
    return literal ? g.scalars().constant_i(value.dtype, *literal) : g.scalars().index(value.dtype, e);
  }
  if (!value.constant) return std::nullopt;
  if (is_float(value.dtype))
    return g.scalars().constant_f(value.dtype, real_element(value.dtype, value.constant->bytes, 0));
  auto literal = integer_element(value.dtype, value.constant->bytes, 0);
  if (!literal) return std::nullopt;
  return g.scalars().constant_i(value.dtype, *literal);
}

ValueId Graph::add_ints(std::string_view hint, DType dtype, std::vector<sym::Expr> elements, bool scalar) {
  DLCB_CHECK(!scalar || elements.size() == 1, "a scalar has one element");
  std::vector<int64_t> dims;
  if (!scalar) dims.push_back(static_cast<int64_t>(elements.size()));
  auto bytes = std::make_shared<std::vector<std::byte>>(elements.size() * size_of(dtype));
  bool literal = true;
  for (size_t i = 0; i < elements.size() && literal; ++i) {
    auto value = sym_->as_const(elements[i]);
    literal = value.has_value();
    if (literal)
      std::memcpy(bytes->data() + i * size_of(dtype), &*value, size_of(dtype));  // little-endian: low bytes first
  }
  ValueId v;
  if (literal) {
    v = add_constant(std::string(hint), dtype, dims, {std::span<const std::byte>(*bytes), bytes});
  } else {
    auto made = add1("ints", {}, {{"elements", elements}, {"dtype", dtype}, {"scalar", int64_t{scalar}}}, {},
                     std::string(hint));
    DLCB_CHECK(made, "a list of integers was refused");
    v = *made;
  }
  values_[v.id].elements = std::move(elements);
  return v;
}

Result<std::vector<sym::Expr>> Graph::elements(ValueId id, std::span<const Origin> origins) {
  Value& v = values_[id.id];
  if (v.elements) {
    if (v.fits.valid())
      DLCB_TRY(require(v.fits, "a size must fit the integer type in which the model computes it",
                       {origins.begin(), origins.end()}));
    return *v.elements;
  }
  if (!holds_integers(v.dtype))
    return diag(DiagKind::UnsupportedType, {std::string(name_of(v.dtype))}, location(*this, origins));
  auto count = small_count(*sym_, v.dims);
  if (!count)
    return diag(DiagKind::UnknownShape, {v.name, "sizes can only be read from small tensors of literal size"},
                location(*this, origins));
  if (v.constant) {
    v.elements = constant_elements(*sym_, v, *count);
    if (v.elements) return *v.elements;
    return diag(DiagKind::BadTensor, {v.name, "holds a size beyond 2^63"}, location(*this, origins));
  }
  std::unordered_set<uint32_t> seen;
  if (v.producer.valid() && comes_from_inputs(id, seen) && read_inputs_of(id, origins) && values_[id.id].elements)
    return elements(id, origins);
  std::vector<sym::Expr> list;
  for (int64_t i = 0; i < *count; ++i) {
    std::string hint = v.dims.empty() ? v.name : v.name + "[" + std::to_string(i) + "]";
    sym::Expr symbol = sym_->fresh(hint, sym::SymbolKind::Data, range_of(v.dtype));
    host_reads.push_back({symbol, id, i});
    list.push_back(symbol);
  }
  v.elements = list;
  return list;
}

// Whether a value is computed from small integer inputs (and what is known) alone. Such a value is read at the inputs,
// which the host can do before the run, and not where it is computed, which would make the host wait for a kernel.
bool Graph::comes_from_inputs(ValueId id, std::unordered_set<uint32_t>& seen) {
  if (!id.valid() || !seen.insert(id.id).second || known_elements(id)) return true;
  const Value& v = values_[id.id];
  if (!small_count(*sym_, v.dims)) return false;
  if (!v.producer.valid())
    return holds_integers(v.dtype) && std::find(inputs.begin(), inputs.end(), id) != inputs.end();
  const Node& n = nodes_[v.producer.id];
  return n.definition.outputs[v.output].body.valid() &&
         std::all_of(n.inputs.begin(), n.inputs.end(),
                     [&](ValueId operand) { return comes_from_inputs(operand, seen); });
}

bool Graph::read_inputs_of(ValueId id, std::span<const Origin> origins) {
  if (!id.valid() || known_elements(id)) return true;
  const Value& v = values_[id.id];
  if (!v.producer.valid()) return static_cast<bool>(elements(id, origins));
  const Node& n = nodes_[v.producer.id];
  std::vector<ops::Operand> operands;
  for (ValueId operand_id : n.inputs) {
    if (!read_inputs_of(operand_id, origins)) return false;
    operands.push_back(operand(operand_id));
  }
  derive_elements(id, n.definition.outputs[v.output], operands);
  return known_elements(id) != nullptr;
}

// Floats take part too: sizes are often scaled as floats on their way from Shape to Resize.
const std::vector<ops::Element>* Graph::known_elements(ValueId id) {
  if (auto it = known_.find(id.id); it != known_.end()) return &it->second;
  Value& v = values_[id.id];
  auto count = v.constant ? small_count(*sym_, v.dims) : std::nullopt;
  std::vector<ops::Element> list;
  if (count && is_float(v.dtype)) {
    for (int64_t i = 0; i < *count; ++i)
      list.push_back({sym_->constant(1), real_element(v.dtype, v.constant->bytes, i)});
  } else {
    if (count && !v.elements) v.elements = constant_elements(*sym_, v, *count);
    if (!v.elements) return nullptr;
    for (sym::Expr e : *v.elements) list.push_back({e, 1, 1, v.fits});
  }
  return &known_.emplace(id.id, std::move(list)).first->second;
}

void Graph::derive_elements(ValueId made, const ops::OutputDef& out, std::span<const ops::Operand> operands) {
  if (!out.body.valid() || !small_count(*sym_, out.dims)) return;
  for (const ops::Operand& o : operands)
    if (o.value.valid() && !small_count(*sym_, o.dims)) return;
  auto elements = ops::evaluate_symbolic(
      *scalars_, facts(), out, operands, [&](ValueId v) { return known_elements(v); }, kMaxElements);
  if (!elements) return;
  if (holds_integers(out.dtype)) {
    std::vector<sym::Expr> exprs;
    sym::Expr fits = sym_->constant(1);
    for (const ops::Element& e : *elements) {
      exprs.push_back(e.expr);
      if (e.fits.valid()) fits = sym_->logical_and(fits, e.fits);
    }
    values_[made.id].elements = std::move(exprs);
    if (!sym_->is_const(fits, 1)) values_[made.id].fits = fits;
  }
  known_.emplace(made.id, *std::move(elements));
}

}  // namespace dlcb::graph
