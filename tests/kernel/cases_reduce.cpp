// Reductions of rows and of columns, alone and with what follows from them.
#include "cases.h"

namespace dlcb::testing {

using kernel::Schedule;
using ops::Fn;
using ops::ReduceFn;
using ops::Scalar;
using ops::ValueId;
using sym::Expr;

namespace {

Scalar softmax(Case& c, ValueId x, std::vector<Expr> at, size_t axis, Scalar* sum_out = nullptr) {
  Expr k = c.index(c.sym.index_extent(at[axis])), l = c.index(c.sym.index_extent(at[axis]));
  auto value = [&](Expr e) {
    std::vector<Expr> coords = at;
    coords[axis] = e;
    return c.load(x, coords);
  };
  Scalar most = c.scalars.reduce(ReduceFn::Max, {k}, value(k));
  Scalar sum = c.scalars.reduce(ReduceFn::Sum, {l}, c.scalars.unary(Fn::Exp, minus(c, value(l), most)));
  if (sum_out) *sum_out = sum;
  return c.scalars.binary(Fn::Div, c.scalars.unary(Fn::Exp, minus(c, value(at[axis]), most)), sum);
}

void softmax_of_rows(Cases& all) {
  const Schedule row = Schedule::RowReduce;
  const std::vector<Sizes> lengths{{{"N", 3}, {"S", 64}}, {{"N", 5}, {"S", 77}},   {{"N", 1}, {"S", 1}},
                                   {{"N", 0}, {"S", 8}},  {{"N", 2}, {"S", 1000}}, {{"N", 1}, {"S", 9001}},
                                   {{"N", 9}, {"S", 4}}};
  for (DType t : {DType::F32, DType::F16}) {
    Case& c = add(all, t == DType::F32 ? "softmax f32" : "softmax f16", lengths, row);
    Expr n = c.index(c.dim("N")), s = c.index(c.dim("S"));
    ValueId x = c.input(t, {c.dim("N"), c.dim("S")});
    c.output(t, {n, s}, softmax(c, x, {n, s}, 1));
  }
}

void masked_softmax(Cases& all) {
  const Schedule row = Schedule::RowReduce;
  const std::vector<Sizes> lengths{{{"N", 3}, {"S", 64}}, {{"N", 5}, {"S", 77}},   {{"N", 1}, {"S", 1}},
                                   {{"N", 0}, {"S", 8}},  {{"N", 2}, {"S", 1000}}, {{"N", 1}, {"S", 9001}},
                                   {{"N", 9}, {"S", 4}}};
  Case& c = add(all, "softmax with masked scores", lengths, row);
  Expr n = c.index(c.dim("N")), h = c.index(c.lit(3)), s = c.index(c.dim("S")), k = c.index(c.dim("S")),
       l = c.index(c.dim("S"));
  ValueId x = c.input(DType::F32, {c.dim("N"), c.lit(3), c.dim("S")}),
          m = c.input(DType::F32, {c.dim("N"), c.dim("S")});
  auto value = [&](Expr e) {
    return plus(c, times(c, c.load(x, {n, h, e}), c.scalars.constant(DType::F32, 0.125)), c.load(m, {n, e}));
  };
  Scalar most = c.scalars.reduce(ReduceFn::Max, {k}, value(k));
  Scalar sum = c.scalars.reduce(ReduceFn::Sum, {l}, c.scalars.unary(Fn::Exp, minus(c, value(l), most)));
  c.output(DType::F32, {n, h, s}, c.scalars.binary(Fn::Div, c.scalars.unary(Fn::Exp, minus(c, value(s), most)), sum));
}

void add_and_layer_norm(Cases& all) {
  const Schedule row = Schedule::RowReduce;
  for (int64_t width : {768, 384, 50, 20000}) {
    Case& c = add(all, "add and layer norm of " + std::to_string(width), {{{"B", 3}}, {{"B", 0}}, {{"B", 1}}}, row);
    Expr b = c.index(c.dim("B")), j = c.index(c.lit(width)), k = c.index(c.lit(width)), l = c.index(c.lit(width));
    ValueId x = c.input(DType::F32, {c.dim("B"), c.lit(width)}), y = c.input(DType::F32, {c.dim("B"), c.lit(width)}),
            g = c.input(DType::F32, {c.lit(width)}), beta = c.input(DType::F32, {c.lit(width)});
    auto value = [&](Expr e) { return plus(c, c.load(x, {b, e}), c.load(y, {b, e})); };
    Scalar size = c.scalars.constant(DType::F32, static_cast<double>(width));
    Scalar mean = c.scalars.binary(Fn::Div, c.scalars.reduce(ReduceFn::Sum, {k}, value(k)), size);
    Scalar d = minus(c, value(l), mean);
    Scalar variance = c.scalars.binary(Fn::Div, c.scalars.reduce(ReduceFn::Sum, {l}, times(c, d, d)), size);
    Scalar scale = c.scalars.unary(Fn::Rsqrt, plus(c, variance, c.scalars.constant(DType::F32, 1e-5)));
    c.output(DType::F32, {b, j}, value(j));
    c.output(DType::F32, {b, j},
             plus(c, times(c, times(c, minus(c, value(j), mean), scale), c.load(g, {j})), c.load(beta, {j})));
    c.tolerance = 1e-5;
  }
}

void norm_over_planes(Cases& all) {
  const Schedule row = Schedule::RowReduce;
  // The weight is turned, so that the reduced loops do not merge.
  Case& c =
      add(all, "norm over planes with turned weights",
          {{{"N", 5}, {"H", 7}, {"W", 11}}, {{"N", 1}, {"H", 1}, {"W", 1}}, {{"N", 2}, {"H", 90}, {"W", 101}}}, row);
  Expr N = c.dim("N"), H = c.dim("H"), W = c.dim("W");
  Expr n = c.index(N), h = c.index(H), w = c.index(W), y = c.index(H), z = c.index(W);
  ValueId x = c.input(DType::F16, {N, H, W}), g = c.input(DType::F16, {W, H});
  auto value = [&](Expr a, Expr b) {
    return times(c, c.scalars.cast(DType::F32, c.load(x, {n, a, b})), c.scalars.cast(DType::F32, c.load(g, {b, a})));
  };
  Scalar sum = c.scalars.reduce(ReduceFn::Sum, {y, z}, times(c, value(y, z), value(y, z)));
  Scalar scale = c.scalars.unary(Fn::Rsqrt, plus(c, sum, c.scalars.constant(DType::F32, 1)));
  c.output(DType::F16, {n, h, w}, c.scalars.cast(DType::F16, times(c, value(h, w), scale)));
}

void layer_norm_half(Cases& all) {
  const Schedule row = Schedule::RowReduce;
  Case& c = add(all, "layer norm f16",
                {{{"N", 70}, {"S", 77}},
                 {{"N", 5}, {"S", 768}},
                 {{"N", 1}, {"S", 1}},
                 {{"N", 9}, {"S", 24}},
                 {{"N", 2}, {"S", 5003}},
                 {{"N", 2}, {"S", 12344}}},
                row);
  Expr n = c.index(c.dim("N")), s = c.index(c.dim("S")), k = c.index(c.dim("S")), l = c.index(c.dim("S"));
  ValueId x = c.input(DType::F16, {c.dim("N"), c.dim("S")}), g = c.input(DType::F16, {c.dim("S")}),
          beta = c.input(DType::F16, {c.dim("S")});
  auto value = [&](ValueId v, std::vector<Expr> at) { return c.scalars.cast(DType::F32, c.load(v, std::move(at))); };
  Scalar size = c.scalars.cast(DType::F32, c.scalars.index(DType::I64, c.dim("S")));
  Scalar mean = c.scalars.binary(Fn::Div, c.scalars.reduce(ReduceFn::Sum, {k}, value(x, {n, k})), size);
  Scalar d = minus(c, value(x, {n, l}), mean);
  Scalar variance = c.scalars.binary(Fn::Div, c.scalars.reduce(ReduceFn::Sum, {l}, times(c, d, d)), size);
  Scalar scale = c.scalars.unary(Fn::Rsqrt, plus(c, variance, c.scalars.constant(DType::F32, 1e-5)));
  Scalar y = times(c, times(c, minus(c, value(x, {n, s}), mean), scale), value(g, {s}));
  c.output(DType::F16, {n, s}, c.scalars.cast(DType::F16, plus(c, y, value(beta, {s}))));
}

void softmax_through_float(Cases& all) {
  const Schedule row = Schedule::RowReduce;
  const std::vector<Sizes> lengths{{{"N", 3}, {"S", 64}}, {{"N", 5}, {"S", 77}},   {{"N", 1}, {"S", 1}},
                                   {{"N", 0}, {"S", 8}},  {{"N", 2}, {"S", 1000}}, {{"N", 1}, {"S", 9001}},
                                   {{"N", 9}, {"S", 4}}};
  Case& c = add(all, "softmax f16 through f32", lengths, row);
  Expr n = c.index(c.dim("N")), s = c.index(c.dim("S")), k = c.index(c.dim("S")), l = c.index(c.dim("S"));
  ValueId x = c.input(DType::F16, {c.dim("N"), c.dim("S")});
  auto value = [&](Expr e) { return c.scalars.cast(DType::F32, c.load(x, {n, e})); };
  Scalar most = c.scalars.reduce(ReduceFn::Max, {k}, value(k));
  Scalar sum = c.scalars.reduce(ReduceFn::Sum, {l}, c.scalars.unary(Fn::Exp, minus(c, value(l), most)));
  Scalar y = c.scalars.binary(Fn::Div, c.scalars.unary(Fn::Exp, minus(c, value(s), most)), sum);
  c.output(DType::F16, {n, s}, c.scalars.cast(DType::F16, y));
}

// Rows of few elements in every number of lanes that share one, the last block full or not, of known length too.
void short_odd_rows(Cases& all) {
  std::vector<Sizes> sizes;
  for (int64_t length : {1, 3, 23, 25, 47, 49, 77, 95, 100, 191, 193, 383, 385, 767})
    sizes.push_back({{"N", 1000 / length}, {"S", length}});
  sizes.push_back({{"N", 64}, {"S", 49}});
  sizes.push_back({{"N", 0}, {"S", 49}});
  sizes.push_back({{"N", 3}, {"S", 0}});
  auto residual = [&](const std::string& name, DType t, int inputs, auto length, std::vector<Sizes> at) {
    Case& c = add(all, name, std::move(at), Schedule::RowReduce);
    const Expr N = c.dim("N"), S = length(c);
    Expr n = c.index(N), s = c.index(S), k = c.index(S);
    ValueId b = c.input(t, {S});
    std::vector<ValueId> rows;
    for (int i = 0; i < inputs; i++) rows.push_back(c.input(t, {N, S}));
    auto value = [&](Expr e) {
      Scalar sum = c.load(b, {e});
      for (ValueId x : rows) sum = plus(c, sum, c.load(x, {n, e}));
      return c.scalars.cast(DType::F32, sum);
    };
    Scalar sum = c.scalars.reduce(ReduceFn::Sum, {k}, times(c, value(k), value(k)));
    Scalar scale = c.scalars.unary(Fn::Rsqrt, plus(c, sum, c.scalars.constant(DType::F32, 1)));
    c.output(t, {n, s}, c.scalars.cast(t, value(s)));
    c.output(t, {n, s}, c.scalars.cast(t, times(c, value(s), scale)));
    c.output(DType::F32, {n}, sum);
    c.tolerance = 1e-5;
  };
  auto unknown = [](Case& c) { return c.dim("S"); };
  residual("residual norm f32", DType::F32, 2, unknown, sizes);
  residual("residual norm bf16", DType::BF16, 2, unknown, sizes);
  residual("norm of three f16", DType::F16, 3, unknown, sizes);
  for (int64_t length : {49, 52, 77, 197})
    residual("residual norm f16 of " + std::to_string(length), DType::F16, 2, [=](Case& c) { return c.lit(length); },
             {{{"N", 70}}, {{"N", 16}}, {{"N", 1}}, {{"N", 0}}});
  for (DType t : {DType::F16, DType::U8}) {
    Case& c = add(all, t == DType::U8 ? "most of a row u8" : "most of a row f16", sizes, Schedule::RowReduce);
    Expr n = c.index(c.dim("N")), k = c.index(c.dim("S"));
    ValueId x = c.input(t, {c.dim("N"), c.dim("S")}, {}, false);
    c.output(t, {n}, c.scalars.reduce(ReduceFn::Max, {k}, c.load(x, {n, k})));
  }
}

void pool_of_planes(Cases& all) {
  const Schedule row = Schedule::RowReduce;
  Case& c =
      add(all, "global average pool NCHW",
          {{{"N", 2}, {"H", 7}, {"W", 7}}, {{"N", 1}, {"H", 16}, {"W", 16}}, {{"N", 1}, {"H", 0}, {"W", 3}}}, row);
  Expr n = c.index(c.dim("N")), k = c.index(c.lit(5)), y = c.index(c.dim("H")), z = c.index(c.dim("W"));
  ValueId x = c.input(DType::F32, {c.dim("N"), c.lit(5), c.dim("H"), c.dim("W")});
  c.output(DType::F32, {n, k}, c.scalars.reduce(ReduceFn::Sum, {y, z}, c.load(x, {n, k, y, z})));
}

void sum_of_everything(Cases& all) {
  const Schedule row = Schedule::RowReduce;
  Case& c = add(all, "sum of everything", {{{"N", 5}, {"M", 9}}, {{"N", 0}, {"M", 9}}, {{"N", 100}, {"M", 300}}}, row);
  Expr i = c.index(c.dim("N")), j = c.index(c.dim("M"));
  ValueId x = c.input(DType::F32, {c.dim("N"), c.dim("M")});
  c.output(DType::F32, {}, c.scalars.reduce(ReduceFn::Sum, {i, j}, c.load(x, {i, j})));
  c.tolerance = 1e-5;
}

void pool_of_pixels(Cases& all) {
  const Schedule column = Schedule::ColumnReduce;
  const std::vector<Sizes> planes{{{"N", 2}, {"H", 7}, {"W", 7}},
                                  {{"N", 1}, {"H", 16}, {"W", 16}},
                                  {{"N", 1}, {"H", 0}, {"W", 3}},
                                  {{"N", 0}, {"H", 2}, {"W", 3}}};
  for (int64_t channels : {24, 5}) {
    Case& c = add(all, "global average pool NHWC, channels " + std::to_string(channels), planes, column);
    Expr n = c.index(c.dim("N")), k = c.index(c.lit(channels)), y = c.index(c.dim("H")), z = c.index(c.dim("W"));
    ValueId x = c.input(DType::F16, {c.dim("N"), c.lit(channels), c.dim("H"), c.dim("W")}, kNhwc);
    Scalar sum = c.scalars.reduce(ReduceFn::Sum, {y, z}, c.scalars.cast(DType::F32, c.load(x, {n, k, y, z})));
    c.output(DType::F32, {n, k}, times(c, sum, c.scalars.constant(DType::F32, 0.5)));
    c.tolerance = 1e-5;
  }
}

void softmax_of_columns(Cases& all) {
  const Schedule column = Schedule::ColumnReduce;
  Case& c =
      add(all, "softmax over axis 1",
          {{{"N", 2}, {"S", 9}, {"M", 20}}, {{"N", 1}, {"S", 100}, {"M", 3}}, {{"N", 2}, {"S", 1}, {"M", 8}}}, column);
  Expr n = c.index(c.dim("N")), s = c.index(c.dim("S")), m = c.index(c.dim("M"));
  ValueId x = c.input(DType::F32, {c.dim("N"), c.dim("S"), c.dim("M")});
  c.output(DType::F32, {n, s, m}, softmax(c, x, {n, s, m}, 1));
}

void instance_norm(Cases& all) {
  const Schedule column = Schedule::ColumnReduce;
  Case& c = add(all, "instance norm NHWC", {{{"N", 2}, {"H", 5}, {"W", 6}}, {{"N", 1}, {"H", 1}, {"W", 1}}}, column);
  Expr N = c.dim("N"), H = c.dim("H"), W = c.dim("W"), C = c.lit(12);
  Expr n = c.index(N), k = c.index(C), h = c.index(H), w = c.index(W), y = c.index(H), z = c.index(W);
  ValueId x = c.input(DType::F32, {N, C, H, W}, kNhwc);
  Scalar size = c.scalars.index(DType::I64, c.sym.mul(H, W));
  Scalar mean = c.scalars.binary(Fn::Div, c.scalars.reduce(ReduceFn::Sum, {y, z}, c.load(x, {n, k, y, z})),
                                 c.scalars.cast(DType::F32, size));
  Scalar d = minus(c, c.load(x, {n, k, y, z}), mean);
  Scalar var = c.scalars.binary(Fn::Div, c.scalars.reduce(ReduceFn::Sum, {y, z}, times(c, d, d)),
                                c.scalars.cast(DType::F32, size));
  Scalar scale = c.scalars.unary(Fn::Rsqrt, plus(c, var, c.scalars.constant(DType::F32, 1e-5)));
  c.output(DType::F32, {n, k, h, w}, times(c, minus(c, c.load(x, {n, k, h, w}), mean), scale), kNhwc);
  c.tolerance = 1e-5;
}

}  // namespace

void add_rows(Cases& all) {
  softmax_of_rows(all);
  masked_softmax(all);
  add_and_layer_norm(all);
  norm_over_planes(all);
  layer_norm_half(all);
  softmax_through_float(all);
  short_odd_rows(all);
  pool_of_planes(all);
  sum_of_everything(all);
}

void add_columns(Cases& all) {
  pool_of_pixels(all);
  softmax_of_columns(all);
  instance_norm(all);
}

}  // namespace dlcb::testing
