// The text form of scalar expressions. Bound indices and coordinates read from data have hashes for names inside: the
// former are shown as k0, k1, ... (l0, l1, ... around another reduction, and so on), the latter as {scalar}.
#include "ops/scalar_text.h"

#include <fmt/format.h>

#include "base/diagnostic.h"
#include "ops/arithmetic.h"
#include "sym/text.h"

namespace dlcb::ops {
namespace {

using Key = SharedText::Key;
using Piece = SharedText::Piece;

constexpr Key kScalar = Key{1} << 32;  // set in the keys of scalars; the key of an integer expression is its id
constexpr int kLoose = 0, kTight = sym::kAtom;

Key key_of(Scalar s) { return kScalar | s.id; }

std::string_view infix(Fn fn) {
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

std::string atom(const Piece& p) { return p.level < kTight ? "(" + p.text + ")" : p.text; }

std::string index_name(const BoundIndex& index) {
  constexpr std::string_view kLetters = "klmnopqrstuvwxyz";  // of the first heights
  const uint32_t last = static_cast<uint32_t>(kLetters.size());
  if (index.height <= last) return fmt::format("{}{}", kLetters[index.height - 1], index.position);
  return fmt::format("{}{}_{}", kLetters[last - 1], index.height, index.position);
}

std::string coordinates(const ScalarNode& n, const SharedText::Operand& operand) {
  std::string out;
  for (sym::Expr e : n.coords) out += (out.empty() ? "" : ", ") + operand(e.id).text;
  return out;
}

}  // namespace

ScalarTexts::ScalarTexts(const ScalarStore& store, std::function<std::string(ValueId)> name_of)
    : store_(store),
      name_of_(std::move(name_of)),
      shared_([this](Key key, std::vector<Key>& out) { operands(key, out); },
              [this](Key key, const SharedText::Operand& operand) { return write(key, operand); }) {}

const std::string& ScalarTexts::text(Scalar s) { return shared_.text(key_of(s)); }
const std::string& ScalarTexts::text(sym::Expr e) { return shared_.text(e.id); }

void ScalarTexts::operands(Key key, std::vector<Key>& out) const {
  const auto id = static_cast<uint32_t>(key);
  if (key & kScalar) return operands(store_.node({id}), out);
  const sym::Expr e{id};
  if (store_.sym().kind(e) == sym::Kind::Symbol) {
    if (Scalar data = store_.binding(e); data.valid()) out.push_back(key_of(data));
    return;
  }
  for (sym::Expr o : sym::written_operands(store_.sym(), e)) out.push_back(o.id);
}

void ScalarTexts::operands(const ScalarNode& n, std::vector<Key>& out) const {
  if (n.kind == ScalarKind::Index) out.push_back(n.index.id);
  for (sym::Expr c : n.coords) {
    if (n.kind == ScalarKind::Reduce) out.push_back(store_.sym().index_extent(c).id);
    out.push_back(c.id);
  }
  for (Scalar s : n.operands) out.push_back(key_of(s));
}

Piece ScalarTexts::write(Key key, const SharedText::Operand& operand) const {
  const auto id = static_cast<uint32_t>(key);
  if (key & kScalar) return write(store_.node({id}), operand);
  const sym::Expr e{id};
  if (store_.sym().kind(e) == sym::Kind::Symbol) {
    if (Scalar data = store_.binding(e); data.valid()) return {"{" + operand(key_of(data)).text + "}", kTight};
    if (auto index = store_.bound_index(e)) return {index_name(*index), kTight};
  }
  return sym::write(store_.sym(), e, operand);
}

Piece ScalarTexts::write(const ScalarNode& n, const SharedText::Operand& operand) const {
  auto of = [&](size_t i) -> const Piece& { return operand(key_of(n.operands[i])); };
  switch (n.kind) {
    case ScalarKind::ConstF:
      return {fmt::format("{}", n.f), kTight};
    case ScalarKind::ConstI:
      return {n.dtype == DType::Bool ? (n.i ? "true" : "false") : fmt::format("{}", n.i), kTight};
    case ScalarKind::Index: {
      const std::string& text = operand(n.index.id).text;
      if (n.dtype == DType::Bool) return {"(" + text + ")", kTight};
      return {fmt::format("index<{}>({})", dlcb::name_of(n.dtype), text), kTight};
    }
    case ScalarKind::Load:
      return {fmt::format("{}[{}]", name_of_(n.value), coordinates(n, operand)), kTight};
    case ScalarKind::Unary:
      if (n.fn == Fn::Neg) return {"-" + atom(of(0)), kLoose};
      return {fmt::format("{}({})", name_of(n.fn), of(0).text), kTight};
    case ScalarKind::Binary:
      return write_binary(n, operand);
    case ScalarKind::Select:
      return {fmt::format("select({}, {}, {})", of(0).text, of(1).text, of(2).text), kTight};
    case ScalarKind::Cast:
      return {fmt::format("cast<{}>({})", dlcb::name_of(n.dtype), of(0).text), kTight};
    case ScalarKind::Reduce:
      return write_reduce(n, operand);
  }
  DLCB_CHECK(false, "unknown scalar kind");
}

Piece ScalarTexts::write_binary(const ScalarNode& n, const SharedText::Operand& operand) const {
  const Piece &a = operand(key_of(n.operands[0])), &b = operand(key_of(n.operands[1]));
  const std::string_view op = infix(n.fn);
  if (op.empty()) return {fmt::format("{}({}, {})", name_of(n.fn), a.text, b.text), kTight};
  return {fmt::format("{} {} {}", atom(a), op, atom(b)), kLoose};
}

Piece ScalarTexts::write_reduce(const ScalarNode& n, const SharedText::Operand& operand) const {
  std::string indices;
  for (sym::Expr i : n.coords)
    indices += fmt::format("{}{} < {}", indices.empty() ? "" : ", ", operand(i.id).text,
                           operand(store_.sym().index_extent(i).id).text);
  return {fmt::format("{}[{}]({})", name_of(n.reduce), indices, operand(key_of(n.operands[0])).text), kTight};
}

std::string print(const ScalarStore& store, Scalar s, const std::function<std::string(ValueId)>& name_of) {
  ScalarTexts texts(store, name_of);
  texts.text(s);
  texts.close();
  return texts.text(s) + texts.where();
}

}  // namespace dlcb::ops
