#include "import/fold.h"

#include <algorithm>
#include <unordered_map>

#include "graph/constant.h"
#include "graph/elements.h"
#include "import/element.h"

namespace dlcb::importer {
namespace {

using graph::Constant;
using graph::ValueId;
using sym::Expr;

constexpr int kMaxDepth = 32;

class Folder {
 public:
  explicit Folder(graph::Graph& g) : g_(g), sym_(g.sym()), scalars_(g.scalars()) {}

  std::optional<Constant> fold(ValueId v, int depth) {
    if (const auto it = done_.find(v.id); it != done_.end()) return it->second;
    return done_[v.id] = compute(v, depth);
  }

 private:
  std::optional<Constant> compute(ValueId v, int depth) {
    const graph::Value& value = g_.value(v);
    if (value.constant) return value.constant;
    const auto dims = graph::literal_dims(sym_, value.dims);
    const auto count = graph::small_count(sym_, value.dims);
    if (!dims || !count || *count > kMaxFolded || depth > kMaxDepth) return std::nullopt;
    auto bytes = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(*count) * size_of(value.dtype));
    for (int64_t i = 0; i < *count; ++i) {
      const std::span at(bytes->data() + static_cast<size_t>(i) * size_of(value.dtype), size_of(value.dtype));
      if (!(value.elements && g_.elements_fit(value)
                ? store_known((*value.elements)[static_cast<size_t>(i)], value.dtype, at)
                : store_computed(value, *dims, i, depth, at)))
        return std::nullopt;
    }
    return Constant{*bytes, bytes};
  }

  bool store_known(Expr e, DType t, std::span<std::byte> at) const {
    const auto n = sym_.as_const(e);
    if (n) store_integer(t, at, *n);
    return n.has_value();
  }

  bool store_computed(const graph::Value& value, const std::vector<int64_t>& dims, int64_t flat, int depth,
                      std::span<std::byte> at) {
    if (!value.producer.valid()) return false;
    const graph::Node& node = g_.node(value.producer);
    const ops::OutputDef& out = node.definition.outputs[value.output];
    if (!out.body.valid()) return false;
    std::unordered_map<uint32_t, Expr> position;
    for (size_t axis = dims.size(); axis-- > 0; flat /= dims[axis])
      position[out.index[axis].id] = sym_.constant(flat % dims[axis]);
    ops::Scalar body = scalars_.substitute(out.body, position);
    for (const ValueId input : node.inputs) body = input.valid() ? with_elements(body, input, depth) : body;
    const ops::ScalarNode& result = scalars_.node(body);
    if (result.kind == ops::ScalarKind::ConstF)
      store_real(value.dtype, at, result.f);
    else if (result.kind == ops::ScalarKind::ConstI)
      store_integer(value.dtype, at, result.i);
    else
      return false;
    return true;
  }

  // Puts the elements of an operand in place of its loads at literal positions.
  ops::Scalar with_elements(ops::Scalar body, ValueId input, int depth) {
    const auto loads = scalars_.loads(body);
    if (std::none_of(loads.begin(), loads.end(), [&](ops::Scalar l) { return scalars_.node(l).value == input; }))
      return body;
    const auto data = fold(input, depth + 1);
    if (!data) return body;
    const graph::Value& value = g_.value(input);
    return scalars_.inline_load(body, input, [&](std::span<const Expr> coords) {
      int64_t flat = 0;
      bool known = true;
      for (size_t axis = 0; axis < coords.size() && known; ++axis) {
        const auto at = sym_.as_const(coords[axis]), extent = sym_.as_const(value.dims[axis]);
        known = at && extent && *at >= 0 && *at < *extent;
        if (known) flat = flat * *extent + *at;
      }
      if (!known) return scalars_.load(value.dtype, input, {coords.begin(), coords.end()});
      if (is_float(value.dtype))
        return scalars_.constant_f(value.dtype, graph::real_element(value.dtype, data->bytes, flat));
      return scalars_.constant_i(value.dtype,
                                 graph::integer_element(value.dtype, data->bytes, flat).value_or(INT64_MAX));
    });
  }

  graph::Graph& g_;
  sym::Store& sym_;
  ops::ScalarStore& scalars_;
  std::unordered_map<uint32_t, std::optional<Constant>> done_;
};

}  // namespace

std::optional<Constant> fold_constant(graph::Graph& graph, ValueId value) { return Folder(graph).fold(value, 0); }

}  // namespace dlcb::importer
