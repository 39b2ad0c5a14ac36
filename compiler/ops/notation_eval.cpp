// Evaluation of the index notation once lengths and extents are known (notation_layout.cpp). Values during evaluation
// are numbers (which take the type of what they meet), integer expressions, or elements.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "ops/arithmetic.h"
#include "ops/notation_layout.h"

namespace dlcb::ops {
namespace {

using notation::Axis;
using notation::kNoGroup;
using notation::Node;
using notation::Rule;
using sym::Expr;

// A whole number in a text may be an integer or a real; what comes from an attribute that is declared float is real
// whatever its value, so that alpha / size means the same for 1.0 as for 0.5.
struct Value {
  enum Kind : uint8_t { Number, Integer, Element } kind = Number;
  double number = 0;
  Expr integer;
  Scalar element;
  bool real = false;  // of a number
};
Value number(double v) { return {Value::Number, v, {}, {}, std::floor(v) != v}; }
Value real_number(double v) { return {Value::Number, v, {}, {}, true}; }
Value integer(Expr e) { return {Value::Integer, 0, e, {}, false}; }
Value element(Scalar s) { return {Value::Element, 0, {}, s, false}; }

class Instance final : public notation::Layout {
 public:
  using Layout::Layout;

  Status run() {
    collect_patterns();
    DLCB_TRY(solve_lengths());
    DLCB_TRY(solve_extents());
    std::vector<Expr> dims, index;
    for (const Axis& a : rule_.out) {
      const auto& extents = extents_.at(a.expr.text);
      auto& symbols = index_[a.expr.text];
      for (size_t j = 0; j < extents.size(); ++j) {
        symbols.push_back(sym_.index(a.group ? a.expr.text + std::to_string(j) : a.expr.text, extents[j]));
        dims.push_back(extents[j]);
        index.push_back(symbols.back());
      }
    }
    DLCB_ASSIGN(Value body, eval(rule_.body, kNoGroup));
    if (body.kind != Value::Element && !ctx_.operands.empty())  // the branches that load were folded away
      body = element(to_element(body, ctx_.operands[0].dtype));
    DLCB_CHECK(body.kind == Value::Element, "the body of " + std::string(ctx_.op.name) + " has no type");
    ctx_.output(ctx_.scalars.dtype(body.element), std::move(dims), std::move(index), body.element);
    return ok();
  }

 private:
  // ---- evaluation ----
  Result<Expr> eval_integer(const Node& n, int j) override {
    DLCB_ASSIGN(Value v, eval(n, j));
    return to_integer(v);
  }
  Expr to_integer(const Value& v) {
    if (v.kind == Value::Integer) return v.integer;
    DLCB_CHECK(v.kind == Value::Number && std::floor(v.number) == v.number,
               "an integer is needed in " + std::string(ctx_.op.name));
    return ctx_.constant(static_cast<int64_t>(v.number));
  }
  Scalar to_element(const Value& v, DType t) {
    if (v.kind == Value::Element) return v.element;
    if (v.kind == Value::Number) return ctx_.scalars.constant(t, v.number);
    if (is_float(t)) return ctx_.scalars.cast(t, ctx_.scalars.index(DType::I64, v.integer));
    return ctx_.scalars.index(t, v.integer);
  }
  Scalar condition(const Value& v) {
    return v.kind == Value::Element ? v.element : ctx_.scalars.index(DType::Bool, to_integer(v));
  }

  Result<Value> eval(const Node& n, int j) {
    switch (n.kind) {
      case Node::Number:
        return number(n.number);
      case Node::Name:
        return name(n.text, j);
      case Node::Extent: {
        const auto& extents = extents_.at(n.text);
        return integer(is_group(n.text) ? extents.at(j) : extents.at(0));
      }
      case Node::Load:
        return load(n, j);
      case Node::Call:
        return call(n, j);
      case Node::Infix:
        return infix(n, j);
      case Node::Reduce:
        return reduce(n);
    }
    DLCB_CHECK(false, "unknown node");
  }

  Result<Value> name(const std::string& text, int j) {
    if (auto at = index_.find(text); at != index_.end()) return integer(at->second.at(is_group(text) ? j : 0));
    if (text == "inf") return real_number(std::numeric_limits<double>::infinity());
    const AttrValue* v = attrs_.find(text);
    if (!v) return fallback(text);
    if (const auto* i = std::get_if<int64_t>(v)) {
      constexpr int64_t kExact = int64_t{1} << 53;  // larger integers stay integers: a double would round them
      if (declared_float(text) && -kExact < *i && *i < kExact) return real_number(static_cast<double>(*i));
      return integer(ctx_.constant(*i));
    }
    if (const auto* d = std::get_if<double>(v)) return real_number(*d);
    size_t size = 0;
    if (const auto* ints = std::get_if<std::vector<int64_t>>(v)) {
      if (size = ints->size(); at_position(j, size)) return integer(ctx_.constant((*ints)[std::max(j, 0)]));
    } else if (const auto* exprs = std::get_if<std::vector<Expr>>(v)) {
      if (size = exprs->size(); at_position(j, size)) return integer((*exprs)[std::max(j, 0)]);
    } else {
      DLCB_CHECK(false, "attribute '" + text + "' is not a number");
    }
    return ctx_.fail(DiagKind::BadAttribute,
                     {text, "has " + std::to_string(size) + " elements, which do not fit the operand's rank"});
  }
  bool at_position(int j, size_t size) const { return size == (j == kNoGroup ? 1 : static_cast<size_t>(positions_)); }

  bool declared_float(const std::string& attr) const {
    return std::any_of(ctx_.op.attrs.begin(), ctx_.op.attrs.end(),
                       [&](const AttrSpec& s) { return s.name == attr && s.type.starts_with("float"); });
  }
  Result<Value> fallback(const std::string& text) {
    for (const AttrSpec& spec : ctx_.op.attrs)
      if (spec.name == text) {
        DLCB_CHECK(!spec.fallback.empty(), "attribute '" + text + "' has no fallback");
        const double v = std::stod(std::string(spec.fallback));
        return spec.type.starts_with("float") ? real_number(v) : integer(ctx_.constant(static_cast<int64_t>(v)));
      }
    DLCB_CHECK(false, "unknown name '" + text + "' in " + std::string(ctx_.op.name));
  }

  Result<Value> load(const Node& n, int) {
    const int operand = ctx_.position(n.text);
    DLCB_CHECK(operand >= 0, "absent operand loaded: " + n.text);
    int flexible = ctx_.rank(operand);
    for (const Axis& a : n.axes)
      if (!(a.broadcast && a.group)) flexible -= length_of(a);
    std::vector<Expr> coords;
    for (const Axis& a : n.axes) {
      std::vector<std::string> groups;
      groups_of(a.expr, groups);
      const int full = groups.empty() ? 1 : length_.at(groups[0]);
      const int here = a.broadcast && a.group ? flexible : full;
      for (int j = full - here; j < full; ++j) {
        positions_ = full;  // a load inside a coordinate sets its own
        DLCB_ASSIGN(Expr c, coordinate(a, groups.empty() ? kNoGroup : j, operand, coords.size()));
        coords.push_back(c);
      }
    }
    if (n.args.empty()) return element(ctx_.load(operand, std::move(coords)));
    DLCB_ASSIGN(Value outside, eval(n.args[0], kNoGroup));
    return element(ctx_.load_or(operand, std::move(coords), to_element(outside, ctx_.operands[operand].dtype)));
  }

  Result<Expr> coordinate(const Axis& a, int j, int operand, size_t axis) {
    const Expr dim = ctx_.dims(operand)[axis];
    if (a.expr.kind == Node::Load) {
      DLCB_ASSIGN(Value v, eval(a.expr, kNoGroup));
      if (is_float(ctx_.scalars.dtype(v.element)))
        return ctx_.fail(DiagKind::UnsupportedType, {"float (as an index)"}, ctx_.position(a.expr.text));
      ctx_.require_gatherable(dim, ctx_.dims(ctx_.position(a.expr.text)), operand, static_cast<int>(axis));
      return ctx_.gathered(v.element, dim);
    }
    DLCB_ASSIGN(Expr e, eval_integer(a.expr, j));
    if (a.broadcast) return ctx_.broadcast_coordinate(e, dim, extents_.at(a.expr.text).at(std::max(j, 0)));
    return e;
  }

  Result<Value> reduce(const Node& n) {
    std::vector<Expr> symbols;
    for (const Axis& a : n.axes) {
      const auto& extents = extents_.at(a.expr.text);
      auto& own = index_[a.expr.text];
      own.clear();
      for (Expr extent : extents) own.push_back(sym_.index("k", extent));
      symbols.insert(symbols.end(), own.begin(), own.end());
    }
    DLCB_ASSIGN(Value body, eval(n.args[0], kNoGroup));
    if (body.kind != Value::Element && !ctx_.operands.empty())  // what it loads was folded away
      body = element(to_element(body, ctx_.operands[0].dtype));
    DLCB_CHECK(body.kind == Value::Element, "a reduction needs elements");
    const ReduceFn fn = n.text == "sum"    ? ReduceFn::Sum
                        : n.text == "prod" ? ReduceFn::Prod
                        : n.text == "min"  ? ReduceFn::Min
                                           : ReduceFn::Max;
    for (const Axis& a : n.axes) index_.erase(a.expr.text);
    return element(ctx_.scalars.reduce(fn, std::move(symbols), body.element));
  }

  Result<Value> infix(const Node& n, int j) {
    DLCB_ASSIGN(Value a, eval(n.args[0], j));
    DLCB_ASSIGN(Value b, eval(n.args[1], j));
    if (a.kind == Value::Element || b.kind == Value::Element) return infix_elements(n.text, a, b);
    const bool real = a.real || b.real;
    if (a.kind == Value::Number && b.kind == Value::Number) return infix_numbers(n.text, a.number, b.number, real);
    if (auto numbers = as_numbers(a, b)) return infix_numbers(n.text, numbers->first, numbers->second, real);
    const Expr x = to_integer(a), y = to_integer(b);
    if (n.text == "+") return integer(sym_.add(x, y));
    if (n.text == "-") return integer(sym_.sub(x, y));
    if (n.text == "neg") return integer(sym_.neg(y));
    if (n.text == "*") return integer(sym_.mul(x, y));
    if (n.text == "//") return integer(sym_.floordiv(x, y));
    if (n.text == "%") return integer(sym_.mod(x, y));
    if (n.text == "==") return integer(sym_.eq(x, y));
    if (n.text == "!=") return integer(sym_.ne(x, y));
    if (n.text == "<") return integer(sym_.lt(x, y));
    if (n.text == "<=") return integer(sym_.le(x, y));
    if (n.text == ">") return integer(sym_.lt(y, x));
    if (n.text == ">=") return integer(sym_.le(y, x));
    DLCB_CHECK(false, "'" + n.text + "' is not for integers");
  }

  // A real number with an integer that is known makes a number (alpha / size).
  std::optional<std::pair<double, double>> as_numbers(const Value& a, const Value& b) const {
    auto value = [&](const Value& v) -> std::optional<double> {
      if (v.kind == Value::Number) return v.number;
      const auto c = sym_.as_const(v.integer);
      return c ? std::optional<double>(static_cast<double>(*c)) : std::nullopt;
    };
    const auto x = value(a), y = value(b);
    if (!x || !y || (!a.real && !b.real)) return std::nullopt;
    return std::pair{*x, *y};
  }

  static Result<Value> infix_numbers(const std::string& op, double a, double b, bool real) {
    const auto result = [real](double v) { return real ? real_number(v) : number(v); };
    if (op == "+") return result(a + b);
    if (op == "-") return result(a - b);
    if (op == "neg") return result(-b);
    if (op == "*") return result(a * b);
    if (op == "/") return real_number(a / b);
    DLCB_CHECK(false, "'" + op + "' of two numbers");
  }

  Result<Value> infix_elements(const std::string& op, Value a, Value b) {
    if (op == "neg") return unary(Fn::Neg, b.element);
    if (op == ">" || op == ">=") return binary(op == ">" ? Fn::Lt : Fn::Le, b, a);
    if (op == "+" && b.kind == Value::Number && b.number == 0) return a;  // `given(bias[m], 0)` of an absent bias
    const std::map<std::string_view, Fn> kFns = {{"+", Fn::Add}, {"-", Fn::Sub}, {"*", Fn::Mul},
                                                 {"/", Fn::Div}, {"%", Fn::Mod}, {"==", Fn::Eq},
                                                 {"!=", Fn::Ne}, {"<", Fn::Lt},  {"<=", Fn::Le}};
    auto at = kFns.find(op);
    DLCB_CHECK(at != kFns.end(), "'" + op + "' is not for elements");
    return binary(at->second, a, b);
  }

  Diagnostic type_error(Fn fn, DType t) const {
    return ctx_.fail(DiagKind::UnsupportedType, {std::string(dlcb::name_of(t)) + " (" + std::string(name_of(fn)) +
                                                 " in " + std::string(ctx_.op.name) + ")"});
  }
  Result<Value> unary(Fn fn, Scalar a) {
    if (!accepts(fn, ctx_.scalars.dtype(a))) return type_error(fn, ctx_.scalars.dtype(a));
    return element(ctx_.scalars.unary(fn, a));
  }
  Result<Value> binary(Fn fn, const Value& a, const Value& b) {
    const DType t = ctx_.scalars.dtype(a.kind == Value::Element ? a.element : b.element);
    const Scalar x = to_element(a, t), y = to_element(b, t);
    if (ctx_.scalars.dtype(y) != t)
      return ctx_.fail(DiagKind::UnsupportedType,
                       {std::string(dlcb::name_of(t)) + " with " + std::string(dlcb::name_of(ctx_.scalars.dtype(y)))});
    if (!accepts(fn, t)) return type_error(fn, t);
    return element(ctx_.scalars.binary(fn, x, y));
  }

  Result<Value> call(const Node& n, int j) {
    if (n.text == "select") return select(n, j);
    if (n.text == "given")  // (load, otherwise): the load if its operand is present
      return eval(n.args[ctx_.has(n.args[0].text) ? 0 : 1], j);
    if (n.text == "cast") return cast(n, j);
    if (n.text == "all" || n.text == "product") {  // over the positions of the groups named inside
      std::vector<std::string> groups;
      groups_of(n.args[0], groups);
      Expr out = ctx_.constant(1);
      positions_ = length_.at(groups.at(0));
      for (int p = 0; p < positions_; ++p) {
        DLCB_ASSIGN(Expr e, eval_integer(n.args[0], p));
        out = n.text == "all" ? sym_.logical_and(out, e) : sym_.mul(out, e);
      }
      return integer(out);
    }
    std::vector<Value> args;
    for (const Node& a : n.args) {
      DLCB_ASSIGN(Value v, eval(a, j));
      args.push_back(v);
    }
    const bool elements =
        std::any_of(args.begin(), args.end(), [](const Value& v) { return v.kind == Value::Element; });
    if (!elements) return integer_call(n.text, args);
    for (int f = 0; f <= static_cast<int>(Fn::Shr); ++f) {
      const Fn fn = static_cast<Fn>(f);
      if (name_of(fn) != n.text) continue;
      DLCB_CHECK(args.size() == (is_unary(fn) ? 1 : 2), n.text + " has a wrong number of arguments");
      return is_unary(fn) ? unary(fn, args[0].element) : binary(fn, args[0], args[1]);
    }
    DLCB_CHECK(false, "unknown function " + n.text);
  }

  Result<Value> integer_call(const std::string& fn, const std::vector<Value>& args) {
    DLCB_CHECK(!args.empty(), fn + " needs arguments");
    const Expr a = to_integer(args[0]);
    if (fn == "not") return integer(sym_.logical_not(a));
    DLCB_CHECK(args.size() == 2, fn + " needs two arguments");
    const Expr b = to_integer(args[1]);
    if (fn == "min") return integer(sym_.min(a, b));
    if (fn == "max") return integer(sym_.max(a, b));
    if (fn == "and") return integer(sym_.logical_and(a, b));
    if (fn == "or") return integer(sym_.logical_or(a, b));
    if (fn == "ceildiv") return integer(sym_.ceildiv(a, b));
    DLCB_CHECK(false, "unknown integer function " + fn);
  }

  Result<Value> select(const Node& n, int j) {
    DLCB_ASSIGN(Value c, eval(n.args[0], j));
    if (c.kind != Value::Element)
      if (auto known = sym_.as_const(to_integer(c))) return eval(n.args[*known ? 1 : 2], j);
    DLCB_ASSIGN(Value a, eval(n.args[1], j));
    DLCB_ASSIGN(Value b, eval(n.args[2], j));
    if (c.kind != Value::Element && a.kind != Value::Element && b.kind != Value::Element)
      return integer(sym_.select(to_integer(c), to_integer(a), to_integer(b)));
    const Scalar test = condition(c);
    if (ctx_.scalars.dtype(test) != DType::Bool)
      return ctx_.fail(DiagKind::UnsupportedType, {"a condition that is not bool"});
    DLCB_CHECK(a.kind == Value::Element || b.kind == Value::Element, "select needs an element");
    const DType t = ctx_.scalars.dtype(a.kind == Value::Element ? a.element : b.element);
    const Scalar x = to_element(a, t), y = to_element(b, t);
    if (ctx_.scalars.dtype(y) != t)
      return ctx_.fail(DiagKind::UnsupportedType,
                       {std::string(dlcb::name_of(t)) + " with " + std::string(dlcb::name_of(ctx_.scalars.dtype(y)))});
    return element(ctx_.scalars.select(test, x, y));
  }

  Result<Value> cast(const Node& n, int j) {
    const std::string& type = n.args.at(1).text;
    auto t = parse_dtype(type);
    if (!t) t = attrs_.dtype(type);
    DLCB_ASSIGN(Value v, eval(n.args[0], j));
    return element(v.kind == Value::Element ? ctx_.scalars.cast(*t, v.element) : to_element(v, *t));
  }

  std::map<std::string, std::vector<Expr>> index_;  // of output letters, and of reduction letters while inside
};

}  // namespace

Status instantiate(DefineContext& ctx, std::string_view text, const Attrs& attrs) {
  return Instance(ctx, notation::parsed(text), attrs).run();
}

}  // namespace dlcb::ops
