// Every schedule with every kind of body: how a schedule moves elements (tiles, rows, columns, products) must not
// depend on what an element is made of.
#include "cases.h"

namespace dlcb::testing {

using kernel::Schedule;
using ops::Fn;
using ops::ReduceFn;
using ops::Scalar;
using ops::ValueId;
using sym::Expr;

namespace {

// The element at (n, k, h) of a tensor [N, K, H] that a body computes.
struct Point {
  Expr n, k, h;
  Expr N, K, H;
};

struct Body {
  const char* name;
  Scalar (*element)(Case&, const Point&);
};

Scalar number(Case& c, double v) { return c.scalars.constant(DType::F32, v); }

// Bodies are asked for the same element at several points; their inputs are made once.
ValueId once(Case& c, size_t position, DType t, std::vector<Expr> dims) {
  while (c.region.inputs.size() <= position) c.input(t, dims);
  return {static_cast<uint32_t>(position)};
}

Scalar plain(Case& c, const Point& p) { return c.load(once(c, 0, DType::F32, {p.N, p.K, p.H}), {p.n, p.k, p.h}); }

Scalar bias(Case& c, const Point& p) {
  Scalar x = plain(c, p);
  return plus(c, x, c.load(once(c, 1, DType::F32, {p.K}), {p.k}));
}

Scalar scale_of_planes(Case& c, const Point& p) {
  Scalar x = plain(c, p);
  return times(c, x, c.load(once(c, 1, DType::F32, {p.N, p.K}), {p.n, p.k}));
}

Scalar two_inputs(Case& c, const Point& p) {
  Scalar x = plain(c, p);
  return plus(c, x, c.load(once(c, 1, DType::F32, {p.N, p.K, p.H}), {p.n, p.k, p.h}));
}

Scalar guarded_window(Case& c, const Point& p) {
  ValueId x = once(c, 0, DType::F32, {p.N, p.K, p.H});
  Expr r = c.index(c.lit(3)), at = c.sym.sub(c.sym.add(p.h, r), c.lit(1));
  Scalar in = c.scalars.index(DType::Bool, c.sym.logical_and(c.sym.le(c.lit(0), at), c.sym.lt(at, p.H)));
  return c.scalars.reduce(ReduceFn::Sum, {r}, c.scalars.select(in, c.load(x, {p.n, p.k, at}), number(c, 0)));
}

// Long enough to stay a loop, and over planes rather than along rows.
Scalar long_window(Case& c, const Point& p) {
  Expr r = c.index(c.lit(11));
  ValueId x = once(c, 0, DType::F32, {p.N, c.sym.add(p.K, c.lit(10)), p.H});
  return c.scalars.reduce(ReduceFn::Max, {r}, c.load(x, {p.n, c.sym.add(p.k, r), p.h}));
}

Scalar half_window(Case& c, const Point& p) {
  Expr r = c.index(c.lit(3));
  ValueId x = once(c, 0, DType::F16, {p.N, p.K, c.sym.add(p.H, c.lit(2))});
  Scalar most = c.scalars.reduce(ReduceFn::Max, {r}, c.load(x, {p.n, p.k, c.sym.add(p.h, r)}));
  return c.scalars.cast(DType::F32, most);
}

// A sum over the front of an axis of literal extent: its loads do not depend on the index that they are summed up to.
Scalar prefix_sum(Case& c, const Point& p) {
  Expr r = c.index(c.lit(4));
  ValueId x = once(c, 0, DType::F32, {c.lit(4), p.K, p.H});
  Scalar in = c.scalars.index(DType::Bool, c.sym.le(r, p.n));
  return c.scalars.reduce(ReduceFn::Sum, {r}, c.scalars.select(in, c.load(x, {r, p.k, p.h}), number(c, 0)));
}

Scalar window_of_products(Case& c, const Point& p) {
  Expr r = c.index(c.lit(3));
  ValueId x = once(c, 0, DType::F32, {p.N, p.K, c.sym.add(p.H, c.lit(2))});
  Scalar v = c.load(x, {p.n, p.k, c.sym.add(p.h, r)});
  return c.scalars.reduce(ReduceFn::Sum, {r}, times(c, v, c.load(once(c, 1, DType::F32, {c.lit(3), p.K}), {r, p.k})));
}

Scalar gather(Case& c, const Point& p, size_t axis) {
  ValueId x = once(c, 0, DType::F32, {p.N, p.K, p.H});
  ValueId ids = once(c, 1, DType::I64, {axis == 1 ? p.K : p.H});
  c.index_limit[ids.id] = 4;
  Expr at = c.scalars.as_coordinate(c.load(ids, {axis == 1 ? p.k : p.h}), {0, sym::kMax});
  return c.load(x, {p.n, axis == 1 ? at : p.k, axis == 1 ? p.h : at});
}
Scalar gathered_planes(Case& c, const Point& p) { return gather(c, p, 1); }
Scalar gathered_columns(Case& c, const Point& p) { return gather(c, p, 2); }

Scalar padded(Case& c, const Point& p) {
  Expr inner = c.sym.max(c.sym.sub(p.H, c.lit(3)), c.lit(1)), at = c.sym.sub(p.h, c.lit(2));
  ValueId x = once(c, 0, DType::F32, {p.N, p.K, inner});
  Scalar in = c.scalars.index(DType::Bool, c.sym.logical_and(c.sym.le(c.lit(0), at), c.sym.lt(at, inner)));
  return c.scalars.select(in, c.load(x, {p.n, p.k, at}), number(c, -1));
}

Scalar position(Case& c, const Point& p) {
  Expr at = c.sym.add(c.sym.mul(p.h, c.lit(3)), c.sym.sub(p.k, p.n));
  Scalar x = plain(c, p);
  return plus(c, x, c.scalars.cast(DType::F32, c.scalars.index(DType::I64, at)));
}

// Every element under a guard of its own, which keeps it inside its tensor: lanes of a vector are loaded one by one.
Scalar guarded_by_data(Case& c, const Point& p) {
  ValueId x = once(c, 0, DType::F32, {c.dim("M"), p.K, p.H}), mask = once(c, 1, DType::Bool, {p.N, p.K, p.H});
  return c.scalars.select(c.load(mask, {p.n, p.k, p.h}), c.load(x, {p.n, p.k, p.h}), number(c, -3));
}

// [N, H, K] seen as [N, K, H].
Scalar reshaped(Case& c, const Point& p) {
  Expr at = c.sym.add(c.sym.mul(p.k, p.H), p.h);
  return c.load(once(c, 0, DType::F32, {p.N, p.H, p.K}), {p.n, c.sym.floordiv(at, p.K), c.sym.mod(at, p.K)});
}

Scalar mixed_types(Case& c, const Point& p) {
  ValueId x = once(c, 0, DType::F16, {p.N, p.K, p.H}), y = once(c, 1, DType::I64, {p.N, p.K, p.H}),
          mask = once(c, 2, DType::Bool, {p.N, p.H});
  Scalar sum = plus(c, c.scalars.cast(DType::F32, c.load(x, {p.n, p.k, p.h})),
                    c.scalars.cast(DType::F32, c.load(y, {p.n, p.k, p.h})));
  return c.scalars.select(c.load(mask, {p.n, p.h}), sum, number(c, -2));
}

Scalar resized(Case& c, const Point& p) {
  ValueId x = once(c, 0, DType::F32, {p.N, p.K, p.H});
  return c.load(x, {p.n, p.k, c.sym.floor_scale(p.h, 0.37)});
}

Scalar broadcast(Case& c, const Point& p) {
  Expr a = c.dim("A");
  Scalar x = plain(c, p);
  return plus(c, x, c.load(once(c, 1, DType::F32, {a, p.K, p.H}), {c.sym.mul(p.n, c.sym.ne(a, c.lit(1))), p.k, p.h}));
}

constexpr Body kBodies[] = {
    {"plain", plain},
    {"bias", bias},
    {"scale of planes", scale_of_planes},
    {"two inputs", two_inputs},
    {"guarded window", guarded_window},
    {"long window", long_window},
    {"half window", half_window},
    {"prefix sum", prefix_sum},
    {"window of products", window_of_products},
    {"gathered planes", gathered_planes},
    {"gathered columns", gathered_columns},
    {"padded", padded},
    {"guarded by data", guarded_by_data},
    {"position", position},
    {"reshaped", reshaped},
    {"mixed types", mixed_types},
    {"resized", resized},
    {"broadcast", broadcast},
};

// How the elements become an output.
struct Use {
  const char* name;
  void (*build)(Case&, const Point&, Scalar (*element)(Case&, const Point&));
  bool reduces = false;
};

void as_it_lies(Case& c, const Point& p, Scalar (*element)(Case&, const Point&)) {
  c.output(DType::F32, {p.n, p.k, p.h}, element(c, p));
}

void turned(Case& c, const Point& p, Scalar (*element)(Case&, const Point&)) {
  c.output(DType::F32, {p.n, p.h, p.k}, element(c, p));
}

void turned_batch_inside(Case& c, const Point& p, Scalar (*element)(Case&, const Point&)) {
  c.output(DType::F32, {p.h, p.n, p.k}, element(c, p));
}

void sum_of_rows(Case& c, const Point& p, Scalar (*element)(Case&, const Point&)) {
  c.output(DType::F32, {p.n, p.k}, c.scalars.reduce(ReduceFn::Sum, {p.h}, element(c, p)));
}

void share_of_row(Case& c, const Point& p, Scalar (*element)(Case&, const Point&)) {
  Point inner = p;
  inner.h = c.index(p.H);
  Scalar sum = c.scalars.reduce(ReduceFn::Max, {inner.h}, element(c, inner));
  c.output(DType::F32, {p.n, p.k, p.h}, c.scalars.binary(Fn::Sub, element(c, p), sum));
}

void sum_of_columns(Case& c, const Point& p, Scalar (*element)(Case&, const Point&)) {
  c.output(DType::F32, {p.n, p.h}, c.scalars.reduce(ReduceFn::Sum, {p.k}, element(c, p)));
}

void share_of_column(Case& c, const Point& p, Scalar (*element)(Case&, const Point&)) {
  Point inner = p;
  inner.k = c.index(p.K);
  Scalar most = c.scalars.reduce(ReduceFn::Max, {inner.k}, element(c, inner));
  c.output(DType::F32, {p.n, p.k, p.h}, c.scalars.binary(Fn::Sub, element(c, p), most));
}

void factor(Case& c, const Point& p, Scalar (*element)(Case&, const Point&)) {
  Expr j = c.index(c.lit(24));
  Scalar e = element(c, p);
  ValueId w = c.input(DType::F32, {p.H, c.lit(24)});
  c.output(DType::F32, {p.n, p.k, j}, c.scalars.reduce(ReduceFn::Sum, {p.h}, times(c, e, c.load(w, {p.h, j}))));
}

void after_product(Case& c, const Point& p, Scalar (*element)(Case&, const Point&)) {
  Expr s = c.index(c.lit(33));
  Scalar e = element(c, p);
  ValueId a = c.input(DType::F32, {p.N, p.K, c.lit(33)}), b = c.input(DType::F32, {c.lit(33), p.H});
  Scalar product = c.scalars.reduce(ReduceFn::Sum, {s}, times(c, c.load(a, {p.n, p.k, s}), c.load(b, {s, p.h})));
  c.output(DType::F32, {p.n, p.k, p.h}, plus(c, product, e));
}

constexpr Use kUses[] = {
    {"pointwise", as_it_lies},
    {"turned", turned},
    {"turned, batch inside", turned_batch_inside},
    {"row sum", sum_of_rows, true},
    {"row share", share_of_row, true},
    {"column sum", sum_of_columns, true},
    {"column share", share_of_column, true},
    {"factor", factor, true},
    {"after product", after_product, true},
};

}  // namespace

void add_bodies(Cases& all) {
  for (const Use& use : kUses) {
    for (const Body& body : kBodies) {
      all.push_back(std::make_unique<Case>(std::string(use.name) + " of " + body.name));
      Case& c = *all.back();
      c.sizes = {{{"N", 2}, {"K", 20}, {"H", 9}, {"A", 1}, {"M", 2}},
                 {{"N", 1}, {"K", 20}, {"H", 132}, {"A", 1}, {"M", 1}},
                 {{"N", 0}, {"K", 20}, {"H", 4}, {"A", 1}, {"M", 0}}};
      Point p;
      p.N = c.dim("N"), p.K = use.reduces ? c.dim("K") : c.lit(20), p.H = c.dim("H");
      p.n = c.index(p.N), p.k = c.index(p.K), p.h = c.index(p.H);
      use.build(c, p, body.element);
      c.tolerance = 1e-5;
      c.schedule = kernel::classify(c.scalars, c.facts, c.region).schedule;
    }
  }
}

}  // namespace dlcb::testing
