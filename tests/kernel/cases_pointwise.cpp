// Regions without reductions, and windows: one thread an element.
#include <cmath>

#include "cases.h"

namespace dlcb::testing {

using kernel::Schedule;
using ops::Fn;
using ops::ReduceFn;
using ops::Scalar;
using ops::ValueId;
using sym::Expr;

namespace {

void channel_add(Cases& all, const std::string& name, DType t, std::vector<uint8_t> order, int64_t channels) {
  Case& c = add(all, name,
                {{{"N", 2}, {"H", 5}, {"W", 7}},
                 {{"N", 1}, {"H", 1}, {"W", 1}},
                 {{"N", 0}, {"H", 4}, {"W", 4}},
                 {{"N", 3}, {"H", 16}, {"W", 16}},
                 {{"N", 1}, {"H", 1}, {"W", 9}}});
  Expr n = c.index(c.dim("N")), k = c.index(c.lit(channels)), h = c.index(c.dim("H")), w = c.index(c.dim("W"));
  ValueId x = c.input(t, {c.dim("N"), c.lit(channels), c.dim("H"), c.dim("W")}, order),
          b = c.input(t, {c.lit(channels)});
  c.output(t, {n, k, h, w}, relu(c, plus(c, c.load(x, {n, k, h, w}), c.load(b, {k}))), order);
}

void bias_over_rows(Cases& all) {
  for (DType t : {DType::F16, DType::F32}) {
    Case& c = add(all, t == DType::F16 ? "bias over rows f16" : "bias over rows f32",
                  {{{"R", 5}, {"C", 77}},
                   {{"R", 300}, {"C", 3}},
                   {{"R", 1}, {"C", 1}},
                   {{"R", 40}, {"C", 1}},
                   {{"R", 0}, {"C", 9}},
                   {{"R", 9}, {"C", 0}},
                   {{"R", 7}, {"C", 64}},
                   {{"R", 3}, {"C", 1023}}});
    Expr i = c.index(c.dim("R")), j = c.index(c.dim("C"));
    ValueId x = c.input(t, {c.dim("R"), c.dim("C")}), b = c.input(t, {c.dim("C")});
    c.output(t, {i, j}, relu(c, plus(c, c.load(x, {i, j}), c.load(b, {j}))));
  }
}

void flat_gelu(Cases& all) {
  Case& c = add(all, "flat gelu, caller's pointers", {{{"N", 1}}, {{"N", 0}}, {{"N", 5003}}, {{"N", 4096}}});
  Expr i = c.index(c.dim("N"));
  ValueId x = c.input(DType::F32, {c.dim("N")}, {}, false);
  Scalar v = c.load(x, {i});
  Scalar e = c.scalars.unary(Fn::Erf, times(c, v, c.scalars.constant(DType::F32, 0.70710678)));
  c.output(DType::F32, {i},
           times(c, times(c, v, c.scalars.constant(DType::F32, 0.5)), plus(c, e, c.scalars.constant(DType::F32, 1))),
           {}, false);
}

void concat_of_channels(Cases& all) {
  Case& c = add(all, "concat along channels NHWC", {{{"N", 2}, {"H", 3}}, {{"N", 1}, {"H", 1}}});
  Expr n = c.index(c.dim("N")), h = c.index(c.dim("H")), k = c.index(c.lit(40));
  ValueId a = c.input(DType::F16, {c.dim("N"), c.dim("H"), c.lit(24)}),
          b = c.input(DType::F16, {c.dim("N"), c.dim("H"), c.lit(16)});
  Scalar first = c.scalars.index(DType::Bool, c.sym.lt(k, c.lit(24)));
  c.output(DType::F16, {n, h, k},
           c.scalars.select(first, c.load(a, {n, h, k}), c.load(b, {n, h, c.sym.sub(k, c.lit(24))})));
}

void pad_and_slice(Cases& all) {
  Case& c = add(all, "pad and slice", {{{"H", 5}, {"W", 9}}, {{"H", 1}, {"W", 4}}, {{"H", 0}, {"W", 0}}});
  Expr h = c.index(c.sym.add(c.dim("H"), c.lit(2))), w = c.index(c.sym.add(c.dim("W"), c.lit(3)));
  ValueId x = c.input(DType::F32, {c.dim("H"), c.dim("W")});
  Expr y = c.sym.sub(h, c.lit(1)), z = c.sym.sub(w, c.lit(2));
  Expr in = c.sym.logical_and(c.sym.logical_and(c.sym.le(c.lit(0), y), c.sym.lt(y, c.dim("H"))),
                              c.sym.logical_and(c.sym.le(c.lit(0), z), c.sym.lt(z, c.dim("W"))));
  c.output(DType::F32, {h, w},
           c.scalars.select(c.scalars.index(DType::Bool, in), c.load(x, {y, z}), c.scalars.constant(DType::F32, -1)));
}

void modulo_of_difference(Cases& all) {
  Case& c = add(all, "coordinate modulo a size that is a difference", {{{"A", 4}, {"B", 10}}, {{"A", 0}, {"B", 2}}});
  Expr size = c.sym.neg(c.sym.floordiv(c.sym.sub(c.dim("A"), c.dim("B")), c.lit(2)));
  Expr i = c.index(c.sym.mul(c.lit(2), size));
  ValueId x = c.input(DType::F32, {size});
  c.output(DType::F32, {i}, c.load(x, {c.sym.mod(i, size)}));
}

void gather_rows(Cases& all) {
  Case& c = add(all, "gather rows with i64 ids", {{{"N", 7}, {"V", 11}}, {{"N", 0}, {"V", 3}}});
  Expr n = c.index(c.dim("N")), k = c.index(c.lit(32));
  ValueId ids = c.input(DType::I64, {c.dim("N")}), x = c.input(DType::F32, {c.dim("V"), c.lit(32)});
  c.index_limit[ids.id] = 3;
  Expr row = c.scalars.as_coordinate(c.load(ids, {n}), {0, sym::kMax});
  c.output(DType::F32, {n, k}, c.load(x, {row, k}));
}

void dynamic_broadcast(Cases& all) {
  Case& c = add(all, "dynamic broadcast", {{{"A", 4}, {"B", 4}, {"C", 8}}, {{"A", 1}, {"B", 4}, {"C", 5}}});
  Expr b = c.dim("B"), a = c.dim("A"), i = c.index(b), j = c.index(c.dim("C"));
  ValueId x = c.input(DType::F32, {a, c.dim("C")}), y = c.input(DType::F32, {b, c.dim("C")});
  c.output(DType::F32, {i, j}, plus(c, c.load(x, {c.sym.mul(i, c.sym.ne(a, c.lit(1))), j}), c.load(y, {i, j})));
}

void max_pool(Cases& all) {
  Case& c = add(all, "max pool 3x3 NHWC", {{{"N", 2}, {"H", 7}, {"W", 6}}, {{"N", 1}, {"H", 1}, {"W", 1}}});
  Expr H = c.dim("H"), W = c.dim("W"), n = c.index(c.dim("N")), k = c.index(c.lit(16)), h = c.index(H), w = c.index(W);
  ValueId x = c.input(DType::F16, {c.dim("N"), c.lit(16), H, W}, kNhwc);
  Expr r = c.index(c.lit(3)), s = c.index(c.lit(3));
  Expr y = c.sym.sub(c.sym.add(h, r), c.lit(1)), z = c.sym.sub(c.sym.add(w, s), c.lit(1));
  Expr in = c.sym.logical_and(c.sym.logical_and(c.sym.le(c.lit(0), y), c.sym.lt(y, H)),
                              c.sym.logical_and(c.sym.le(c.lit(0), z), c.sym.lt(z, W)));
  Scalar v = c.scalars.select(c.scalars.index(DType::Bool, in), c.load(x, {n, k, y, z}),
                              c.scalars.constant(DType::F16, -INFINITY));
  c.output(DType::F16, {n, k, h, w}, c.scalars.reduce(ReduceFn::Max, {r, s}, v), kNhwc);
}

void reshape_by_division(Cases& all) {
  Case& c = add(all, "reshape by division", {{{"N", 3}, {"M", 5}}, {{"N", 1}, {"M", 1}}});
  Expr N = c.dim("N"), M = c.dim("M"), i = c.index(c.sym.mul(N, M)), j = c.index(c.lit(6));
  ValueId x = c.input(DType::F32, {N, M, c.lit(6)}), b = c.input(DType::F32, {M});
  Expr m = c.sym.mod(i, M);
  c.output(DType::F32, {i, j}, plus(c, c.load(x, {c.sym.floordiv(i, M), m, j}), c.load(b, {m})));
}

void integers_and_casts(Cases& all) {
  Case& c = add(all, "integers and casts", {{{"N", 13}}, {{"N", 64}}});
  Expr i = c.index(c.dim("N"));
  ValueId x = c.input(DType::I64, {c.dim("N")}), y = c.input(DType::I32, {c.dim("N")});
  c.index_limit[x.id] = 50;
  c.index_limit[y.id] = 7;
  c.calls = true;
  Scalar v = c.scalars.binary(Fn::Mod, c.load(x, {i}),
                              c.scalars.cast(DType::I64, plus(c, c.load(y, {i}), c.scalars.constant_i(DType::I32, 1))));
  c.output(DType::I64, {i}, v);
  c.output(DType::Bool, {i}, c.scalars.binary(Fn::Lt, v, c.scalars.index(DType::I64, i)));
}

void transpose_to_nhwc(Cases& all) {
  Case& c = add(all, "transpose NCHW to NHWC", {{{"N", 2}, {"H", 9}}, {{"N", 1}, {"H", 128}}, {{"N", 0}, {"H", 4}}},
                Schedule::Transpose);
  Expr H = c.dim("H"), n = c.index(c.dim("N")), k = c.index(c.lit(200)), h = c.index(H);
  ValueId x = c.input(DType::F16, {c.dim("N"), c.lit(200), H});
  c.output(DType::F16, {n, h, k}, relu(c, c.load(x, {n, k, h})));
}

}  // namespace

void add_pointwise(Cases& all) {
  channel_add(all, "channel add NCHW f16", DType::F16, {}, 6);
  channel_add(all, "channel add NHWC f16", DType::F16, kNhwc, 24);
  channel_add(all, "channel add NHWC f16, odd channels", DType::F16, kNhwc, 19);
  channel_add(all, "channel add NCHW f32", DType::F32, {}, 3);
  bias_over_rows(all);
  flat_gelu(all);
  concat_of_channels(all);
  pad_and_slice(all);
  modulo_of_difference(all);
  gather_rows(all);
  dynamic_broadcast(all);
  max_pool(all);
  reshape_by_division(all);
  integers_and_casts(all);
  transpose_to_nhwc(all);
}

}  // namespace dlcb::testing
