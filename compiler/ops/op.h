// An operator is declared once. From its definition follow output extents, shape requirements, the map from output to
// operand coordinates, the scalar body, the CPU reference, symbolic evaluation of shape tensors and kernels; none of
// these is stated anywhere else. The table is ops/table/*.cpp.
// docs/operators.md lists it.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ops/attrs.h"
#include "ops/scalar.h"
#include "sym/expr.h"

namespace dlcb::ops {

enum class OpKind : uint8_t {
  Define,   // one Scalar body per output over index symbols
  Expands,  // a graph of other operators, made by `expand`; kept whole until rewrite/expand so that patterns and
            // libraries can claim it
};

struct Operand {
  ValueId value;  // invalid when an optional operand is absent
  DType dtype = DType::F32;
  std::vector<sym::Expr> dims;
};

struct OutputDef {
  DType dtype;
  std::vector<sym::Expr> dims;
  std::vector<sym::Expr>
      index;    // one Index symbol per dim, extent = dim (symbols made by Store::index; unique to this definition)
  Scalar body;  // over `index`; invalid where the operator expands
};

// A shape condition that must hold. operand/axis: whom to blame (-1: nobody in particular).
struct Requirement {
  sym::Expr condition;
  std::string why;  // "dims must be equal or 1"; lower case, no full stop
  int operand = -1, axis = -1;
};

// An integer of a tensor that is used as a coordinate of a dim: in [-extent, extent), as data permits to tell.
struct DataIndex {
  Scalar integer;
  sym::Expr extent;
};

struct Definition {
  std::vector<OutputDef> outputs;
  std::vector<Requirement> requirements;
  std::vector<DataIndex> data_indices;
};

class DefineContext;  // ops/define.h: stores, facts, operands, attributes; helpers to build definitions
class GraphBuilder;   // ops/expand.h: emit(op, inputs, attrs) -> values, for `expand`

struct AttrSpec {
  std::string_view name;
  std::string_view type;  // "int", "float", "string", "dtype", "ints", "floats", "exprs"; "?" at the end: optional
  std::string_view doc;
  std::string_view fallback =
      {};  // the value of an absent optional attribute, as text ("0.01", "tanh"); a list repeats it
};

struct OpDef {
  std::string_view name;  // "layer_norm"
  OpKind kind = OpKind::Define;
  std::string_view operands = {};  // "x, w, bias?" or "xs.." (one or more)
  std::vector<AttrSpec> attrs = {};
  std::string_view text = {};  // index notation (docs/notation.md), or empty when `build` says it
  Result<Definition> (*build)(DefineContext&) = nullptr;
  Result<std::vector<ValueId>> (*expand)(GraphBuilder&, std::span<const Operand>, const Attrs&) = nullptr;  // Expands
  std::string_view doc = {};  // one sentence with source (opset or paper)
};

// Every operator, sorted by name. Built on first use; thread-safe.
std::span<const OpDef> all_ops();
const OpDef* find_op(std::string_view name);  // nullptr if unknown
const OpDef& op(std::string_view name);       // must exist

// Instantiates an operator for given operands. Errors: wrong operand count, rank, type or attributes (located by the
// caller). Contradictory extents are no error here: the requirement that is disproved stays in the list, for the caller
// knows both origins. For Expands the definition is that of the expansion's extents only (bodies invalid).
Result<Definition> define(const OpDef& op, ScalarStore& scalars, const sym::Facts& facts,
                          std::span<const Operand> operands, const Attrs& attrs);

}  // namespace dlcb::ops
