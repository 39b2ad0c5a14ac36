// Small pieces of the graph's text form that printer and parser share: names, quoted strings, numbers, bounds.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/dtype.h"
#include "graph/graph.h"

namespace dlcb::graph {

// May follow % without quotes: letters, digits and _ . / - (not empty).
bool is_plain_name(std::string_view name);
std::string value_name(std::string_view name);  // %conv1 or %"odd name"
std::string quoted(std::string_view text);      // "...", with \" \\ \n and \xHH
// Shortest decimal that reads back as the same double; always has a point, an exponent or letters (inf, nan).
std::string real_text(double value);
// One element of a constant; halves and non-finite floats are their bits in hexadecimal.
std::string element_text(DType dtype, std::span<const std::byte> bytes, int64_t i);
// Appends the element that `text` stands for; false if it is not a number of that type.
bool append_element(DType dtype, std::string_view text, std::vector<std::byte>& bytes);
std::string bounds_text(sym::Bounds bounds);                // "0..8", "0..", "..", inclusive
std::string origins_text(std::span<const Origin> origins);  // "" or ` from "Conv" "/conv1" "y", ...`

// For traces: what a node computes, without where it comes from; name and type of a value.
std::string statement(const Graph& g, NodeId n);
std::string declaration(const Graph& g, ValueId v);

}  // namespace dlcb::graph
