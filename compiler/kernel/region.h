// What fusion hands to kernel generation: tensors in memory and, for each output, one scalar expression over its indices in
// which every Load names one of `inputs`. Everything else (schedule, coordinates, vector widths, launch sizes) is decided here.
#pragma once
#include <string>
#include <vector>

#include "ops/scalar.h"

namespace dlcb::kernel {

struct Tensor {
  ops::ValueId value;
  DType dtype = DType::F32;
  std::vector<sym::Expr> dims;
  std::vector<uint8_t> order;  // physical order, outermost first; empty: row-major. Always dense in that order.
  bool ours = true;            // base is 256-byte aligned (arena, weights); false: a caller's pointer, see pointer_alignment
};

struct Output {
  Tensor tensor;
  std::vector<sym::Expr> index;  // one Index symbol per logical dim
  ops::Scalar body;
};

struct Region {
  std::string name;              // for people: "layer_norm+add"
  std::vector<Tensor> inputs;
  std::vector<Output> outputs;   // with equal or compatible index spaces; see classify
};

// The Param symbol that stands for the alignment in bytes (a power of two <= 256) of a caller's tensor.
sym::Expr pointer_alignment(sym::Store& store, ops::ValueId value);

// How a region would be scheduled; None: it cannot be one kernel (fusion must cut it).
enum class Schedule : uint8_t {
  None,
  Pointwise,   // one element (or vector) per thread; small inner reductions (pooling windows) run serially
  Transpose,   // pointwise whose loads and stores want different inner dims: tiles through shared memory
  RowReduce,   // reductions over the physically innermost dims, values kept in registers; any number of dependent reductions
  ColumnReduce,// reductions over dims outside the innermost one
  Contraction, // sum of products (matmul, convolution) that no library takes
};
Schedule classify(ops::ScalarStore& scalars, const sym::Facts& facts, const Region& region);

struct Arg {
  enum Kind : uint8_t { Pointer, I32, I64, MagicMul, MagicShift } kind;
  ops::ValueId tensor;  // Pointer
  sym::Expr value;      // I32, I64: the value; MagicMul/Shift: the divisor
};

struct Variant {
  sym::Expr when;  // boolean over dims and pointer alignments; the last variant's is constant 1
  std::string entry;
  sym::Expr grid[3], block[3];
  sym::Expr shared_bytes;
  std::vector<Arg> args;
};

// One entry point. `text` is complete but for the prelude and depends only on structure (names are p0, x0, ...), so equal
// kernels of different layers have equal text. `name` is derived from the text's content hash.
struct Function {
  std::string name;
  std::string text;
  uint32_t max_threads = 0;
  bool syncs = false;
};

struct Kernel {
  Schedule schedule;
  std::vector<Function> functions;
  std::vector<Variant> variants;
};

struct GenerateOptions {
  bool literal_dims = false;  // bake constants in (used by tests that compare instruction counts); default: sizes are parameters
};

// Generates the kernels of a region. Requirement discovered here (32-bit indexing: numel < 2^31) are handled by 64-bit variants.
Result<Kernel> generate(ops::ScalarStore& scalars, const sym::Facts& facts, const Region& region, const GenerateOptions& options = {});

}  // namespace dlcb::kernel
