// Recursive descent over the index notation. Precedence: comparisons, then + -, then * / // %, then unary minus. The
// body of a reduction is one product: sum[k] a * b + c is (sum[k] a * b) + c.
#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

#include "base/diagnostic.h"
#include "ops/notation.h"

namespace dlcb::ops::notation {
namespace {

bool letter_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool letter_part(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Rule rule() {
    expect("out");
    expect("[");
    rule_.out = axes();
    expect("=");
    rule_.body = comparison();
    if (accept("where")) {
      do rule_.clauses.push_back(clause());
      while (accept(";"));
    }
    skip();
    DLCB_CHECK(at_ == text_.size(), here("end of text expected"));
    return std::move(rule_);
  }

 private:
  std::string here(std::string_view what) const {
    return std::string(what) + " at '" + std::string(text_.substr(at_, 20)) + "' in: " + std::string(text_);
  }
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool peek(std::string_view token) {
    skip();
    if (!text_.substr(at_).starts_with(token)) return false;
    const size_t end = at_ + token.size();
    return !letter_part(token.back()) || end == text_.size() || !letter_part(text_[end]);
  }
  bool accept(std::string_view token) {
    if (!peek(token)) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token) { DLCB_CHECK(accept(token), here("'" + std::string(token) + "' expected")); }
  std::string name() {
    skip();
    DLCB_CHECK(at_ < text_.size() && letter_start(text_[at_]), here("name expected"));
    const size_t start = at_;
    while (at_ < text_.size() && letter_part(text_[at_])) ++at_;
    return std::string(text_.substr(start, at_ - start));
  }
  static void add(std::vector<std::string>& set, const std::string& name) {
    if (std::find(set.begin(), set.end(), name) == set.end()) set.push_back(name);
  }

  // After '[', up to and including ']' or before '|'.
  std::vector<Axis> axes() {
    std::vector<Axis> out;
    if (accept("]")) return out;
    do out.push_back(axis());
    while (accept(","));
    if (!peek("|")) expect("]");
    return out;
  }

  Axis axis() {
    Axis a;
    skip();
    const size_t start = at_;
    if (at_ < text_.size() && letter_start(text_[at_])) {
      a.expr.kind = Node::Name;
      a.expr.text = name();
      a.broadcast = accept("?");
      a.group = accept("..");
      a.plain = peek(",") || peek("]") || peek("|");
      if (a.plain) {
        add(rule_.letters, a.expr.text);
        if (a.group) add(rule_.groups, a.expr.text);
        return a;
      }
      at_ = start;
      a = Axis{};
    }
    a.expr = additive();
    return a;
  }

  Clause clause() {
    Clause c;
    if (accept("require")) {
      c.kind = Clause::Require;
      c.expr = comparison();
      expect("\"");
      const size_t end = text_.find('"', at_);
      DLCB_CHECK(end != std::string_view::npos, here("closing quote expected"));
      c.name = text_.substr(at_, end - at_);
      at_ = end + 1;
    } else if (accept("rank")) {
      c.kind = Clause::Rank;
      c.name = name();
      expect("=");
      c.expr = additive();
    } else {
      c.name = name();
      if (accept("is")) {
        c.kind = Clause::Pattern;
        expect("[");
        c.axes = axes();
      } else {
        expect("=");
        c.expr = additive();
      }
    }
    return c;
  }

  static Node infix(std::string op, Node a, Node b) {
    Node n;
    n.kind = Node::Infix;
    n.text = std::move(op);
    n.args.push_back(std::move(a));
    n.args.push_back(std::move(b));
    return n;
  }

  Node comparison() {
    Node left = additive();
    for (const char* op : {"==", "!=", "<=", ">=", "<", ">"})
      if (accept(op)) return infix(op, std::move(left), additive());
    return left;
  }
  Node additive() {
    Node left = multiplicative();
    for (;;) {
      if (accept("+"))
        left = infix("+", std::move(left), multiplicative());
      else if (accept("-"))
        left = infix("-", std::move(left), multiplicative());
      else
        return left;
    }
  }
  Node multiplicative() {
    Node left = unary();
    for (;;) {
      const char* op = accept("//") ? "//" : accept("*") ? "*" : accept("/") ? "/" : accept("%") ? "%" : nullptr;
      if (!op) return left;
      left = infix(op, std::move(left), unary());
    }
  }
  Node unary() {
    if (!accept("-")) return primary();
    Node zero;
    return infix("neg", std::move(zero), unary());
  }

  Node primary() {
    skip();
    Node n;
    if (accept("(")) {
      n = comparison();
      expect(")");
      return n;
    }
    if (accept("#")) {
      n.kind = Node::Extent;
      n.text = name();
      return n;
    }
    if (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) {
      const size_t start = at_;
      while (at_ < text_.size() && (std::isdigit(static_cast<unsigned char>(text_[at_])) ||
                                    (text_[at_] == '.' && !text_.substr(at_).starts_with(".."))))
        ++at_;
      n.number = std::stod(std::string(text_.substr(start, at_ - start)));
      return n;
    }
    n.text = name();
    if (accept("(")) return call(std::move(n));
    if (accept("[")) return indexed(std::move(n));
    n.kind = Node::Name;
    return n;
  }

  Node call(Node n) {
    n.kind = Node::Call;
    if (accept(")")) return n;
    do n.args.push_back(comparison());
    while (accept(","));
    expect(")");
    return n;
  }

  Node indexed(Node n) {
    n.axes = axes();
    if (n.text == "sum" || n.text == "prod" || n.text == "min" || n.text == "max") {
      n.kind = Node::Reduce;
      n.args.push_back(multiplicative());
      return n;
    }
    n.kind = Node::Load;
    if (accept("|")) {
      n.args.push_back(comparison());
      expect("]");
    }
    return n;
  }

  std::string_view text_;
  size_t at_ = 0;
  Rule rule_;
};

}  // namespace

Rule parse(std::string_view text) { return Parser(text).rule(); }

const Rule& parsed(std::string_view text) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<Rule>, std::less<>> rules;
  const std::lock_guard lock(mutex);
  auto at = rules.find(text);
  if (at == rules.end()) at = rules.emplace(std::string(text), std::make_unique<Rule>(parse(text))).first;
  return *at->second;
}

}  // namespace dlcb::ops::notation
