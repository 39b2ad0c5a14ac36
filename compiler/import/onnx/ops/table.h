// The ONNX operators that the importer translates, one row each.
#pragma once
#include <span>
#include <string_view>

namespace dlcb::importer::onnx {

class NodeContext;

struct OpRow {
  std::string_view name;
  void (*translate)(NodeContext&);  // nullptr: control flow, imported by the Importer itself
  std::string_view variant = {};    // which of the operators that share the function: mostly the core operator's name
};

std::span<const OpRow> all_rows();                // sorted by name
const OpRow* find_row(std::string_view op_type);  // nullptr if unknown

}  // namespace dlcb::importer::onnx
