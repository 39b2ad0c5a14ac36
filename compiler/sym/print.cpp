// Expressions as text, with no more parentheses than Python's precedence asks for. One node is written at a time: how
// texts of shared operands come together is base/shared_text.h's.
#include <algorithm>
#include <bit>
#include <charconv>
#include <unordered_set>

#include "base/text.h"
#include "sym/store_impl.h"
#include "sym/text.h"

namespace dlcb::sym {
namespace {

bool identifier(std::string_view name) {
  for (std::string_view word : {"and", "or", "not", "min", "max", "select", "floor_scale", "ceil_scale", "where"}) {
    if (name == word) return false;
  }
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (name.empty() || !letter(name[0])) return false;
  for (char c : name) {
    if (!letter(c) && !(c >= '0' && c <= '9') && c != '.') return false;
  }
  return true;
}

// Writes one node.
struct Writer {
  const Store::Impl& s;
  const SharedText::Operand& operand;
  size_t limit;  // characters after which a list of operands ends

  std::string of(Expr e, Level around) {
    const SharedText::Piece& piece = operand(e.id);
    return piece.level < around ? "(" + piece.text + ")" : piece.text;
  }

  // Whether a list of operands ends here.
  bool enough(std::string& r, const char* separator) const {
    if (r.size() <= limit) return false;
    r += std::string(separator) + "...";
    return true;
  }

  std::string sum(Expr e) {
    std::string r;
    auto ops = s.operands(e);
    auto cs = s.coefficients(e);
    for (size_t i = 0; i < ops.size(); i++) {
      if (enough(r, " + ")) return r;
      bool minus = cs[i] < 0;
      r += r.empty() ? (minus ? "-" : "") : (minus ? " - " : " + ");
      uint64_t size = minus ? uint64_t(0) - uint64_t(cs[i]) : uint64_t(cs[i]);
      if (size != 1) r += std::to_string(size) + "*";
      // "-x//2" reads as (-x)//2 and "3*x//2" as (3*x)//2, so a division under a coefficient is parenthesised.
      const Node& n = s.node(ops[i]);
      bool bare = cs[i] == 1 || (n.kind == Kind::Product && !n.opaque);
      r += of(ops[i], bare ? kMul : kUnary);
    }
    int64_t c = s.node(e).value;
    if (c != 0) r += (c < 0 ? " - " : " + ") + std::to_string(c < 0 ? uint64_t(0) - uint64_t(c) : uint64_t(c));
    return r;
  }

  std::string infix(Expr e, const char* op, Level sides) {
    std::string r;
    for (Expr o : s.operands(e)) {
      if (enough(r, op)) return r;
      r += (r.empty() ? "" : op) + of(o, sides);
    }
    return r;
  }

  std::string call(const char* name, Expr e) {
    std::string r = std::string(name) + "(";
    bool first = true;
    for (Expr o : s.operands(e)) {
      if (enough(r, ", ")) break;
      r += (first ? "" : ", ") + of(o, kOr);
      first = false;
    }
    if (s.node(e).kind == Kind::FloorScale || s.node(e).kind == Kind::CeilScale) {
      char text[32];
      auto end = std::to_chars(text, text + sizeof text, std::bit_cast<double>(s.node(e).value));
      r += ", " + std::string(text, end.ptr);
    }
    return r + ")";
  }

  SharedText::Piece piece(Expr e) {
    const Node& n = s.node(e);
    switch (n.kind) {
      case Kind::Const:
        return {std::to_string(n.value), n.value < 0 ? kUnary : kAtom};
      case Kind::Symbol: {
        const std::string& name = s.symbols[static_cast<size_t>(n.value)].name;
        return {identifier(name) ? name : escaped(name, '`'), kAtom};
      }
      case Kind::Sum:
        return {sum(e), n.count == 1 && n.value == 0 ? kMul : kAdd};
      case Kind::Product:
        return {infix(e, "*", kUnary), kMul};
      case Kind::FloorDiv:
        return {infix(e, "//", kUnary), kMul};
      case Kind::Mod:
        return {infix(e, " % ", kUnary), kMul};
      case Kind::Eq:
        return {infix(e, " == ", kAdd), kCompare};
      case Kind::Le:
        return {infix(e, " <= ", kAdd), kCompare};
      case Kind::Lt:
        return {infix(e, " < ", kAdd), kCompare};
      case Kind::And:
        return {infix(e, " and ", kNot), kAnd};
      case Kind::Or:
        return {infix(e, " or ", kAnd), kOr};
      case Kind::Not:
        if (const Expr equal = s.operands(e)[0]; s.node(equal).kind == Kind::Eq)
          return {infix(equal, " != ", kAdd), kCompare};
        return {"not " + of(s.operands(e)[0], kNot), kNot};
      case Kind::Min:
        return {call("min", e), kAtom};
      case Kind::Max:
        return {call("max", e), kAtom};
      case Kind::Select:
        return {call("select", e), kAtom};
      case Kind::FloorScale:
        return {call("floor_scale", e), kAtom};
      case Kind::CeilScale:
        return {call("ceil_scale", e), kAtom};
    }
    return {};
  }
};

// What stands for the expressions in a text of their own.
std::vector<std::string> texts(SharedText& shared, std::span<const Expr> list) {
  std::vector<std::string> result;
  for (Expr e : list) shared.text(e.id);
  shared.close();
  for (Expr e : list) result.push_back(shared.text(e.id));
  return result;
}

// The `count` nodes that are nearest to the list, or all if they are fewer.
std::unordered_set<uint32_t> nearest(const Store& store, std::span<const Expr> list, size_t count) {
  std::unordered_set<uint32_t> seen;
  std::vector<Expr> reached;
  auto reach = [&](Expr e) {
    if (seen.size() < count && seen.insert(e.id).second) reached.push_back(e);
  };
  for (Expr e : list) reach(e);
  for (size_t i = 0; i < reached.size() && seen.size() < count; i++) {
    for (Expr o : written_operands(store, reached[i])) reach(o);
  }
  return seen;
}

// As shared_text(), of those nodes alone; others are "...".
SharedText shared_text_within(const Store& store, const std::unordered_set<uint32_t>& nodes, SharedText::Limits limits,
                              size_t list_limit) {
  auto operands = [&](SharedText::Key key, std::vector<SharedText::Key>& out) {
    if (!nodes.contains(static_cast<uint32_t>(key))) return;
    for (Expr o : written_operands(store, {static_cast<uint32_t>(key)})) out.push_back(o.id);
  };
  auto write_node = [&store, &nodes, list_limit](SharedText::Key key, const SharedText::Operand& operand) {
    const Expr e{static_cast<uint32_t>(key)};
    const bool leaf = store.operands(e).empty();
    return leaf || nodes.contains(e.id) ? write(store, e, operand, list_limit) : SharedText::Piece{"...", kAtom};
  };
  return {operands, write_node, limits};
}

}  // namespace

SharedText::Piece write(const Store& store, Expr e, const SharedText::Operand& operand, size_t limit) {
  return Writer{store.impl(), operand, limit}.piece(e);
}

std::span<const Expr> written_operands(const Store& store, Expr e) {
  const std::span<const Expr> operands = store.operands(e);
  const bool unequal = store.kind(e) == Kind::Not && store.kind(operands[0]) == Kind::Eq;
  return unequal ? store.operands(operands[0]) : operands;
}

SharedText shared_text(const Store& store) {
  auto operands = [&store](SharedText::Key key, std::vector<SharedText::Key>& out) {
    for (Expr o : written_operands(store, {static_cast<uint32_t>(key)})) out.push_back(o.id);
  };
  auto write_node = [&store](SharedText::Key key, const SharedText::Operand& operand) {
    return write(store, {static_cast<uint32_t>(key)}, operand);
  };
  return {operands, write_node};
}

std::string print(const Store& store, Expr e) {
  if (!e.valid()) return "<none>";
  SharedText shared = shared_text(store);
  const std::string text = texts(shared, std::span(&e, 1))[0];
  return text + shared.where();
}

Outline outline(const Store& store, std::span<const Expr> list, size_t limit) {
  const size_t most = 4 * limit;  // more nodes than the text shows
  const std::unordered_set<uint32_t> nodes = nearest(store, list, most);
  // In full where that is short: no operand that is longer by itself.
  SharedText full = shared_text_within(store, nodes, {.shared = SIZE_MAX, .line = limit}, SIZE_MAX);
  Outline result{texts(full, list), ""};
  const bool fits = std::ranges::all_of(result.texts, [&](const std::string& t) { return t.size() <= limit; });
  if (fits && nodes.size() < most && full.definitions().empty()) return result;
  SharedText shared = shared_text_within(store, nodes, {.shared = limit / 16, .line = limit / 4}, limit);
  result.texts = texts(shared, list);
  result.where = shared.where(limit);
  return result;
}

std::string outline(const Store& store, Expr e, size_t limit) {
  if (!e.valid()) return "<none>";
  const Outline outlined = outline(store, std::span(&e, 1), limit);
  return outlined.texts[0] + outlined.where;
}

}  // namespace dlcb::sym
