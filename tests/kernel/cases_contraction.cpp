// Matrix products and convolutions.
#include "cases.h"

namespace dlcb::testing {

using kernel::Schedule;
using ops::Fn;
using ops::ReduceFn;
using ops::Scalar;
using ops::ValueId;
using sym::Expr;

namespace {

void matmul_bias_relu(Cases& all) {
  const Schedule product = Schedule::Contraction;
  Case& c = add(all, "matmul, bias, relu", {{{"M", 70}}, {{"M", 1}}, {{"M", 0}}}, product);
  Expr i = c.index(c.dim("M")), j = c.index(c.lit(33)), k = c.index(c.lit(40));
  ValueId a = c.input(DType::F32, {c.dim("M"), c.lit(40)}), b = c.input(DType::F32, {c.lit(40), c.lit(33)}),
          bias = c.input(DType::F32, {c.lit(33)});
  Scalar sum = c.scalars.reduce(ReduceFn::Sum, {k}, times(c, c.load(a, {i, k}), c.load(b, {k, j})));
  c.output(DType::F32, {i, j}, relu(c, plus(c, sum, c.load(bias, {j}))));
  c.tolerance = 1e-5;
}

void batched_matmul(Cases& all) {
  const Schedule product = Schedule::Contraction;
  Case& c = add(all, "batched matmul, transposed, f16",
                {{{"B", 2}, {"S", 9}}, {{"B", 1}, {"S", 65}}, {{"B", 0}, {"S", 2}}}, product);
  Expr B = c.dim("B"), S = c.dim("S"), b = c.index(B), h = c.index(c.lit(2)), i = c.index(S), j = c.index(S),
       k = c.index(c.lit(24));
  ValueId q = c.input(DType::F16, {B, c.lit(2), S, c.lit(24)}), r = c.input(DType::F16, {B, c.lit(2), S, c.lit(24)});
  c.output(DType::F16, {b, h, i, j},
           c.scalars.reduce(ReduceFn::Sum, {k}, times(c, c.load(q, {b, h, i, k}), c.load(r, {b, h, j, k}))));
}

void vector_times_matrix(Cases& all) {
  const Schedule product = Schedule::Contraction;
  Case& c = add(all, "vector times matrix", {{{"N", 300}}, {{"N", 1}}}, product);
  Expr i = c.index(c.lit(1)), j = c.index(c.dim("N")), k = c.index(c.lit(96));
  ValueId a = c.input(DType::F32, {c.lit(1), c.lit(96)}), b = c.input(DType::F32, {c.dim("N"), c.lit(96)});
  c.output(DType::F32, {i, j}, c.scalars.reduce(ReduceFn::Sum, {k}, times(c, c.load(a, {i, k}), c.load(b, {j, k}))));
  c.tolerance = 1e-5;
}

void convolution(Cases& all) {
  const Schedule product = Schedule::Contraction;
  Case& c =
      add(all, "convolution 3x3 NHWC",
          {{{"N", 2}, {"H", 5}, {"W", 6}}, {{"N", 1}, {"H", 1}, {"W", 1}}, {{"N", 1}, {"H", 12}, {"W", 12}}}, product);
  Expr N = c.dim("N"), H = c.dim("H"), W = c.dim("W"), K = c.lit(10), C = c.lit(7);
  Expr n = c.index(N), k = c.index(K), h = c.index(H), w = c.index(W), q = c.index(C), r = c.index(c.lit(3)),
       s = c.index(c.lit(3));
  ValueId x = c.input(DType::F32, {N, C, H, W}, kNhwc), f = c.input(DType::F32, {K, C, c.lit(3), c.lit(3)}, kNhwc),
          bias = c.input(DType::F32, {K});
  Expr y = c.sym.sub(c.sym.add(h, r), c.lit(1)), z = c.sym.sub(c.sym.add(w, s), c.lit(1));
  Expr in = c.sym.logical_and(c.sym.logical_and(c.sym.le(c.lit(0), y), c.sym.lt(y, H)),
                              c.sym.logical_and(c.sym.le(c.lit(0), z), c.sym.lt(z, W)));
  Scalar v =
      c.scalars.select(c.scalars.index(DType::Bool, in), c.load(x, {n, q, y, z}), c.scalars.constant(DType::F32, 0));
  Scalar sum = c.scalars.reduce(ReduceFn::Sum, {q, r, s}, times(c, v, c.load(f, {k, q, r, s})));
  c.output(DType::F32, {n, k, h, w}, relu(c, plus(c, sum, c.load(bias, {k}))), kNhwc);
  c.tolerance = 1e-5;
}

void depthwise_convolution(Cases& all) {
  Case& c = add(all, "depthwise convolution NHWC", {{{"N", 2}, {"H", 5}, {"W", 6}}, {{"N", 1}, {"H", 1}, {"W", 1}}});
  Expr N = c.dim("N"), H = c.dim("H"), W = c.dim("W"), C = c.lit(16);
  Expr n = c.index(N), k = c.index(C), h = c.index(H), w = c.index(W), r = c.index(c.lit(3)), s = c.index(c.lit(3));
  ValueId x = c.input(DType::F32, {N, C, H, W}, kNhwc), f = c.input(DType::F32, {c.lit(3), c.lit(3), C});
  Expr y = c.sym.sub(c.sym.add(h, r), c.lit(1)), z = c.sym.sub(c.sym.add(w, s), c.lit(1));
  Expr in = c.sym.logical_and(c.sym.logical_and(c.sym.le(c.lit(0), y), c.sym.lt(y, H)),
                              c.sym.logical_and(c.sym.le(c.lit(0), z), c.sym.lt(z, W)));
  Scalar v =
      c.scalars.select(c.scalars.index(DType::Bool, in), c.load(x, {n, k, y, z}), c.scalars.constant(DType::F32, 0));
  c.output(DType::F32, {n, k, h, w}, c.scalars.reduce(ReduceFn::Sum, {r, s}, times(c, v, c.load(f, {r, s, k}))), kNhwc);
  c.tolerance = 1e-5;
}

}  // namespace

void add_contractions(Cases& all) {
  matmul_bias_relu(all);
  batched_matmul(all);
  vector_times_matrix(all);
  convolution(all);
  depthwise_convolution(all);
}

}  // namespace dlcb::testing
