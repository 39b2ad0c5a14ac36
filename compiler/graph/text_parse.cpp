// Reads the text form back. Nodes go through Graph::add, so hand-written text may leave out types; where they are given
// they are kept as written, because what was known when a dim was first made may differ from what is known now.
#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "base/text.h"
#include "graph/cursor.h"
#include "graph/graph.h"
#include "graph/text.h"
#include "graph/under_predicate.h"

namespace dlcb::graph {
namespace {

struct Typed {
  std::string name;
  bool has_type = false;
  DType dtype = DType::F32;
  std::vector<sym::Expr> dims;
  std::vector<uint8_t> order;
};

class Parser {
 public:
  Parser(sym::Store& sym, ops::ScalarStore& scalars, const OpenWeights& open)
      : g_(sym, scalars), sym_(sym), open_(open) {}

  Result<Graph> run(std::string_view text) {
    bool opened = false, closed = false;
    for (const std::string& raw : split(text, '\n')) {
      ++line_;
      std::string_view line = trim(raw);
      if (line.empty() || line.starts_with("#")) continue;
      Cursor in(line);
      if (!opened) {
        DLCB_TRY(header(in));
        opened = true;
      } else if (closed) {
        in.fail("text after the end of the graph");
      } else if (line == "}") {
        closed = true;
        continue;
      } else {
        Status s = statement(in);
        if (!s) return std::move(s.error());
      }
      if (!in.failed() && !in.at_end()) in.fail("unexpected text at the end");
      if (in.failed()) return diag(DiagKind::MalformedModel, {"line " + std::to_string(line_) + ": " + in.error()});
    }
    if (!closed) return diag(DiagKind::MalformedModel, {"the graph's text ends early"});
    DLCB_TRY(check_symbols());
    for (auto& [constraint, name] : constraint_nodes_)
      if (auto it = values_.find(name); it != values_.end())
        g_.constraints[constraint].node = g_.value(it->second).producer;
    return std::move(g_);
  }

 private:
  Status header(Cursor& in) {
    in.expect("graph");
    if (in.peek("\"")) g_.file = in.string();
    if (in.accept("digest")) g_.digest = in.string();
    if (in.accept("weights")) {
      const std::string name = in.string();
      if (!in.failed() && open_) {
        DLCB_ASSIGN(weights_, open_(name));
      }
    }
    in.expect("{");
    return ok();
  }

  Status statement(Cursor& in) {
    if (in.accept("symbol")) return symbol(in), ok();
    if (in.accept("let")) return let(in), ok();
    if (in.accept("input")) return input(in), ok();
    if (in.accept("const")) return constant(in), ok();
    if (in.accept("range")) return range(in), ok();
    if (in.accept("eliminated")) return eliminated(in), ok();
    if (in.accept("require")) return constraint(in), ok();
    if (in.accept("read")) return read(in), ok();
    if (in.accept("output")) {
      std::string name = in.string();
      ValueId v = use(in);
      if (!in.failed()) g_.add_output(std::move(name), v);
      return ok();
    }
    return node(in);
  }

  sym::Expr expr(Cursor& in, std::string_view text) {
    auto e = sym::parse(sym_, text, false, lets_);
    if (e) {
      for (sym::Expr s : sym_.symbols(*e))
        if (seen_.insert(s.id).second) first_uses_.emplace_back(s, line_);
      return *e;
    }
    in.fail("'" + std::string(text) + "': " + message(e.error()));
    return sym_.constant(0);
  }

  std::vector<sym::Expr> exprs(Cursor& in, std::string_view text) {
    std::vector<sym::Expr> list;
    std::string wrapped = std::string(text) + ")";
    // Commas inside calls and names are not separators; a bracketed stretch per element finds the real ones.
    size_t start = 0;
    int depth = 0;
    char quote = 0;
    for (size_t i = 0; i < wrapped.size(); ++i) {
      char c = wrapped[i];
      if (quote) {
        if (c == '\\')
          ++i;
        else if (c == quote)
          quote = 0;
        continue;
      }
      if (c == '`') quote = c;
      if (c == '(') ++depth;
      bool last = i + 1 == wrapped.size();
      if ((c == ',' && depth == 0) || last) {
        std::string_view part = trim(std::string_view(wrapped).substr(start, i - start));
        if (!part.empty() || !last || !list.empty()) list.push_back(expr(in, part));
        start = i + 1;
      } else if (c == ')') {
        --depth;
      }
    }
    return list;
  }

  // A call knows the sizes of its inputs and the elements that are read from tensors, and nothing else.
  Status check_symbols() const {
    for (const auto& [symbol, line] : first_uses_) {
      const auto reads = [&](const HostRead& r) { return r.symbol == symbol; };
      if (g_.source(symbol) || std::any_of(g_.host_reads.begin(), g_.host_reads.end(), reads)) continue;
      return diag(DiagKind::MalformedModel,
                  {"line " + std::to_string(line) + ": nothing gives symbol '" + sym::print(sym_, symbol) +
                   "' a value: it is the size of no input's dim, and no element that is read"});
    }
    return ok();
  }

  sym::Expr symbol_use(Cursor& in) {
    std::string name = in.symbol();
    if (auto s = sym_.find_symbol(name)) return *s;
    in.fail("unknown symbol '" + name + "'");
    return sym_.constant(0);
  }

  sym::Bounds bounds(Cursor& in) {
    sym::Bounds b{sym::kMin, sym::kMax};
    if (!in.peek("..")) b.lo = in.integer();
    in.expect("..");
    if (!in.at_end()) b.hi = in.integer();
    return b;
  }

  void symbol(Cursor& in) {
    std::string name = in.symbol();
    std::string_view kind = in.word();
    sym::SymbolKind k = sym::SymbolKind::Dim;
    if (kind == "data")
      k = sym::SymbolKind::Data;
    else if (kind == "index")
      k = sym::SymbolKind::Index;
    else if (kind == "param")
      k = sym::SymbolKind::Param;
    else if (kind != "dim")
      in.fail("unknown kind of symbol '" + std::string(kind) + "'");
    sym::Bounds b = bounds(in);
    if (in.failed()) return;
    if (!sym_.find_symbol(name)) sym_.symbol(name, k, b);
  }

  void let(Cursor& in) {
    in.expect("$");
    std::string name = "$" + std::string(in.word());
    in.expect("=");
    const sym::Expr value = expr(in, in.until("\n"));
    if (!in.failed() && !lets_.emplace(std::move(name), value).second) in.fail("this name has been defined");
  }

  void range(Cursor& in) {
    sym::Expr s = symbol_use(in);
    in.expect("in");
    sym::Bounds b = bounds(in);
    if (!in.failed()) g_.ranges.push_back({s, b});
  }

  Typed typed(Cursor& in) {
    Typed t;
    t.name = in.value_name();
    if (!in.accept(":")) return t;
    t.has_type = true;
    std::string_view dtype = in.word();
    if (auto d = parse_dtype(dtype))
      t.dtype = *d;
    else
      in.fail("unknown element type '" + std::string(dtype) + "'");
    in.expect("[");
    t.dims = exprs(in, in.until_closing());
    if (t.dims.size() > kMaxRank) in.fail(rank_text(t.dims.size()));
    if (in.accept("order")) {
      in.expect("(");
      while (!in.failed() && !in.accept(")")) {
        const int64_t dim = in.integer();
        const bool fresh = std::find(t.order.begin(), t.order.end(), dim) == t.order.end();
        if (dim < 0 || dim >= std::ssize(t.dims) || !fresh) in.fail("an order names every dim once");
        t.order.push_back(static_cast<uint8_t>(dim));
        if (!in.peek(")")) in.expect(",");
      }
      if (t.order.size() != t.dims.size()) in.fail("an order names every dim once");
    }
    return t;
  }

  void define(Cursor& in, const std::string& name, ValueId v) {
    if (g_.value(v).name != name || !values_.emplace(name, v).second) in.fail("value '%" + name + "' is defined twice");
  }

  ValueId use(Cursor& in) {
    std::string name = in.value_name();
    auto it = values_.find(name);
    if (it != values_.end()) return it->second;
    in.fail("unknown value '%" + name + "'");
    return {};
  }

  void input(Cursor& in) {
    Typed t = typed(in);
    if (!t.has_type) in.fail("an input needs a type");
    if (in.failed()) return;
    ValueId v = g_.add_input(t.name, t.dtype, std::move(t.dims));
    g_.value(v).order = std::move(t.order);
    define(in, t.name, v);
  }

  void constant(Cursor& in) {
    Typed t = typed(in);
    in.expect("=");
    int64_t count = 1;
    std::vector<int64_t> dims;
    for (sym::Expr d : t.dims) {
      auto dim = sym_.as_const(d);
      if (!dim || *dim < 0 || (*dim > 0 && count > (int64_t{1} << 48) / *dim))
        return in.fail("a constant needs literal dims");
      dims.push_back(*dim);
      count *= *dim;
    }
    auto bytes = std::make_shared<std::vector<std::byte>>();
    Constant data;
    if (in.accept("at")) {
      int64_t offset = in.integer();
      int64_t size = count * static_cast<int64_t>(size_of(t.dtype));
      const auto held = static_cast<int64_t>(weights_.bytes.size());
      if (offset < 0 || size > held || offset > held - size) return in.fail("the weights do not hold this constant");
      data = {weights_.bytes.subspan(offset, size), weights_.owner};
    } else if (in.peek("digest")) {
      return in.fail("this text was printed without the constants' elements; --dump-dir writes text that has them");
    } else {
      in.expect("[");
      for (int64_t i = 0; i < count && !in.failed(); ++i) {
        if (i) in.expect(",");
        if (!append_element(t.dtype, in.number(), *bytes)) in.fail("not an element of this type");
      }
      in.expect("]");
      data = {std::span<const std::byte>(*bytes), bytes};
    }
    if (in.failed()) return;
    ValueId v = g_.add_constant(t.name, t.dtype, dims, std::move(data));
    g_.value(v).order = std::move(t.order);
    define(in, t.name, v);
  }

  void eliminated(Cursor& in) {
    Eliminated e;
    e.symbol = symbol_use(in);
    in.expect("=");
    e.value = expr(in, in.until("why "));
    in.expect("why");
    e.why = in.string();
    while (in.accept("at")) {
      ValueId v = use(in);
      auto input = std::find(g_.inputs.begin(), g_.inputs.end(), v) - g_.inputs.begin();
      in.expect("axis");
      e.sources.push_back({e.symbol, static_cast<int>(input), static_cast<int>(in.integer())});
      if (input == std::ssize(g_.inputs)) in.fail("a dim belongs to an input");
    }
    e.origins = origins(in);
    if (in.failed()) return;
    g_.facts().assume(sym_.eq(e.symbol, e.value));
    g_.eliminated.push_back(std::move(e));
  }

  void constraint(Cursor& in) {
    Constraint c;
    c.condition = expr(in, in.until("why "));
    in.expect("why");
    c.why = in.string();
    std::string node = in.accept("node") ? in.value_name() : "";
    if (in.accept("operand")) c.operand = static_cast<int>(in.integer());
    if (in.accept("axis")) c.axis = static_cast<int>(in.integer());
    c.origins = origins(in);
    if (in.failed()) return;
    if (!node.empty()) constraint_nodes_.emplace_back(g_.constraints.size(), node);
    g_.add_constraint(std::move(c));
  }

  void read(Cursor& in) {
    HostRead r;
    r.symbol = symbol_use(in);
    in.expect("=");
    r.value = use(in);
    in.expect("[");
    r.element = in.integer();
    in.expect("]");
    if (in.failed()) return;
    Value& v = g_.value(r.value);
    g_.host_reads.push_back(r);
    pending_[r.value.id].push_back(r.symbol);
    int64_t count = 1;
    for (sym::Expr d : v.dims) count *= sym_.as_const(d).value_or(0);
    if (static_cast<int64_t>(pending_[r.value.id].size()) == count) v.elements = pending_[r.value.id];
  }

  std::vector<Origin> origins(Cursor& in) {
    std::vector<Origin> list;
    if (!in.accept("from")) return list;
    do {
      Origin o;
      o.op = in.string();
      o.node = in.string();
      o.output = in.string();
      list.push_back(std::move(o));
    } while (!in.failed() && in.accept(","));
    return list;
  }

  ops::AttrValue attr(Cursor& in) {
    if (in.peek("\"")) return in.string();
    if (in.accept("(")) return exprs(in, in.until_closing());
    bool reals = in.accept("floats");
    if (in.accept("[")) {
      std::vector<double> real_list;
      std::vector<int64_t> list;
      while (!in.failed() && !in.accept("]")) {
        if (reals)
          real_list.push_back(real(in, in.number()));
        else
          list.push_back(in.integer());
        if (!in.peek("]")) in.expect(",");
      }
      if (reals) return real_list;
      return list;
    }
    std::string_view text = in.number();
    if (auto d = parse_dtype(text)) return *d;
    if (text.find_first_not_of("-0123456789") == std::string_view::npos) {
      Cursor digits(text);
      return digits.integer();
    }
    return real(in, text);
  }

  double real(Cursor& in, std::string_view text) {
    std::vector<std::byte> bytes;
    double value = 0;
    if (append_element(DType::F64, text, bytes))
      std::memcpy(&value, bytes.data(), sizeof value);
    else
      in.fail("'" + std::string(text) + "' is not a number");
    return value;
  }

  Status node(Cursor& in) {
    std::vector<Typed> outs;
    do outs.push_back(typed(in));
    while (!in.failed() && in.accept(","));
    in.expect("=");
    std::string_view op_name = in.word();
    std::vector<ValueId> operands;
    while (!in.failed() && (in.peek("%") || in.peek("_"))) {
      operands.push_back(in.accept("_") ? ValueId{} : use(in));
      if (!in.accept(",")) break;
    }
    ops::Attrs attrs;
    if (in.accept("{")) {
      while (!in.failed() && !in.accept("}")) {
        std::string key(in.word());
        in.expect("=");
        attrs.set(key, attr(in));
        if (!in.peek("}")) in.expect(",");
      }
    }
    std::vector<Origin> from = origins(in);
    sym::Expr predicate = in.accept("if") ? expr(in, in.until("\n")) : sym_.constant(1);
    const ops::OpDef* op = ops::find_op(op_name);
    if (!op) in.fail("unknown operator '" + std::string(op_name) + "'");
    if (in.failed()) return ok();
    return add(in, *op, std::move(operands), std::move(attrs), std::move(from), predicate, std::move(outs));
  }

  Status add(Cursor& in, const ops::OpDef& op, std::vector<ValueId> operands, ops::Attrs attrs,
             std::vector<Origin> from, sym::Expr predicate, std::vector<Typed> outs) {
    std::vector<std::string> names;
    for (const Typed& t : outs) names.push_back(t.name);
    auto made = [&] {
      const UnderPredicate branch(g_, predicate);
      return g_.add(op, std::move(operands), std::move(attrs), std::move(from), std::move(names));
    }();
    if (!made) return std::move(made.error());
    if (made->size() != outs.size())
      return in.fail("the operator has " + std::to_string(made->size()) + " outputs"), ok();
    for (size_t i = 0; i < outs.size(); ++i) {
      Value& v = g_.value(made->at(i));
      define(in, outs[i].name, made->at(i));
      if (!outs[i].has_type) continue;
      if (v.dtype != outs[i].dtype || v.dims.size() != outs[i].dims.size())
        in.fail("the type of '%" + v.name + "' does not fit the operator");
      v.dims = std::move(outs[i].dims);
      v.order = std::move(outs[i].order);
    }
    return ok();
  }

  Graph g_;
  sym::Store& sym_;
  const OpenWeights& open_;
  Constant weights_;  // all of them
  sym::Definitions lets_;
  size_t line_ = 0;
  std::unordered_set<uint32_t> seen_;
  std::vector<std::pair<sym::Expr, size_t>> first_uses_;  // of symbols in expressions, with their lines
  std::unordered_map<std::string, ValueId> values_;
  std::unordered_map<uint32_t, std::vector<sym::Expr>> pending_;
  std::vector<std::pair<size_t, std::string>> constraint_nodes_;
};

}  // namespace

Result<Graph> parse(sym::Store& sym, ops::ScalarStore& scalars, std::string_view text, const OpenWeights& open) {
  return Parser(sym, scalars, open).run(text);
}

}  // namespace dlcb::graph
