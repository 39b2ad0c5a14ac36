// The text form of scalar expressions. Bound indices are shown as k0, k1, ... and coordinates read from data as
// {scalar}, since the names that carry them inside are hashes.
#include <fmt/format.h>

#include "base/diagnostic.h"
#include "ops/arithmetic.h"
#include "ops/scalar.h"

namespace dlcb::ops {
namespace {

class Printer {
 public:
  Printer(const ScalarStore& store, const std::function<std::string(ValueId)>& name_of_value)
      : store_(store), sym_(store.sym()), name_of_value_(name_of_value) {}

  std::string run(Scalar s) {
    const ScalarNode& n = store_.node(s);
    switch (n.kind) {
      case ScalarKind::ConstF:
        return fmt::format("{}", n.f);
      case ScalarKind::ConstI:
        return n.dtype == DType::Bool ? (n.i ? "true" : "false") : fmt::format("{}", n.i);
      case ScalarKind::Index:
        return n.dtype == DType::Bool ? fmt::format("({})", expr(n.index))
                                      : fmt::format("index<{}>({})", dlcb::name_of(n.dtype), expr(n.index));
      case ScalarKind::Load:
        return fmt::format("{}[{}]", name_of_value_(n.value), exprs(n.coords));
      case ScalarKind::Unary:
        return n.fn == Fn::Neg ? "-" + atom(n.operands[0]) : fmt::format("{}({})", name_of(n.fn), run(n.operands[0]));
      case ScalarKind::Binary:
        return binary(n);
      case ScalarKind::Select:
        return fmt::format("select({}, {}, {})", run(n.operands[0]), run(n.operands[1]), run(n.operands[2]));
      case ScalarKind::Cast:
        return fmt::format("cast<{}>({})", dlcb::name_of(n.dtype), run(n.operands[0]));
      case ScalarKind::Reduce:
        return reduce(n);
    }
    DLCB_CHECK(false, "unknown scalar kind");
  }

 private:
  static std::string_view infix(Fn fn) {
    switch (fn) {
      case Fn::Add:
        return "+";
      case Fn::Sub:
        return "-";
      case Fn::Mul:
        return "*";
      case Fn::Div:
        return "/";
      case Fn::Eq:
        return "==";
      case Fn::Ne:
        return "!=";
      case Fn::Lt:
        return "<";
      case Fn::Le:
        return "<=";
      default:
        return "";
    }
  }

  std::string atom(Scalar s) {
    const ScalarNode& n = store_.node(s);
    const bool loose =
        (n.kind == ScalarKind::Binary && !infix(n.fn).empty()) || (n.kind == ScalarKind::Unary && n.fn == Fn::Neg);
    return loose ? "(" + run(s) + ")" : run(s);
  }

  std::string binary(const ScalarNode& n) {
    const std::string_view op = infix(n.fn);
    if (op.empty()) return fmt::format("{}({}, {})", name_of(n.fn), run(n.operands[0]), run(n.operands[1]));
    return fmt::format("{} {} {}", atom(n.operands[0]), op, atom(n.operands[1]));
  }

  std::string reduce(const ScalarNode& n) {
    const size_t outer = bound_.size();
    std::string indices;
    std::vector<std::string> extents;
    for (sym::Expr i : n.coords) extents.push_back(expr(sym_.index_extent(i)));
    for (size_t p = 0; p < n.coords.size(); ++p) {
      std::string name = "k" + std::to_string(bound_.size());
      indices += fmt::format("{}{} < {}", p ? ", " : "", name, extents[p]);
      bound_.emplace_back(n.coords[p], std::move(name));
    }
    std::string text = fmt::format("{}[{}]({})", name_of(n.reduce), indices, run(n.operands[0]));
    bound_.resize(outer);
    return text;
  }

  std::string exprs(std::span<const sym::Expr> list) {
    std::string out;
    for (sym::Expr e : list) out += (out.empty() ? "" : ", ") + expr(e);
    return out;
  }

  std::string expr(sym::Expr e) {
    std::string text = sym::print(sym_, e);
    for (auto at = bound_.rbegin(); at != bound_.rend(); ++at)  // innermost binder first
      if (sym_.contains(e, at->first)) replace(text, sym_.symbol_name(at->first), at->second);
    for (sym::Expr s : sym_.symbols(e))
      if (Scalar data = store_.binding(s); data.valid()) replace(text, sym_.symbol_name(s), "{" + run(data) + "}");
    return text;
  }

  // Whole identifiers only: a name may be the beginning of another.
  static void replace(std::string& text, std::string_view name, const std::string& to) {
    auto part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; };
    for (size_t at = 0; (at = text.find(name, at)) != std::string::npos;) {
      const size_t end = at + name.size();
      if ((at > 0 && part(text[at - 1])) || (end < text.size() && part(text[end]))) {
        at = end;
        continue;
      }
      text.replace(at, name.size(), to);
      at += to.size();
    }
  }

  const ScalarStore& store_;
  const sym::Store& sym_;
  const std::function<std::string(ValueId)>& name_of_value_;
  std::vector<std::pair<sym::Expr, std::string>> bound_;
};

}  // namespace

std::string print(const ScalarStore& store, Scalar s, const std::function<std::string(ValueId)>& name_of) {
  return Printer(store, name_of).run(s);
}

}  // namespace dlcb::ops
