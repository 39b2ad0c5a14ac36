#include "cases.h"

#include <cmath>

namespace dlcb::testing {

using kernel::Schedule;
using ops::Fn;
using ops::ReduceFn;
using ops::Scalar;
using ops::ValueId;
using sym::Expr;

Expr Case::dim(const std::string& symbol) {
  if (auto known = sym.find_symbol(symbol)) return *known;
  return sym.symbol(symbol, sym::SymbolKind::Dim);
}

ValueId Case::input(DType t, std::vector<Expr> dims, std::vector<uint8_t> order, bool ours) {
  ValueId id{static_cast<uint32_t>(region.inputs.size())};
  region.inputs.push_back({id, t, std::move(dims), std::move(order), ours});
  return id;
}

Scalar Case::load(ValueId value, std::vector<Expr> coords) {
  return scalars.load(region.inputs[value.id].dtype, value, std::move(coords));
}

void Case::output(DType t, std::vector<Expr> index, Scalar body, std::vector<uint8_t> order, bool ours) {
  std::vector<Expr> dims;
  for (Expr i : index) dims.push_back(sym.index_extent(i));
  ValueId id{static_cast<uint32_t>(100 + region.outputs.size())};
  region.outputs.push_back({{id, t, std::move(dims), std::move(order), ours}, std::move(index), body});
}

namespace {

using Cases = std::vector<std::unique_ptr<Case>>;

Case& add(Cases& all, const std::string& name, std::vector<Sizes> sizes, Schedule schedule = Schedule::Pointwise) {
  all.push_back(std::make_unique<Case>(name));
  all.back()->sizes = std::move(sizes);
  all.back()->schedule = schedule;
  return *all.back();
}

Scalar relu(Case& c, Scalar x) { return c.scalars.binary(Fn::Max, x, c.scalars.constant(c.scalars.dtype(x), 0)); }
Scalar plus(Case& c, Scalar a, Scalar b) { return c.scalars.binary(Fn::Add, a, b); }
Scalar minus(Case& c, Scalar a, Scalar b) { return c.scalars.binary(Fn::Sub, a, b); }
Scalar times(Case& c, Scalar a, Scalar b) { return c.scalars.binary(Fn::Mul, a, b); }

const std::vector<uint8_t> kNhwc{0, 2, 3, 1};

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

void pointwise(Cases& all) {
  channel_add(all, "channel add NCHW f16", DType::F16, {}, 6);
  channel_add(all, "channel add NHWC f16", DType::F16, kNhwc, 24);
  channel_add(all, "channel add NHWC f16, odd channels", DType::F16, kNhwc, 19);
  channel_add(all, "channel add NCHW f32", DType::F32, {}, 3);
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
  {
    Case& c = add(all, "flat gelu, caller's pointers", {{{"N", 1}}, {{"N", 0}}, {{"N", 5003}}, {{"N", 4096}}});
    Expr i = c.index(c.dim("N"));
    ValueId x = c.input(DType::F32, {c.dim("N")}, {}, false);
    Scalar v = c.load(x, {i});
    Scalar e = c.scalars.unary(Fn::Erf, times(c, v, c.scalars.constant(DType::F32, 0.70710678)));
    c.output(DType::F32, {i},
             times(c, times(c, v, c.scalars.constant(DType::F32, 0.5)), plus(c, e, c.scalars.constant(DType::F32, 1))),
             {}, false);
  }
  {
    Case& c = add(all, "concat along channels NHWC", {{{"N", 2}, {"H", 3}}, {{"N", 1}, {"H", 1}}});
    Expr n = c.index(c.dim("N")), h = c.index(c.dim("H")), k = c.index(c.lit(40));
    ValueId a = c.input(DType::F16, {c.dim("N"), c.dim("H"), c.lit(24)}),
            b = c.input(DType::F16, {c.dim("N"), c.dim("H"), c.lit(16)});
    Scalar first = c.scalars.index(DType::Bool, c.sym.lt(k, c.lit(24)));
    c.output(DType::F16, {n, h, k},
             c.scalars.select(first, c.load(a, {n, h, k}), c.load(b, {n, h, c.sym.sub(k, c.lit(24))})));
  }
  {
    Case& c = add(all, "pad and slice", {{{"H", 5}, {"W", 9}}, {{"H", 1}, {"W", 4}}, {{"H", 0}, {"W", 0}}});
    Expr h = c.index(c.sym.add(c.dim("H"), c.lit(2))), w = c.index(c.sym.add(c.dim("W"), c.lit(3)));
    ValueId x = c.input(DType::F32, {c.dim("H"), c.dim("W")});
    Expr y = c.sym.sub(h, c.lit(1)), z = c.sym.sub(w, c.lit(2));
    Expr in = c.sym.logical_and(c.sym.logical_and(c.sym.le(c.lit(0), y), c.sym.lt(y, c.dim("H"))),
                                c.sym.logical_and(c.sym.le(c.lit(0), z), c.sym.lt(z, c.dim("W"))));
    c.output(DType::F32, {h, w},
             c.scalars.select(c.scalars.index(DType::Bool, in), c.load(x, {y, z}), c.scalars.constant(DType::F32, -1)));
  }
  {
    Case& c = add(all, "coordinate modulo a size that is a difference", {{{"A", 4}, {"B", 10}}, {{"A", 0}, {"B", 2}}});
    Expr size = c.sym.neg(c.sym.floordiv(c.sym.sub(c.dim("A"), c.dim("B")), c.lit(2)));
    Expr i = c.index(c.sym.mul(c.lit(2), size));
    ValueId x = c.input(DType::F32, {size});
    c.output(DType::F32, {i}, c.load(x, {c.sym.mod(i, size)}));
  }
  {
    Case& c = add(all, "gather rows with i64 ids", {{{"N", 7}, {"V", 11}}, {{"N", 0}, {"V", 3}}});
    Expr n = c.index(c.dim("N")), k = c.index(c.lit(32));
    ValueId ids = c.input(DType::I64, {c.dim("N")}), x = c.input(DType::F32, {c.dim("V"), c.lit(32)});
    c.index_limit[ids.id] = 3;
    Expr row = c.scalars.as_coordinate(c.load(ids, {n}), {0, sym::kMax});
    c.output(DType::F32, {n, k}, c.load(x, {row, k}));
  }
  {
    Case& c = add(all, "dynamic broadcast", {{{"A", 4}, {"B", 4}, {"C", 8}}, {{"A", 1}, {"B", 4}, {"C", 5}}});
    Expr b = c.dim("B"), a = c.dim("A"), i = c.index(b), j = c.index(c.dim("C"));
    ValueId x = c.input(DType::F32, {a, c.dim("C")}), y = c.input(DType::F32, {b, c.dim("C")});
    c.output(DType::F32, {i, j}, plus(c, c.load(x, {c.sym.mul(i, c.sym.ne(a, c.lit(1))), j}), c.load(y, {i, j})));
  }
  {
    Case& c = add(all, "max pool 3x3 NHWC", {{{"N", 2}, {"H", 7}, {"W", 6}}, {{"N", 1}, {"H", 1}, {"W", 1}}});
    Expr H = c.dim("H"), W = c.dim("W"), n = c.index(c.dim("N")), k = c.index(c.lit(16)), h = c.index(H),
         w = c.index(W);
    ValueId x = c.input(DType::F16, {c.dim("N"), c.lit(16), H, W}, kNhwc);
    Expr r = c.index(c.lit(3)), s = c.index(c.lit(3));
    Expr y = c.sym.sub(c.sym.add(h, r), c.lit(1)), z = c.sym.sub(c.sym.add(w, s), c.lit(1));
    Expr in = c.sym.logical_and(c.sym.logical_and(c.sym.le(c.lit(0), y), c.sym.lt(y, H)),
                                c.sym.logical_and(c.sym.le(c.lit(0), z), c.sym.lt(z, W)));
    Scalar v = c.scalars.select(c.scalars.index(DType::Bool, in), c.load(x, {n, k, y, z}),
                                c.scalars.constant(DType::F16, -INFINITY));
    c.output(DType::F16, {n, k, h, w}, c.scalars.reduce(ReduceFn::Max, {r, s}, v), kNhwc);
  }
  {
    Case& c = add(all, "reshape by division", {{{"N", 3}, {"M", 5}}, {{"N", 1}, {"M", 1}}});
    Expr N = c.dim("N"), M = c.dim("M"), i = c.index(c.sym.mul(N, M)), j = c.index(c.lit(6));
    ValueId x = c.input(DType::F32, {N, M, c.lit(6)}), b = c.input(DType::F32, {M});
    Expr m = c.sym.mod(i, M);
    c.output(DType::F32, {i, j}, plus(c, c.load(x, {c.sym.floordiv(i, M), m, j}), c.load(b, {m})));
  }
  {
    Case& c = add(all, "integers and casts", {{{"N", 13}}, {{"N", 64}}});
    Expr i = c.index(c.dim("N"));
    ValueId x = c.input(DType::I64, {c.dim("N")}), y = c.input(DType::I32, {c.dim("N")});
    c.index_limit[x.id] = 50;
    c.index_limit[y.id] = 7;
    c.calls = true;
    Scalar v =
        c.scalars.binary(Fn::Mod, c.load(x, {i}),
                         c.scalars.cast(DType::I64, plus(c, c.load(y, {i}), c.scalars.constant_i(DType::I32, 1))));
    c.output(DType::I64, {i}, v);
    c.output(DType::Bool, {i}, c.scalars.binary(Fn::Lt, v, c.scalars.index(DType::I64, i)));
  }
  {
    Case& c = add(all, "transpose NCHW to NHWC", {{{"N", 2}, {"H", 9}}, {{"N", 1}, {"H", 128}}, {{"N", 0}, {"H", 4}}},
                  Schedule::Transpose);
    Expr H = c.dim("H"), n = c.index(c.dim("N")), k = c.index(c.lit(200)), h = c.index(H);
    ValueId x = c.input(DType::F16, {c.dim("N"), c.lit(200), H});
    c.output(DType::F16, {n, h, k}, relu(c, c.load(x, {n, k, h})));
  }
}

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

void rows(Cases& all) {
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
  {
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
  {
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
  {
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
  {
    Case& c = add(all, "softmax f16 through f32", lengths, row);
    Expr n = c.index(c.dim("N")), s = c.index(c.dim("S")), k = c.index(c.dim("S")), l = c.index(c.dim("S"));
    ValueId x = c.input(DType::F16, {c.dim("N"), c.dim("S")});
    auto value = [&](Expr e) { return c.scalars.cast(DType::F32, c.load(x, {n, e})); };
    Scalar most = c.scalars.reduce(ReduceFn::Max, {k}, value(k));
    Scalar sum = c.scalars.reduce(ReduceFn::Sum, {l}, c.scalars.unary(Fn::Exp, minus(c, value(l), most)));
    Scalar y = c.scalars.binary(Fn::Div, c.scalars.unary(Fn::Exp, minus(c, value(s), most)), sum);
    c.output(DType::F16, {n, s}, c.scalars.cast(DType::F16, y));
  }
  {
    Case& c =
        add(all, "global average pool NCHW",
            {{{"N", 2}, {"H", 7}, {"W", 7}}, {{"N", 1}, {"H", 16}, {"W", 16}}, {{"N", 1}, {"H", 0}, {"W", 3}}}, row);
    Expr n = c.index(c.dim("N")), k = c.index(c.lit(5)), y = c.index(c.dim("H")), z = c.index(c.dim("W"));
    ValueId x = c.input(DType::F32, {c.dim("N"), c.lit(5), c.dim("H"), c.dim("W")});
    c.output(DType::F32, {n, k}, c.scalars.reduce(ReduceFn::Sum, {y, z}, c.load(x, {n, k, y, z})));
  }
  {
    Case& c =
        add(all, "sum of everything", {{{"N", 5}, {"M", 9}}, {{"N", 0}, {"M", 9}}, {{"N", 100}, {"M", 300}}}, row);
    Expr i = c.index(c.dim("N")), j = c.index(c.dim("M"));
    ValueId x = c.input(DType::F32, {c.dim("N"), c.dim("M")});
    c.output(DType::F32, {}, c.scalars.reduce(ReduceFn::Sum, {i, j}, c.load(x, {i, j})));
    c.tolerance = 1e-5;
  }
}

void columns(Cases& all) {
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
  {
    Case& c = add(all, "softmax over axis 1",
                  {{{"N", 2}, {"S", 9}, {"M", 20}}, {{"N", 1}, {"S", 100}, {"M", 3}}, {{"N", 2}, {"S", 1}, {"M", 8}}},
                  column);
    Expr n = c.index(c.dim("N")), s = c.index(c.dim("S")), m = c.index(c.dim("M"));
    ValueId x = c.input(DType::F32, {c.dim("N"), c.dim("S"), c.dim("M")});
    c.output(DType::F32, {n, s, m}, softmax(c, x, {n, s, m}, 1));
  }
  {
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
}

void contractions(Cases& all) {
  const Schedule product = Schedule::Contraction;
  {
    Case& c = add(all, "matmul, bias, relu", {{{"M", 70}}, {{"M", 1}}, {{"M", 0}}}, product);
    Expr i = c.index(c.dim("M")), j = c.index(c.lit(33)), k = c.index(c.lit(40));
    ValueId a = c.input(DType::F32, {c.dim("M"), c.lit(40)}), b = c.input(DType::F32, {c.lit(40), c.lit(33)}),
            bias = c.input(DType::F32, {c.lit(33)});
    Scalar sum = c.scalars.reduce(ReduceFn::Sum, {k}, times(c, c.load(a, {i, k}), c.load(b, {k, j})));
    c.output(DType::F32, {i, j}, relu(c, plus(c, sum, c.load(bias, {j}))));
    c.tolerance = 1e-5;
  }
  {
    Case& c = add(all, "batched matmul, transposed, f16",
                  {{{"B", 2}, {"S", 9}}, {{"B", 1}, {"S", 65}}, {{"B", 0}, {"S", 2}}}, product);
    Expr B = c.dim("B"), S = c.dim("S"), b = c.index(B), h = c.index(c.lit(2)), i = c.index(S), j = c.index(S),
         k = c.index(c.lit(24));
    ValueId q = c.input(DType::F16, {B, c.lit(2), S, c.lit(24)}), r = c.input(DType::F16, {B, c.lit(2), S, c.lit(24)});
    c.output(DType::F16, {b, h, i, j},
             c.scalars.reduce(ReduceFn::Sum, {k}, times(c, c.load(q, {b, h, i, k}), c.load(r, {b, h, j, k}))));
  }
  {
    Case& c = add(all, "vector times matrix", {{{"N", 300}}, {{"N", 1}}}, product);
    Expr i = c.index(c.lit(1)), j = c.index(c.dim("N")), k = c.index(c.lit(96));
    ValueId a = c.input(DType::F32, {c.lit(1), c.lit(96)}), b = c.input(DType::F32, {c.dim("N"), c.lit(96)});
    c.output(DType::F32, {i, j}, c.scalars.reduce(ReduceFn::Sum, {k}, times(c, c.load(a, {i, k}), c.load(b, {j, k}))));
    c.tolerance = 1e-5;
  }
  {
    Case& c = add(all, "convolution 3x3 NHWC",
                  {{{"N", 2}, {"H", 5}, {"W", 6}}, {{"N", 1}, {"H", 1}, {"W", 1}}, {{"N", 1}, {"H", 12}, {"W", 12}}},
                  product);
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
  {
    Case& c = add(all, "depthwise convolution NHWC", {{{"N", 2}, {"H", 5}, {"W", 6}}, {{"N", 1}, {"H", 1}, {"W", 1}}});
    Expr N = c.dim("N"), H = c.dim("H"), W = c.dim("W"), C = c.lit(16);
    Expr n = c.index(N), k = c.index(C), h = c.index(H), w = c.index(W), r = c.index(c.lit(3)), s = c.index(c.lit(3));
    ValueId x = c.input(DType::F32, {N, C, H, W}, kNhwc), f = c.input(DType::F32, {c.lit(3), c.lit(3), C});
    Expr y = c.sym.sub(c.sym.add(h, r), c.lit(1)), z = c.sym.sub(c.sym.add(w, s), c.lit(1));
    Expr in = c.sym.logical_and(c.sym.logical_and(c.sym.le(c.lit(0), y), c.sym.lt(y, H)),
                                c.sym.logical_and(c.sym.le(c.lit(0), z), c.sym.lt(z, W)));
    Scalar v =
        c.scalars.select(c.scalars.index(DType::Bool, in), c.load(x, {n, k, y, z}), c.scalars.constant(DType::F32, 0));
    c.output(DType::F32, {n, k, h, w}, c.scalars.reduce(ReduceFn::Sum, {r, s}, times(c, v, c.load(f, {r, s, k}))),
             kNhwc);
    c.tolerance = 1e-5;
  }
}

}  // namespace

Cases all_cases() {
  Cases all;
  pointwise(all);
  rows(all);
  columns(all);
  contractions(all);
  add_bodies(all);
  return all;
}

}  // namespace dlcb::testing
