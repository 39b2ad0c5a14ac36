// Expressions as text, with no more parentheses than Python's precedence asks for.
#include <bit>
#include <charconv>
#include <cstdio>
#include <limits>

#include "base/text.h"
#include "sym/store_impl.h"

namespace dlcb::sym {
namespace {

enum Level { kOr, kAnd, kNot, kCompare, kAdd, kMul, kUnary, kAtom };  // weakest first

bool identifier(std::string_view name) {
  for (std::string_view word : {"and", "or", "not", "min", "max", "select", "floor_scale", "ceil_scale"}) {
    if (name == word) return false;
  }
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (name.empty() || !letter(name[0])) return false;
  for (char c : name) {
    if (!letter(c) && !(c >= '0' && c <= '9') && c != '.') return false;
  }
  return true;
}

constexpr const char* kLeftOut = "...";

struct Printer {
  const Store::Impl& s;
  int depth = std::numeric_limits<int>::max();        // operations inside one another that are written
  size_t limit = std::numeric_limits<size_t>::max();  // characters after which a list of operands ends
  bool left_out = false;

  std::string of(Expr e, Level around) {
    const Kind kind = s.node(e).kind;
    if (depth == 0 && kind != Kind::Const && kind != Kind::Symbol) {
      left_out = true;
      return kLeftOut;
    }
    Level level = kAtom;
    --depth;
    std::string text = plain(e, &level);
    ++depth;
    return level < around ? "(" + text + ")" : text;
  }

  // Whether a list of operands ends here.
  bool enough(std::string& r, const char* separator) {
    if (r.size() <= limit) return false;
    left_out = true;
    r += std::string(separator) + kLeftOut;
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

  std::string plain(Expr e, Level* level) {
    const Node& n = s.node(e);
    auto at = [&](Level l) { return *level = l; };
    switch (n.kind) {
      case Kind::Const:
        at(n.value < 0 ? kUnary : kAtom);
        return std::to_string(n.value);
      case Kind::Symbol: {
        const std::string& name = s.symbols[static_cast<size_t>(n.value)].name;
        return identifier(name) ? name : escaped(name, '`');
      }
      case Kind::Sum:
        at(n.count == 1 && n.value == 0 ? kMul : kAdd);
        return sum(e);
      case Kind::Product:
        at(kMul);
        return infix(e, "*", kUnary);
      case Kind::FloorDiv:
        at(kMul);
        return infix(e, "//", kUnary);
      case Kind::Mod:
        at(kMul);
        return infix(e, " % ", kUnary);
      case Kind::Eq:
        at(kCompare);
        return infix(e, " == ", kAdd);
      case Kind::Le:
        at(kCompare);
        return infix(e, " <= ", kAdd);
      case Kind::Lt:
        at(kCompare);
        return infix(e, " < ", kAdd);
      case Kind::And:
        at(kAnd);
        return infix(e, " and ", kNot);
      case Kind::Or:
        at(kOr);
        return infix(e, " or ", kAnd);
      case Kind::Not:
        if (const Expr equal = s.operands(e)[0]; s.node(equal).kind == Kind::Eq) {
          at(kCompare);
          return infix(equal, " != ", kAdd);
        }
        at(kNot);
        return "not " + of(s.operands(e)[0], kNot);
      case Kind::Min:
        return call("min", e);
      case Kind::Max:
        return call("max", e);
      case Kind::Select:
        return call("select", e);
      case Kind::FloorScale:
        return call("floor_scale", e);
      case Kind::CeilScale:
        return call("ceil_scale", e);
    }
    return {};
  }
};

}  // namespace

std::string print(const Store& store, Expr e) {
  if (!e.valid()) return "<none>";
  return Printer{store.impl()}.of(e, kOr);
}

std::string outline(const Store& store, Expr e, size_t limit) {
  if (!e.valid()) return "<none>";
  std::string best;
  for (int depth = 1;; ++depth) {
    Printer printer{store.impl(), depth, limit};
    std::string text = printer.of(e, kOr);
    if (!best.empty() && text.size() > limit) return best;
    if (!printer.left_out) return text;
    best = std::move(text);
  }
}

}  // namespace dlcb::sym
