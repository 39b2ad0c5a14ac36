// The reader of the text form: recursive descent with Python's precedence.
#include <charconv>

#include "base/text.h"
#include "sym/expr.h"

namespace dlcb::sym {
namespace {

constexpr int kMaxDepth = 200;

class Parser {
 public:
  Parser(Store& store, std::string_view text, bool declare, const Definitions& known)
      : store_(store), text_(text), declare_(declare), known_(known) {}

  Result<Expr> whole() {
    DLCB_TRY(definitions());
    DLCB_ASSIGN(Expr e, disjunction());
    skip();
    if (at_ != text_.size()) return error("unexpected text");
    return e;
  }

 private:
  // "... where $2 = ...; $1 = ...": read from the last to the first, because users come before what they use.
  Status definitions() {
    const std::vector<size_t> parts = parts_after_where();
    const std::string_view all = text_;
    for (size_t i = parts.size(); i-- > 0;) {
      at_ = parts[i];
      text_ = all.substr(0, i + 1 < parts.size() ? parts[i + 1] - 1 : all.size());
      skip();
      const std::string name = defined_name();
      if (name.empty() || !accept("=")) return error("expected '$NAME ='");
      DLCB_ASSIGN(const Expr value, disjunction());
      skip();
      if (at_ != text_.size()) return error("unexpected text");
      if (!defined_.emplace(name, value).second) return error("'" + name + "' is defined twice");
    }
    text_ = parts.empty() ? all : all.substr(0, parts[0] - std::string_view("where").size());
    at_ = 0;
    return ok();
  }
  // Where each definition begins: behind "where" and behind each ';', neither of them in backquotes.
  std::vector<size_t> parts_after_where() {
    std::vector<size_t> parts;
    for (at_ = 0; at_ < text_.size();) {
      if (text_[at_] == '`') {
        for (++at_; at_ < text_.size() && text_[at_] != '`'; ++at_) at_ += text_[at_] == '\\';
        ++at_;
      } else if (const std::string_view w = word(); !w.empty()) {
        at_ += w.size();
        if (w == "where" && parts.empty()) parts.push_back(at_);
      } else if (text_[at_++] == ';' && !parts.empty()) {
        parts.push_back(at_);
      }
    }
    return parts;
  }
  // "$1"; empty if no such name is here.
  std::string defined_name() {
    if (at_ == text_.size() || text_[at_] != '$') return "";
    size_t end = at_ + 1;
    while (end < text_.size() && (letter(text_[end]) || digit(text_[end]))) end++;
    std::string name(text_.substr(at_, end - at_));
    at_ = end;
    return name;
  }
  Diagnostic error(std::string what) const {
    return diag(DiagKind::BadExpression, {std::string(text_), std::to_string(at_ + 1), std::move(what)});
  }
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) at_++;
  }
  static bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
  static bool digit(char c) { return c >= '0' && c <= '9'; }
  std::string_view word() const {
    size_t end = at_;
    if (end < text_.size() && letter(text_[end])) {
      while (end < text_.size() && (letter(text_[end]) || digit(text_[end]) || text_[end] == '.')) end++;
    }
    return text_.substr(at_, end - at_);
  }
  bool accept_word(std::string_view w) {
    skip();
    if (word() != w) return false;
    at_ += w.size();
    return true;
  }
  bool accept(std::string_view symbol) {
    skip();
    if (!text_.substr(at_).starts_with(symbol)) return false;
    at_ += symbol.size();
    return true;
  }

  Result<Expr> disjunction() {
    DLCB_ASSIGN(Expr e, conjunction());
    while (accept_word("or")) {
      DLCB_ASSIGN(Expr r, conjunction());
      e = store_.logical_or(e, r);
    }
    return e;
  }
  Result<Expr> conjunction() {
    DLCB_ASSIGN(Expr e, negation());
    while (accept_word("and")) {
      DLCB_ASSIGN(Expr r, negation());
      e = store_.logical_and(e, r);
    }
    return e;
  }
  Result<Expr> negation() {
    if (!accept_word("not")) return comparison();
    if (++depth_ > kMaxDepth) return error("nested too deeply");
    DLCB_ASSIGN(Expr e, negation());
    depth_--;
    return store_.logical_not(e);
  }
  Result<Expr> comparison() {
    DLCB_ASSIGN(Expr a, sum());
    for (std::string_view op : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (!accept(op)) continue;
      DLCB_ASSIGN(Expr b, sum());
      if (op == "==") return store_.eq(a, b);
      if (op == "!=") return store_.ne(a, b);
      if (op == "<=") return store_.le(a, b);
      if (op == ">=") return store_.le(b, a);
      return op == "<" ? store_.lt(a, b) : store_.lt(b, a);
    }
    return a;
  }
  Result<Expr> sum() {
    DLCB_ASSIGN(Expr first, term());
    std::vector<Expr> terms{first};
    while (true) {
      bool minus = false;
      if (!accept("+")) {
        if (!accept("-")) break;
        minus = true;
      }
      DLCB_ASSIGN(Expr r, term());
      terms.push_back(minus ? store_.neg(r) : r);
    }
    return terms.size() == 1 ? first : store_.add(terms);
  }
  Result<Expr> term() {
    DLCB_ASSIGN(Expr e, unary());
    while (true) {
      if (accept("//")) {
        DLCB_ASSIGN(Expr r, unary());
        e = store_.floordiv(e, r);
      } else if (accept("*")) {
        DLCB_ASSIGN(Expr r, unary());
        e = store_.mul(e, r);
      } else if (accept("%")) {
        DLCB_ASSIGN(Expr r, unary());
        e = store_.mod(e, r);
      } else {
        return e;
      }
    }
  }
  Result<Expr> unary() {
    if (accept("-")) {
      skip();
      if (at_ < text_.size() && digit(text_[at_])) return number(true);  // so that the smallest integer can be written
      if (++depth_ > kMaxDepth) return error("nested too deeply");
      DLCB_ASSIGN(Expr e, unary());
      depth_--;
      return store_.neg(e);
    }
    return atom();
  }
  Result<Expr> number(bool negative) {
    size_t end = at_;
    while (end < text_.size() && digit(text_[end])) end++;
    std::string digits = (negative ? "-" : "") + std::string(text_.substr(at_, end - at_));
    int64_t v = 0;
    auto r = std::from_chars(digits.data(), digits.data() + digits.size(), v);
    if (r.ec != std::errc{}) return error("the number does not fit 64 bits");
    at_ = end;
    return store_.constant(v);
  }
  Result<Expr> symbol(const std::string& name) {
    if (auto e = store_.find_symbol(name)) return *e;
    if (!declare_) return error("unknown name '" + name + "'");
    return store_.symbol(name, SymbolKind::Dim);
  }
  Result<Expr> quoted() {
    const size_t begin = at_ + 1;
    for (at_ = begin; at_ < text_.size(); at_++) {
      if (text_[at_] == '`') return symbol(unescaped(text_.substr(begin, at_++ - begin)));
      if (text_[at_] == '\\') at_++;
    }
    return error("the backquote is not closed");
  }
  Result<Expr> atom() {
    skip();
    if (at_ == text_.size()) return error("unexpected end");
    if (digit(text_[at_])) return number(false);
    if (text_[at_] == '`') return quoted();
    if (text_[at_] == '$') {
      const std::string name = defined_name();
      for (const Definitions* list : {&std::as_const(defined_), &known_})
        if (const auto found = list->find(name); found != list->end()) return found->second;
      return error("'" + name + "' is not defined");
    }
    if (accept("(")) {
      if (++depth_ > kMaxDepth) return error("nested too deeply");
      DLCB_ASSIGN(Expr e, disjunction());
      depth_--;
      if (!accept(")")) return error("expected ')'");
      return e;
    }
    std::string name(word());
    if (name.empty()) return error("expected an expression");
    at_ += name.size();
    for (std::string_view function : {"min", "max", "select", "floor_scale", "ceil_scale"}) {
      if (name == function && accept("(")) return call(name);
    }
    return symbol(name);
  }
  Result<Expr> scale(const std::string& name, Expr a) {
    skip();
    double scale = 0;
    auto r = std::from_chars(text_.data() + at_, text_.data() + text_.size(), scale);
    if (r.ec != std::errc{} || !(scale > -1e300 && scale < 1e300)) return error("expected a number");
    at_ = static_cast<size_t>(r.ptr - text_.data());
    if (!accept(")")) return error("expected ')'");
    return name == "floor_scale" ? store_.floor_scale(a, scale) : store_.ceil_scale(a, scale);
  }
  Result<Expr> call(const std::string& name) {
    if (++depth_ > kMaxDepth) return error("nested too deeply");
    std::vector<Expr> args;
    do {
      if (args.size() == 1 && name.ends_with("_scale")) {
        depth_--;
        return scale(name, args[0]);
      }
      DLCB_ASSIGN(Expr e, disjunction());
      args.push_back(e);
    } while (accept(","));
    if (!accept(")")) return error("expected ')'");
    depth_--;
    if (name == "select") {
      if (args.size() != 3) return error("select takes three operands");
      return store_.select(args[0], args[1], args[2]);
    }
    if (name.ends_with("_scale")) return error("expected a number");
    Expr e = args[0];
    for (size_t i = 1; i < args.size(); i++) e = name == "min" ? store_.min(e, args[i]) : store_.max(e, args[i]);
    return e;
  }

  Store& store_;
  std::string_view text_;
  bool declare_;
  const Definitions& known_;
  Definitions defined_;  // by this text itself
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<Expr> parse(Store& store, std::string_view text, bool declare_unknown, const Definitions& known) {
  return Parser(store, text, declare_unknown, known).whole();
}

}  // namespace dlcb::sym
