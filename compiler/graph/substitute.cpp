// Putting solved symbols' values in place of the symbols, everywhere in a graph at once.
#include "graph/graph.h"

namespace dlcb::graph {
namespace {

using Map = std::unordered_map<uint32_t, sym::Expr>;

void replace(sym::Store& store, const Map& map, sym::Expr& e) {
  if (e.valid()) e = store.substitute(e, map);
}

void replace(sym::Store& store, const Map& map, std::vector<sym::Expr>& list) {
  for (sym::Expr& e : list) replace(store, map, e);
}

void replace(sym::Store& store, const Map& map, ops::Attrs& attrs) {
  ops::Attrs changed;
  for (const auto& [name, value] : attrs.all()) {
    if (!std::holds_alternative<std::vector<sym::Expr>>(value)) continue;
    auto exprs = std::get<std::vector<sym::Expr>>(value);
    replace(store, map, exprs);
    changed.set(name, std::move(exprs));
  }
  for (const auto& [name, value] : changed.all()) attrs.set(name, value);
}

// Index symbols keep the extent they were made with, so a changed dim needs a fresh one in its body.
void replace(ops::ScalarStore& scalars, const Map& map, ops::OutputDef& out) {
  Map in_body = map;
  for (size_t i = 0; i < out.dims.size(); ++i) {
    sym::Expr dim = scalars.sym().substitute(out.dims[i], map);
    if (dim != out.dims[i] && i < out.index.size()) {
      sym::Expr old = out.index[i];
      out.index[i] = scalars.sym().index(scalars.sym().symbol_name(old), dim);
      in_body[old.id] = out.index[i];
    }
    out.dims[i] = dim;
  }
  if (out.body.valid()) out.body = scalars.substitute(out.body, in_body);
}

}  // namespace

void Graph::substitute(const Map& map) {
  if (map.empty()) return;
  for (Value& v : values_) {
    replace(*sym_, map, v.dims);
    if (v.elements) replace(*sym_, map, *v.elements);
    replace(*sym_, map, v.fits);
  }
  known_.clear();  // remade from constants and elements when asked for
  for (Node& n : nodes_) {
    if (!n.op) continue;
    replace(*sym_, map, n.attrs);
    replace(*sym_, map, n.predicate);
    for (ops::OutputDef& out : n.definition.outputs) replace(*scalars_, map, out);
    for (ops::Requirement& r : n.definition.requirements) replace(*sym_, map, r.condition);
  }
  for (Constraint& c : constraints) replace(*sym_, map, c.condition);
  for (Eliminated& e : eliminated) replace(*sym_, map, e.value);
}

}  // namespace dlcb::graph
