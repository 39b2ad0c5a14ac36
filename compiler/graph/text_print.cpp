// The text form of a graph (see docs/graph_text.md for the grammar by example). Symbols come first, then inputs and
// constants, constraints (so that a reader knows them before it adds nodes), nodes in order, and outputs. What long
// expressions have in common is named by a `let` line before the statement that first needs it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/hash.h"
#include "graph/constant.h"
#include "graph/contradiction.h"
#include "graph/graph.h"
#include "graph/text.h"
#include "sym/text.h"

namespace dlcb::graph {
namespace {

constexpr int64_t kInlineElements = 64;

class Printer {
 public:
  Printer(const Graph& g, const WeightsOut* weights) : g_(g), weights_(weights), shared_(sym::shared_text(g.sym())) {}

  std::string run() {
    statements();  // finds the symbols, and which expressions are worth a name
    shared_.close();
    const std::string body = statements();
    std::string head = "graph " + (g_.file.empty() ? "" : quoted(g_.file) + " ");
    if (!g_.digest.empty()) head += "digest " + quoted(g_.digest) + " ";
    if (placed_) head += "weights " + quoted(weights_->file) + " ";
    head += "{\n";
    for (sym::Expr s : symbols_) head += symbol(s);
    return head + body + "}\n";
  }

  // %y: f32[N, 8] = add %x, %w {..}
  std::string computation(const Node& n) {
    std::string text;
    for (size_t i = 0; i < n.outputs.size(); ++i) text += (i ? ", " : "") + typed(n.outputs[i]);
    text += fmt::format(" = {}", n.op->name);
    for (size_t i = 0; i < n.inputs.size(); ++i) text += (i ? ", " : " ") + name(n.inputs[i]);
    if (!n.attrs.all().empty()) {
      text += " {";
      bool first = true;
      for (const auto& [key, value] : n.attrs.all()) {
        text += fmt::format("{}{} = {}", first ? "" : ", ", key, attr(value));
        first = false;
      }
      text += "}";
    }
    return text;
  }

  // %w: f32[8] order(..)
  std::string typed(ValueId v) {
    const Value& value = g_.value(v);
    std::string text = fmt::format("{}: {}[{}]", name(v), name_of(value.dtype), exprs(value.dims));
    if (value.order.empty()) return text;
    text += " order(";
    for (size_t i = 0; i < value.order.size(); ++i) text += fmt::format("{}{}", i ? ", " : "", value.order[i]);
    return text + ")";
  }

  // One statement by itself, followed by what it names.
  std::string alone(const std::function<std::string()>& write) {
    write();
    shared_.close();
    return write() + shared_.where();
  }

 private:
  std::string statements() {
    std::string body;
    auto add = [&](const std::string& statement) { body += shared_.take_lets("  ") + statement; };
    for (ValueId v : g_.inputs) add("  input " + typed(v) + "\n" + reads(v));
    for (uint32_t v = 0; v < g_.value_count(); ++v)
      if (g_.value({v}).constant) add("  const " + typed({v}) + " = " + data(g_.value({v})) + "\n");
    for (const Range& r : g_.ranges) add(fmt::format("  range {} in {}\n", expr(r.symbol), bounds_text(r.bounds)));
    for (const Eliminated& e : g_.eliminated) add(eliminated(e));
    for (const Constraint& c : g_.constraints) add(constraint(c));
    for (uint32_t n = 0; n < g_.node_count(); ++n)
      if (g_.node({n}).op) add(node(g_.node({n})));
    for (size_t i = 0; i < g_.outputs.size(); ++i)
      add(fmt::format("  output {} {}\n", quoted(g_.output_names[i]), name(g_.outputs[i])));
    return body;
  }

  std::string expr(sym::Expr e) {
    if (!shared_.closed()) {
      for (sym::Expr s : g_.sym().symbols(e))
        if (seen_.insert(s.id).second) symbols_.push_back(s);
    }
    return shared_.text(e.id);
  }
  std::string exprs(std::span<const sym::Expr> list) {
    std::string text;
    for (size_t i = 0; i < list.size(); ++i) text += (i ? ", " : "") + expr(list[i]);
    return text;
  }
  std::string name(ValueId v) { return v.valid() ? value_name(g_.value(v).name) : "_"; }

  std::string symbol(sym::Expr s) {
    constexpr std::string_view kKinds[] = {"dim", "data", "index", "param"};
    return fmt::format("  symbol {} {} {}\n", sym::print(g_.sym(), s),
                       kKinds[static_cast<int>(g_.sym().symbol_kind(s))], bounds_text(g_.sym().bounds(s)));
  }

  std::string reads(ValueId v) {
    std::string text;
    for (const HostRead& read : g_.host_reads)
      if (read.value == v) text += fmt::format("  read {} = {}[{}]\n", expr(read.symbol), name(v), read.element);
    return text;
  }

  std::string data(const Value& value) {
    if (!shared_.closed()) return "";  // has no expressions
    std::span<const std::byte> bytes = value.constant->bytes;
    int64_t count = static_cast<int64_t>(bytes.size() / size_of(value.dtype));
    if (count <= kInlineElements) {
      std::string text = "[";
      for (int64_t i = 0; i < count; ++i) text += (i ? ", " : "") + element_text(value.dtype, bytes, i);
      return text + "]";
    }
    if (!weights_) return "digest " + hex(hash_bytes(bytes.data(), bytes.size()));
    placed_ = true;
    return fmt::format("at {}", weights_->place(*value.constant));
  }

  std::string eliminated(const Eliminated& e) {
    std::string text = fmt::format("  eliminated {} = {} why {}", expr(e.symbol), expr(e.value), quoted(e.why));
    for (const DimSource& d : e.sources) text += fmt::format(" at {} axis {}", name(g_.inputs[d.input]), d.axis);
    return text + origins_text(e.origins) + "\n";
  }

  std::string constraint(const Constraint& c) {
    std::string text = fmt::format("  require {} why {}", expr(c.condition), quoted(c.why));
    if (c.node.valid() && !g_.node(c.node).outputs.empty()) text += " node " + name(g_.node(c.node).outputs[0]);
    if (c.operand >= 0) text += fmt::format(" operand {}", c.operand);
    if (c.axis >= 0) text += fmt::format(" axis {}", c.axis);
    return text + origins_text(c.origins) + "\n";
  }

  std::string node(const Node& n) {
    std::string text = "  " + computation(n) + origins_text(n.origins);
    if (!g_.sym().is_const(n.predicate, 1)) text += " if " + expr(n.predicate);
    text += "\n";
    for (ValueId v : n.outputs) text += reads(v);
    return text;
  }

  std::string attr(const ops::AttrValue& value) {
    if (auto* v = std::get_if<int64_t>(&value)) return std::to_string(*v);
    if (auto* v = std::get_if<double>(&value)) return real_text(*v);
    if (auto* v = std::get_if<std::string>(&value)) return quoted(*v);
    if (auto* v = std::get_if<DType>(&value)) return std::string(name_of(*v));
    if (auto* v = std::get_if<std::vector<int64_t>>(&value)) return fmt::format("[{}]", fmt::join(*v, ", "));
    if (auto* v = std::get_if<std::vector<sym::Expr>>(&value)) return "(" + exprs(*v) + ")";
    std::string text = "floats[";
    const auto& reals = std::get<std::vector<double>>(value);
    for (size_t i = 0; i < reals.size(); ++i) text += (i ? ", " : "") + real_text(reals[i]);
    return text + "]";
  }

  const Graph& g_;
  const WeightsOut* weights_;
  SharedText shared_;
  bool placed_ = false;  // some constant is in the weights
  std::vector<sym::Expr> symbols_;
  std::unordered_set<uint32_t> seen_;
};

}  // namespace

std::string print(const Graph& g, const WeightsOut* weights) { return Printer(g, weights).run(); }

std::string statement(const Graph& g, NodeId n) {
  Printer printer(g, nullptr);
  return printer.alone([&] { return printer.computation(g.node(n)); });
}

std::string declaration(const Graph& g, ValueId v) {
  Printer printer(g, nullptr);
  return (g.value(v).constant ? "const " : "") + printer.alone([&] { return printer.typed(v); });
}

}  // namespace dlcb::graph
