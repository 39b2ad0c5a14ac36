// What one step of the compiled model will be: a region that becomes a generated kernel, or a library call. Regions
// hold tensors in memory and, for each output, one scalar expression in which every Load names an input; schedule,
// coordinates, vector widths and launch sizes are decided by kernel/.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "graph/graph.h"
#include "ops/scalar.h"

namespace dlcb::fuse {

struct Tensor {
  ops::ValueId value;
  DType dtype = DType::F32;
  std::vector<sym::Expr> dims;
  std::vector<uint8_t> order;  // physical order, outermost first; empty: row-major. Always dense in that order.
  bool ours =
      true;  // base is 256-byte aligned (arena, weights); false: a caller's pointer, see kernel::pointer_alignment
};

struct Output {
  Tensor tensor;
  std::vector<sym::Expr> index;  // one Index symbol per logical dim
  ops::Scalar body;
};

struct Region {
  std::string name;  // for people: "layer_norm+add"
  std::vector<Tensor> inputs;
  std::vector<Output> outputs;  // with equal or compatible index spaces; see Schedule
};

// The values that the outputs' bodies read, each once, in the order in which they are met.
std::vector<ops::ValueId> loaded_values(const ops::ScalarStore& scalars, std::span<const Output> outputs);

// How a region would be scheduled; None: it cannot be one kernel (fusion must cut it).
enum class Schedule : uint8_t {
  None,
  Pointwise,     // one element (or vector) per thread; small inner reductions (pooling windows) run serially
  Transpose,     // pointwise whose loads and stores want different inner dims: tiles through shared memory
  RowReduce,     // reductions over the physically innermost dims, values kept in registers; any number of dependent
                 // reductions
  ColumnReduce,  // reductions over dims outside the innermost one
  Contraction,   // sum of products (matmul, convolution) that no library takes
};
struct Classification {
  Schedule schedule = Schedule::None;
  sym::Expr rows;  // how often each reduction is computed; invalid where there are none but windows
};
using Classify = std::function<Classification(const Region&)>;

// Applied to the result of a library call before it is stored.
enum class Activation : uint8_t { None, Relu };

// What every library call makes of its product: out = act(product + bias + residual).
struct Epilogue {
  ops::ValueId out, bias, residual;  // bias and residual may be invalid; the residual lies in memory as `out` does
  Activation activation = Activation::None;
};

// product[b, m, n] = alpha sum_k A[b, m, k] B[b, k, n]. Operands are buffers with strides in elements; a view
// (transpose, reshape) of another tensor is read in place through its strides.
struct MatmulCall : Epilogue {
  ops::ValueId a, b;
  double alpha = 1;
  sym::Expr m, n, k, batch;
  sym::Expr lda, ldb, stride_a, stride_b;  // leading dimension of each matrix as stored; batch stride 0 broadcasts
  bool trans_a = false, trans_b = false;
};

// 2-D convolution of NHWC activations with KRSC weights (1-D: h = r = 1); see Conv in bundle_format/program.fbs.
struct ConvCall : Epilogue {
  ops::ValueId x, w;
  sym::Expr n, h, wd, c, k, p, q;
  int64_t r = 1, s = 1, groups = 1;
  int64_t pad[4] = {0, 0, 0, 0};  // top, left, bottom, right
  int64_t stride[2] = {1, 1}, dilation[2] = {1, 1};
  bool transposed = false;
};

// A node that a library executes, together with the following nodes that it absorbs (scale, bias, residual,
// activation).
struct Claim {
  std::variant<MatmulCall, ConvCall> call;
  std::vector<graph::NodeId> nodes;  // first the matmul or convolution

  Epilogue& epilogue() {
    return std::visit([](auto& c) -> Epilogue& { return c; }, call);
  }
  const Epilogue& epilogue() const {
    return std::visit([](const auto& c) -> const Epilogue& { return c; }, call);
  }
};

// `value` is another name for the memory of `source`: same elements at the same addresses.
struct Alias {
  ops::ValueId value, source;
};

struct Step {
  std::variant<Region, Claim, Alias> action;
  Schedule schedule = Schedule::None;  // of a Region
  sym::Expr predicate;
  std::vector<graph::Origin> origins;
  std::string name;
};

}  // namespace dlcb::fuse
