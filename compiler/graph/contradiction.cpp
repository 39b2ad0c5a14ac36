#include "graph/contradiction.h"

#include <algorithm>

#include "base/text.h"
#include "graph/text.h"

namespace dlcb::graph {
namespace {

constexpr size_t kMaxNotes = 12;

void collect_symbols(const sym::Store& store, sym::Expr e, std::vector<sym::Expr>& into) {
  for (sym::Expr s : store.symbols(e))
    if (std::find(into.begin(), into.end(), s) == into.end()) into.push_back(s);
}

bool mentions(const sym::Store& store, sym::Expr e, std::span<const sym::Expr> symbols) {
  for (sym::Expr s : symbols)
    if (store.contains(e, s)) return true;
  return false;
}

std::string describe_operand(const Graph& g, size_t index, ValueId v) {
  const Value& value = g.value(v);
  return "operand " + std::to_string(index) + " " + quote(value.name) + " is " +
         type_text(g.sym(), value.dtype, value.dims);
}

Note operand_note(const Graph& g, size_t index, ValueId v) {
  const Value& value = g.value(v);
  std::string text = describe_operand(g, index, v);
  if (value.constant) return {text + ", a constant of the model", {}};
  if (!value.producer.valid()) return {text + ", an input of the model", {}};
  return {text + ", made here", location(g, g.node(value.producer).origins)};
}

}  // namespace

std::string type_text(const sym::Store& store, DType dtype, std::span<const sym::Expr> dims) {
  const sym::Outline outlined = sym::outline(store, dims);
  return std::string(name_of(dtype)) + "[" + join(outlined.texts, ", ") + "]" + outlined.where;
}

std::vector<Note> symbol_notes(const Graph& g, std::span<const sym::Expr> symbols) {
  std::vector<Note> notes;
  for (sym::Expr s : symbols) {
    std::string name = quote(g.sym().symbol_name(s));
    if (auto source = g.source(s)) {
      notes.push_back({name + " is dim " + std::to_string(source->axis) + " of input " +
                           quote(g.value(g.inputs[source->input]).name),
                       {}});
      continue;
    }
    for (const HostRead& read : g.host_reads)
      if (read.symbol == s)
        notes.push_back(
            {name + " is element " + std::to_string(read.element) + " of " + quote(g.value(read.value).name), {}});
  }
  return notes;
}

Diagnostic no_value_left(const Graph& g, sym::Expr symbol, std::string allowed, const Constraint& because) {
  std::string name(g.sym().symbol_name(symbol));
  std::vector<Note> notes = symbol_notes(g, std::span(&symbol, 1));
  if (!because.why.empty()) notes.push_back({because.why, {}});
  return diag(DiagKind::EmptyRange, {name + " in " + bounds_text(g.sym().bounds(symbol)), std::move(allowed)},
              location(g, because.origins), std::move(notes));
}

Diagnostic contradiction(const Graph& g, const ops::Requirement& r, std::string_view op,
                         std::span<const ValueId> operands, std::span<const Origin> origins) {
  std::vector<sym::Expr> symbols;
  collect_symbols(g.sym(), r.condition, symbols);
  std::vector<std::string> sides;
  std::vector<Note> notes;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].valid()) continue;
    for (sym::Expr dim : g.value(operands[i]).dims) collect_symbols(g.sym(), dim, symbols);
    sides.push_back(describe_operand(g, i, operands[i]));
    notes.push_back(operand_note(g, i, operands[i]));
  }
  std::string because = join(sides, " and ");
  if (!g.sym().as_const(r.condition))
    because = sym::outline(g.sym(), r.condition) + " cannot hold" + (because.empty() ? "" : ": ") + because;
  if (because.empty()) because = "that can never be";
  for (Note& note : symbol_notes(g, symbols)) notes.push_back(std::move(note));
  for (const Constraint& c : g.constraints) {
    if (notes.size() >= kMaxNotes) break;
    if (mentions(g.sym(), c.condition, symbols))
      notes.push_back({sym::outline(g.sym(), c.condition) + " is needed (" + c.why + ")", location(g, c.origins)});
  }
  std::string detail;
  if (r.operand >= 0) detail = "operand " + std::to_string(r.operand);
  if (r.axis >= 0) detail += (detail.empty() ? "axis " : ", axis ") + std::to_string(r.axis);
  Location where = location(g, origins, detail);
  if (where.op.empty()) where.op = op;
  for (const Range& range : g.ranges)
    if (std::find(symbols.begin(), symbols.end(), range.symbol) != symbols.end()) {
      std::string name = sym::outline(g.sym(), range.symbol) + " in " + bounds_text(range.bounds);
      return diag(DiagKind::EmptyRange, {std::move(name), r.why + ", but " + because}, std::move(where),
                  std::move(notes));
    }
  return diag(DiagKind::ShapeContradiction, {r.why, because}, std::move(where), std::move(notes));
}

}  // namespace dlcb::graph
