// Reductions with few outputs at lengths around those from which blocks share them.
#include "cases.h"

namespace dlcb::testing {

using kernel::Schedule;
using ops::Fn;
using ops::ReduceFn;
using ops::Scalar;
using ops::ValueId;
using sym::Expr;

namespace {

const std::vector<Sizes> kPlanes{
    {{"N", 1}, {"H", 32}, {"W", 64}}, {{"N", 1}, {"H", 23}, {"W", 89}}, {{"N", 2}, {"H", 1}, {"W", 4099}},
    {{"N", 2}, {"H", 71}, {"W", 73}}, {{"N", 1}, {"H", 3}, {"W", 5}},   {{"N", 1}, {"H", 1}, {"W", 1}},
    {{"N", 2}, {"H", 0}, {"W", 3}},   {{"N", 0}, {"H", 90}, {"W", 90}}, {{"N", 1}, {"H", 2}, {"W", 1}}};
const std::vector<Sizes> kRows{{{"N", 1}, {"S", 16383}}, {{"N", 1}, {"S", 16384}}, {{"N", 2}, {"S", 16385}},
                               {{"N", 1}, {"S", 32772}}, {{"N", 5}, {"S", 17}},    {{"N", 2}, {"S", 40}},
                               {{"N", 1}, {"S", 1}},     {{"N", 3}, {"S", 0}},     {{"N", 0}, {"S", 40000}}};

// The mean of each channel, scaled by a learned factor: what squeeze-and-excitation begins with.
void mean_of_planes(Cases& all) {
  for (int64_t channels : {8, 5}) {
    Case& c = add(all, "long mean NHWC, channels " + std::to_string(channels), kPlanes, Schedule::ColumnReduce);
    Expr n = c.index(c.dim("N")), k = c.index(c.lit(channels)), y = c.index(c.dim("H")), z = c.index(c.dim("W"));
    Expr one = c.index(c.lit(1)), another = c.index(c.lit(1));
    ValueId x = c.input(DType::F32, {c.dim("N"), c.lit(channels), c.dim("H"), c.dim("W")}, kNhwc),
            scale = c.input(DType::F32, {c.lit(channels)});
    Scalar count = c.scalars.cast(DType::F32, c.scalars.index(DType::I64, c.sym.mul(c.dim("H"), c.dim("W"))));
    Scalar sum = c.scalars.reduce(ReduceFn::Sum, {y, z}, relu(c, c.load(x, {n, k, y, z})));
    c.output(DType::F32, {n, k, one, another}, times(c, c.scalars.binary(Fn::Div, sum, count), c.load(scale, {k})),
             kNhwc);
    c.tolerance = 1e-5;
  }
}

// Two reductions that share their loads, over loops that do not merge (the weight is turned), and two outputs.
void range_of_planes(Cases& all) {
  Case& c = add(all, "long range and sum NHWC", kPlanes, Schedule::ColumnReduce);
  Expr N = c.dim("N"), H = c.dim("H"), W = c.dim("W"), n = c.index(N), k = c.index(c.lit(4));
  ValueId x = c.input(DType::F16, {N, c.lit(4), H, W}, kNhwc), g = c.input(DType::F16, {W, H});
  auto reduced = [&](ReduceFn fn) {
    Expr y = c.index(H), z = c.index(W);
    return c.scalars.reduce(
        fn, {y, z},
        times(c, c.scalars.cast(DType::F32, c.load(x, {n, k, y, z})), c.scalars.cast(DType::F32, c.load(g, {z, y}))));
  };
  c.output(DType::F32, {n, k}, minus(c, reduced(ReduceFn::Max), reduced(ReduceFn::Min)));
  c.output(DType::F32, {n, k}, reduced(ReduceFn::Sum));
  c.tolerance = 2e-5;
}

void rows(Cases& all, const std::string& name, DType t, ReduceFn fn, double tolerance) {
  Case& c = add(all, "long " + name, kRows, Schedule::RowReduce);
  Expr n = c.index(c.dim("N")), s = c.index(c.dim("S"));
  ValueId x = c.input(t, {c.dim("N"), c.dim("S")});
  Scalar v = c.load(x, {n, s});
  if (fn == ReduceFn::Prod) v = minus(c, c.scalars.constant(t, 1), plus(c, v, v));  // of 0 and 1: 1 and -1
  c.output(t, {n}, c.scalars.reduce(fn, {s}, v));
  c.tolerance = tolerance;
}

void everything(Cases& all) {
  Case& c = add(all, "long root of the sum of all squares",
                {{{"N", 100}, {"M", 333}}, {{"N", 2}, {"M", 16}}, {{"N", 1}, {"M", 1}}, {{"N", 0}, {"M", 9}}},
                Schedule::RowReduce);
  Expr i = c.index(c.dim("N")), j = c.index(c.dim("M"));
  ValueId x = c.input(DType::F32, {c.dim("N"), c.dim("M")});
  Scalar v = c.load(x, {i, j});
  c.output(DType::F32, {}, c.scalars.unary(Fn::Sqrt, c.scalars.reduce(ReduceFn::Sum, {i, j}, times(c, v, v))), {},
           /*ours=*/false);
  c.tolerance = 1e-5;
}

// A length that is known to be long: there is no other launch.
void known_length(Cases& all) {
  Case& c = add(all, "long sum of a known length", {{}}, Schedule::RowReduce);
  Expr one = c.index(c.lit(1)), s = c.index(c.lit(40000));
  ValueId x = c.input(DType::F16, {c.lit(40000)});
  c.output(DType::F32, {one}, c.scalars.reduce(ReduceFn::Sum, {s}, c.scalars.cast(DType::F32, c.load(x, {s}))));
  c.tolerance = 1e-5;
}

}  // namespace

void add_long(Cases& all) {
  mean_of_planes(all);
  range_of_planes(all);
  rows(all, "sum f32", DType::F32, ReduceFn::Sum, 1e-5);
  rows(all, "sum f16", DType::F16, ReduceFn::Sum, 1e-5);
  rows(all, "smallest f64", DType::F64, ReduceFn::Min, 0);
  rows(all, "sum of integers", DType::I32, ReduceFn::Sum, 0);
  rows(all, "largest byte", DType::U8, ReduceFn::Max, 0);
  rows(all, "product of integers", DType::I64, ReduceFn::Prod, 0);
  everything(all);
  known_length(all);
}

}  // namespace dlcb::testing
