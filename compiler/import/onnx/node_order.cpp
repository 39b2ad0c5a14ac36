#include "import/onnx/node_order.h"

#include <fmt/format.h>

#include <functional>
#include <queue>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "import/onnx/onnx.pb.h"

namespace dlcb::importer::onnx {
namespace {

using dlcb::onnx::GraphProto;
using dlcb::onnx::NodeProto;

using Use = std::function<void(const std::string&)>;

// Calls `use` for every name that the node takes from outside: its inputs and what its subgraphs capture.
void for_each_use(const NodeProto& node, const Use& use);

void for_each_capture(const GraphProto& g, const Use& use) {
  std::unordered_set<std::string> own;
  for (const auto& input : g.input()) own.insert(input.name());
  for (const auto& t : g.initializer()) own.insert(t.name());
  for (const NodeProto& n : g.node()) own.insert(n.output().begin(), n.output().end());
  const Use outside = [&](const std::string& name) {
    if (!own.count(name)) use(name);
  };
  for (const NodeProto& n : g.node()) for_each_use(n, outside);
  for (const auto& output : g.output()) outside(output.name());
}

void for_each_use(const NodeProto& node, const Use& use) {
  for (const std::string& name : node.input())
    if (!name.empty()) use(name);
  for (const auto& a : node.attribute()) {
    if (a.has_g()) for_each_capture(a.g(), use);
    for (const GraphProto& g : a.graphs()) for_each_capture(g, use);
  }
}

std::string label(const NodeProto& node) {
  return node.name().empty() && node.output_size() ? node.output(0) : node.name();
}

}  // namespace

Result<std::vector<size_t>> node_order(std::span<const NodeProto* const> nodes) {
  std::unordered_map<std::string, size_t> maker;
  for (size_t i = 0; i < nodes.size(); ++i)
    for (const std::string& name : nodes[i]->output())
      if (!name.empty() && !maker.emplace(name, i).second)
        return diag(DiagKind::MalformedModel, {fmt::format("value '{}' is made twice", name)},
                    {"", nodes[i]->op_type(), label(*nodes[i]), ""});
  std::vector<std::vector<size_t>> users(nodes.size());
  std::vector<size_t> missing(nodes.size(), 0);
  for (size_t i = 0; i < nodes.size(); ++i)
    for_each_use(*nodes[i], [&](const std::string& name) {
      const auto it = maker.find(name);
      if (it == maker.end()) return;
      users[it->second].push_back(i);
      ++missing[i];
    });
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < nodes.size(); ++i)
    if (missing[i] == 0) ready.push(i);
  std::vector<size_t> order;
  for (; !ready.empty();) {
    const size_t i = ready.top();
    ready.pop();
    order.push_back(i);
    for (const size_t user : users[i])
      if (--missing[user] == 0) ready.push(user);
  }
  if (order.size() == nodes.size()) return order;
  for (size_t i = 0; i < nodes.size(); ++i)
    if (missing[i] != 0)
      return diag(DiagKind::MalformedModel, {"nodes form a cycle"}, {"", nodes[i]->op_type(), label(*nodes[i]), ""});
  return order;
}

}  // namespace dlcb::importer::onnx
