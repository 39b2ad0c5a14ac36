// How an operator of kind Expands is turned into a graph of others. The same expansion serves two builders: graph/ adds
// the nodes; define_expansion() only follows the extents.
#pragma once
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "ops/define.h"

namespace dlcb::ops {

class GraphBuilder {
 public:
  virtual ~GraphBuilder() = default;
  // Adds one operator; invalid ids stand for absent optional inputs.
  virtual Result<std::vector<ValueId>> emit(std::string_view op, std::vector<ValueId> inputs, Attrs attrs) = 0;
  virtual Operand operand(ValueId v) const = 0;
  virtual sym::Store& sym() = 0;
  virtual const sym::Facts& facts() const = 0;
  // A shape condition of the expanded operator itself; operand and axis as in Requirement.
  virtual Status require(sym::Expr condition, std::string why, int operand = -1, int axis = -1) = 0;

  Result<ValueId> emit1(std::string_view op, std::vector<ValueId> inputs, Attrs attrs = {}) {
    auto values = emit(op, std::move(inputs), std::move(attrs));
    if (!values) return std::move(values.error());
    return (*values)[0];
  }
};

// Outputs' types and extents and all requirements of an expansion; bodies are invalid.
Result<Definition> define_expansion(DefineContext& ctx);

}  // namespace dlcb::ops
