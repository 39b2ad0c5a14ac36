// A graph under test with its stores, and short ways to fill it.
#pragma once
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "catch.h"
#include "graph/graph.h"

namespace dlcb::graph::testing {

struct Fixture {
  sym::Store s;
  ops::ScalarStore scalars{s};
  Graph g{s, scalars};

  sym::Expr expr(std::string_view text) {
    auto e = sym::parse(s, text, true);
    REQUIRE(e);
    return *e;
  }
  std::vector<sym::Expr> exprs(const std::vector<std::string>& texts) {
    std::vector<sym::Expr> list;
    for (const std::string& t : texts) list.push_back(expr(t));
    return list;
  }
  ValueId input(std::string name, DType dtype, const std::vector<std::string>& dims) {
    return g.add_input(std::move(name), dtype, exprs(dims));
  }
  template <class T>
  ValueId constant(std::string name, DType dtype, std::vector<int64_t> dims, std::vector<T> values) {
    auto bytes = std::make_shared<std::vector<std::byte>>(values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(bytes->data(), values.data(), bytes->size());
    return g.add_constant(std::move(name), dtype, std::move(dims), {std::span<const std::byte>(*bytes), bytes});
  }
  ValueId add(std::string_view op, std::vector<ValueId> inputs, ops::Attrs attrs = {}, std::string node = {}) {
    auto v = g.add1(op, std::move(inputs), std::move(attrs), {{std::string(op), node, ""}}, node);
    INFO((v ? "" : to_text(v.error())));
    REQUIRE(v);
    return *v;
  }
  Diagnostic refused(std::string_view op, std::vector<ValueId> inputs, ops::Attrs attrs = {}, std::string node = {}) {
    auto v = g.add1(op, std::move(inputs), std::move(attrs), {{std::string(op), node, ""}}, node);
    REQUIRE_FALSE(v);
    return v.error();
  }
  std::string dims(ValueId v) const { return texts(g.value(v).dims); }
  std::string texts(std::span<const sym::Expr> list) const {
    std::string text;
    for (sym::Expr e : list) text += (text.empty() ? "" : ", ") + sym::print(s, e);
    return text;
  }
};

}  // namespace dlcb::graph::testing
