#include "rewrite/layout.h"

#include <algorithm>
#include <numeric>

#include "graph/constant.h"
#include "graph/trace.h"

namespace dlcb::rewrite {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Trace;
using ops::ValueId;
using Order = std::vector<uint8_t>;

Order channels_last(size_t rank) {
  Order order{0};
  for (size_t i = 2; i < rank; ++i) order.push_back(static_cast<uint8_t>(i));
  order.push_back(1);
  return order;
}

// Weights of a depthwise convolution: a tap's channels lie together, as a pixel's do.
Order taps_first(size_t rank) {
  Order order;
  for (size_t i = 2; i < rank; ++i) order.push_back(static_cast<uint8_t>(i));
  order.insert(order.end(), {0, 1});
  return order;
}

bool is_depthwise_weight(const Graph& graph, const Node& conv, ValueId w) {
  const std::vector<sym::Expr>& dims = graph.value(w).dims;
  const int64_t groups = conv.attrs.integer("group", 1);
  return graph.value(w).constant && groups > 1 && graph.sym().is_const(dims[0], groups) &&
         graph.sym().is_const(dims[1], 1);
}

bool is_convolution(const Node& node) { return node.op->name == "conv" || node.op->name == "conv_transpose"; }

bool wants_channels_last(const Node& node) {
  const std::string_view name = node.op->name;
  return is_convolution(node) || name == "max_pool" || name == "avg_pool" || name == "resize";
}

// For a permutation of x the order under which nothing moves: out dim i is x dim perm[i].
Order order_through_transpose(const Order& source, const std::vector<int64_t>& perm) {
  Order order;
  for (size_t i = 0; i < perm.size(); ++i) {
    const size_t physical_dim = source.empty() ? i : source[i];
    const auto at = std::find(perm.begin(), perm.end(), static_cast<int64_t>(physical_dim));
    order.push_back(static_cast<uint8_t>(at - perm.begin()));
  }
  return order;
}

// The order of a node's results, from the orders of its operands.
Order natural_order(const Graph& graph, const Node& node) {
  const graph::Value& out = graph.value(node.outputs[0]);
  const size_t rank = out.dims.size();
  if (wants_channels_last(node) && rank >= 3) return channels_last(rank);
  if (node.op->kind != ops::OpKind::Define) return {};
  if (node.op->name == "matmul") return {};
  if (node.op->name == "transpose") {
    const Order& source = graph.value(node.inputs[0]).order;
    return source.empty() ? Order{} : order_through_transpose(source, node.attrs.integers("perm"));
  }
  if (node.op->name == "reshape") return {};
  // Pointwise, reductions that keep dims, concat, slice, pad: follow an operand of the same rank, the largest first.
  for (ValueId v : node.inputs) {
    if (v.valid() && graph.value(v).dims == out.dims && !graph.value(v).order.empty()) return graph.value(v).order;
  }
  for (ValueId v : node.inputs) {
    if (v.valid() && graph.value(v).dims.size() == rank && !graph.value(v).order.empty()) return graph.value(v).order;
  }
  return {};
}

void store_in_order(Graph& graph, ValueId v, Order order) {
  if (graph.value(v).order == order) return;
  Trace trace(graph, "storage order");
  trace.before(v);
  graph.value(v).order = std::move(order);
  trace.after(v).done();
}

Result<ValueId> copy_in_order(Graph& graph, ValueId v, Order order, const std::vector<graph::Origin>& origins) {
  DLCB_ASSIGN(const ValueId copy, graph.add1("identity", {v}, {}, origins));
  graph.value(copy).order = std::move(order);
  Trace(graph, "copy in another order").before(v).after(graph.value(copy).producer).done();
  return copy;
}

// Row-major with a single dim is every order; so is any order of a tensor with one non-trivial dim.
bool same_storage(const Graph& graph, ValueId v, const Order& a, const Order& b) {
  const auto significant = [&](const Order& order) {
    Order dims;
    const size_t rank = graph.value(v).dims.size();
    for (size_t i = 0; i < rank; ++i) {
      const uint8_t d = order.empty() ? static_cast<uint8_t>(i) : order[i];
      if (!graph.sym().is_const(graph.value(v).dims[d], 1)) dims.push_back(d);
    }
    return dims;
  };
  return significant(a) == significant(b);
}

// The order in which kernels read operand `i` of a convolution best.
Order convolution_order(const Graph& graph, const Node& node, size_t i) {
  const ValueId v = node.inputs[i];
  const size_t rank = graph.value(v).dims.size();
  return i == 1 && is_depthwise_weight(graph, node, v) ? taps_first(rank) : channels_last(rank);
}

// Whether all users of a constant can do with this order. Most read element by element and do not mind; library calls
// and what renames memory want it as it is.
bool suits_users(const Graph& graph, ValueId v, const Order& order) {
  if (graph.is_output(v)) return false;
  const std::vector<std::vector<NodeId>> users = graph.users();
  return std::all_of(users[v.id].begin(), users[v.id].end(), [&](NodeId n) {
    const Node& user = graph.node(n);
    const std::string_view name = user.op->name;
    if (!is_convolution(user)) {
      return user.op->kind == ops::OpKind::Define && name != "matmul" && name != "reshape" && name != "transpose";
    }
    for (size_t i = 0; i < user.inputs.size(); ++i) {
      if (user.inputs[i] == v && (i > 1 || convolution_order(graph, user, i) != order)) return false;
    }
    return true;
  });
}

// Gives operand `i` of a convolution the order that kernels read best, channels last: constants are stored so, others
// are copied if need be.
Status require_channels_last(Graph& graph, NodeId n, size_t i, std::vector<std::pair<ValueId, ValueId>>& copies) {
  const ValueId v = graph.node(n).inputs[i];
  if (!v.valid()) return ok();
  const Order wanted = convolution_order(graph, graph.node(n), i);
  if (graph.value(v).order == wanted) return ok();
  const bool caller = std::find(graph.inputs.begin(), graph.inputs.end(), v) != graph.inputs.end();
  const auto made = std::find_if(copies.begin(), copies.end(), [&](const auto& c) { return c.first == v; });
  ValueId copy;
  if (made != copies.end()) {
    copy = made->second;
  } else if (graph.value(v).constant && suits_users(graph, v, wanted)) {
    store_in_order(graph, v, wanted);
    return ok();
  } else if (graph.value(v).constant) {
    const graph::Value original = graph.value(v);
    copy = graph.add_constant(original.name, original.dtype, *graph::literal_dims(graph.sym(), original.dims),
                              *original.constant);
    graph.value(copy).order = wanted;
    Trace(graph, "constant stored twice").before(v).after(copy).done();
  } else if (!caller && same_storage(graph, v, graph.value(v).order, wanted)) {
    store_in_order(graph, v, wanted);
    return ok();
  } else {
    DLCB_ASSIGN(copy, copy_in_order(graph, v, wanted, graph.node(n).origins));
  }
  if (made == copies.end()) copies.push_back({v, copy});
  graph.replace_operand(n, v, copy);
  return ok();
}

// A caller gets row-major tensors.
Status restore_outputs(Graph& graph) {
  for (ValueId& v : graph.outputs) {
    const Order order = graph.value(v).order;
    if (order.empty()) continue;
    if (same_storage(graph, v, order, {}) && graph.users()[v.id].empty()) {
      store_in_order(graph, v, {});
      continue;
    }
    const NodeId producer = graph.value(v).producer;
    const std::vector<graph::Origin> origins =
        producer.valid() ? graph.node(producer).origins : std::vector<graph::Origin>{};
    DLCB_ASSIGN(v, copy_in_order(graph, v, {}, origins));
  }
  return ok();
}

}  // namespace

Status assign_layouts(Graph& graph) {
  std::vector<std::pair<ValueId, ValueId>> copies;
  const uint32_t nodes = graph.node_count();
  for (uint32_t n = 0; n < nodes; ++n) {
    if (!graph.node(NodeId{n}).op) continue;
    if (is_convolution(graph.node(NodeId{n})) && graph.value(graph.node(NodeId{n}).outputs[0]).dims.size() >= 3) {
      DLCB_TRY(require_channels_last(graph, NodeId{n}, 0, copies));
      DLCB_TRY(require_channels_last(graph, NodeId{n}, 1, copies));
    }
    const Node& node = graph.node(NodeId{n});
    const Order order = natural_order(graph, node);
    for (ValueId v : node.outputs) {
      if (graph.value(v).dims.size() == order.size()) store_in_order(graph, v, order);
    }
  }
  DLCB_TRY(restore_outputs(graph));
  graph.sort_topologically();
  return ok();
}

}  // namespace dlcb::rewrite
