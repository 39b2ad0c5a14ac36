#include "rewrite/match.h"

#include <algorithm>
#include <cmath>

#include "graph/constant.h"

namespace dlcb::rewrite {

using graph::Node;
using ops::ValueId;

const Node* Match::made_by(ValueId v, std::string_view op) const {
  if (!v.valid()) return nullptr;
  const graph::NodeId producer = graph_.value(v).producer;
  if (!producer.valid()) return nullptr;
  const Node& node = graph_.node(producer);
  return node.op && node.op->name == op ? &node : nullptr;
}

std::optional<double> Match::number(ValueId v) const {
  if (!v.valid()) return std::nullopt;
  const graph::Value& value = graph_.value(v);
  if (!value.constant) return std::nullopt;
  for (sym::Expr d : value.dims) {
    if (!graph_.sym().is_const(d, 1)) return std::nullopt;
  }
  if (is_float(value.dtype)) return graph::real_element(value.dtype, value.constant->bytes, 0);
  const auto integer = graph::integer_element(value.dtype, value.constant->bytes, 0);
  return integer ? std::optional<double>(static_cast<double>(*integer)) : std::nullopt;
}

std::optional<ValueId> Match::other_than(const Node& node, double wanted) const {
  if (node.inputs.size() != 2) return std::nullopt;
  for (int side : {0, 1}) {
    const auto n = number(node.inputs[side]);
    if (n && std::abs(*n - wanted) <= 1e-5 * std::abs(wanted)) return node.inputs[1 - side];
  }
  return std::nullopt;
}

std::vector<graph::Origin> merged_origins(std::initializer_list<const Node*> nodes) {
  std::vector<graph::Origin> all;
  for (const Node* node : nodes) {
    for (const graph::Origin& o : node->origins) {
      if (std::find(all.begin(), all.end(), o) == all.end()) all.push_back(o);
    }
  }
  return all;
}

}  // namespace dlcb::rewrite
