#include "ops/cases.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <unordered_map>

#include "ops/expand.h"

namespace dlcb::ops::test {
namespace {

double number(const std::string& text) {
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf" || text == "-inf") return (text[0] == '-' ? -1 : 1) * std::numeric_limits<double>::infinity();
  return std::stod(text);
}

Tensor read_tensor(std::istringstream& in) {
  std::string word;
  in >> word;
  Tensor t;
  t.dtype = parse_dtype(word).value();
  while (in >> word && word != ":") t.dims.push_back(std::stoll(word));
  t = Tensor::zeros(t.dtype, t.dims);
  for (int64_t i = 0; in >> word; ++i)
    is_float(t.dtype) ? t.set_real(i, number(word)) : t.set_integer(i, std::stoll(word));
  return t;
}

void read_file(const std::string& path, std::vector<Case>& cases) {
  std::ifstream file(path);
  std::string line;
  Case c;
  while (std::getline(file, line)) {
    std::istringstream in(line);
    std::string key, word;
    in >> key;
    if (key == "case") {
      c = Case{};
      in >> c.name >> c.op;
    } else if (key == "attr") {
      in >> word;
      c.attrs.emplace_back(word, std::vector<std::string>{});
      while (in >> word) c.attrs.back().second.push_back(word);
    } else if (key == "in") {
      if (line == "in -")
        c.inputs.emplace_back();
      else
        c.inputs.emplace_back(read_tensor(in));
      c.literal.emplace_back(c.inputs.back() ? c.inputs.back()->dims.size() : 0, false);
    } else if (key == "literal") {
      size_t operand, axis;
      in >> operand;
      while (in >> axis) c.literal.at(operand).at(axis) = true;
    } else if (key == "out") {
      c.out = read_tensor(in);
    } else if (key == "tol") {
      in >> c.tolerance;
    } else if (key == "end") {
      cases.push_back(c);
    }
  }
}

// Everything a run needs: values by id and the symbols' numbers.
struct World {
  sym::Store store;
  ScalarStore scalars{store};
  sym::Facts facts{store};
  std::vector<Tensor> tensors;  // by ValueId
  std::unordered_map<uint32_t, int64_t> symbols;
  std::string why;

  ReferenceInputs inputs() {
    return {[this](ValueId v) -> std::optional<TensorView> { return TensorView(tensors.at(v.id)); },
            [this](sym::Expr e) -> std::optional<int64_t> {
              auto at = symbols.find(e.id);
              return at == symbols.end() ? std::nullopt : std::optional(at->second);
            }};
  }
  std::vector<sym::Expr> literal(const std::vector<int64_t>& dims) {
    std::vector<sym::Expr> out;
    for (int64_t d : dims) out.push_back(store.constant(d));
    return out;
  }
  ValueId add(Tensor t) {
    tensors.push_back(std::move(t));
    return {static_cast<uint32_t>(tensors.size() - 1)};
  }
  bool holds(const Definition& d) {
    for (const Requirement& r : d.requirements) {
      const auto v = store.evaluate(r.condition, inputs().symbol);
      if (!v || *v == 0) why = "requirement fails: " + sym::print(store, r.condition) + " (" + r.why + ")";
    }
    return why.empty();
  }
};

class EagerBuilder final : public GraphBuilder {
 public:
  explicit EagerBuilder(World& world) : w_(world) {}
  Result<std::vector<ValueId>> emit(std::string_view name, std::vector<ValueId> inputs, Attrs attrs) override {
    std::vector<Operand> operands;
    for (ValueId v : inputs) operands.push_back(v.valid() ? operand(v) : Operand{});
    const OpDef& def = op(name);
    if (def.kind == OpKind::Expands) return def.expand(*this, operands, attrs);
    DLCB_ASSIGN(Definition d, define(def, w_.scalars, w_.facts, operands, attrs));
    w_.holds(d);
    DLCB_ASSIGN(auto results, evaluate(w_.scalars, d, w_.inputs()));
    std::vector<ValueId> out;
    for (Tensor& t : results) out.push_back(w_.add(std::move(t)));
    return out;
  }
  Operand operand(ValueId v) const override {
    return {v, w_.tensors.at(v.id).dtype, w_.literal(w_.tensors.at(v.id).dims)};
  }
  sym::Store& sym() override { return w_.store; }
  const sym::Facts& facts() const override { return w_.facts; }
  Status require(sym::Expr condition, std::string why, int, int) override {
    if (!w_.store.is_const(condition, 1)) w_.why = why;
    return ok();
  }

 private:
  World& w_;
};

}  // namespace

std::vector<Case> read_cases() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator("ops/cases")) paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  std::vector<Case> cases;
  for (const std::string& path : paths) read_file(path, cases);
  return cases;
}

Attrs attrs_of(const Case& c, sym::Store& store) {
  Attrs attrs;
  for (const auto& [name, words] : c.attrs) {
    const std::string& type = words.at(0);
    std::vector<int64_t> integers;
    std::vector<double> reals;
    std::vector<sym::Expr> exprs;
    for (size_t i = 1; i < words.size(); ++i) {
      if (type == "ints") integers.push_back(std::stoll(words[i]));
      if (type == "floats") reals.push_back(std::stod(words[i]));
      if (type == "exprs") exprs.push_back(store.constant(std::stoll(words[i])));
    }
    if (type == "int") attrs.set(name, static_cast<int64_t>(std::stoll(words[1])));
    if (type == "float") attrs.set(name, std::stod(words[1]));
    if (type == "string") attrs.set(name, words[1]);
    if (type == "dtype") attrs.set(name, parse_dtype(words[1]).value());
    if (type == "ints") attrs.set(name, integers);
    if (type == "floats") attrs.set(name, reals);
    if (type == "exprs") attrs.set(name, exprs);
  }
  return attrs;
}

std::optional<Tensor> run(const Case& c, bool symbolic, std::string& why) {
  World w;
  std::vector<Operand> operands;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    if (!c.inputs[i]) {
      operands.emplace_back();
      continue;
    }
    Operand o{w.add(*c.inputs[i]), c.inputs[i]->dtype, w.literal(c.inputs[i]->dims)};
    for (size_t a = 0; symbolic && a < o.dims.size(); ++a) {
      if (c.literal[i][a]) continue;
      o.dims[a] = w.store.symbol("d" + std::to_string(i) + "_" + std::to_string(a), sym::SymbolKind::Dim);
      w.symbols[o.dims[a].id] = c.inputs[i]->dims[a];
    }
    operands.push_back(std::move(o));
  }
  const Attrs attrs = attrs_of(c, w.store);
  const OpDef& def = op(c.op);
  auto d = define(def, w.scalars, w.facts, operands, attrs);
  if (!d) {
    why = to_text(d.error());
    return std::nullopt;
  }
  w.holds(*d);
  Result<std::vector<Tensor>> results = std::vector<Tensor>{};
  if (def.kind == OpKind::Expands) {
    for (size_t a = 0; a < d->outputs[0].dims.size(); ++a)
      if (w.store.evaluate(d->outputs[0].dims[a], w.inputs().symbol) != c.out.dims.at(a))
        w.why = "the expansion's extents are wrong";
    EagerBuilder builder(w);
    for (Operand& o : operands)
      if (o.value.valid()) o = builder.operand(o.value);
    auto values = def.expand(builder, operands, attrs);
    if (values)
      results = std::vector<Tensor>{w.tensors.at((*values)[0].id)};
    else
      results = std::move(values.error());
  } else {
    results = evaluate(w.scalars, *d, w.inputs());
  }
  why = results ? w.why : to_text(results.error());
  if (!why.empty()) return std::nullopt;
  return std::move((*results)[0]);
}

}  // namespace dlcb::ops::test
