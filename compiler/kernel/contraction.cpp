// Sums of products whose factors vary along different loops: matrix products, convolutions of any rank, with whatever
// the factors and the result go through. A block computes a tile of the (rows, columns) space; both factors are
// evaluated into shared memory, a slice of the summed space at a time, whatever their coordinates and guards are.
#include "kernel/contraction.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernel/ctext.h"

namespace dlcb::kernel {

using ops::Fn;
using ops::Scalar;
using ops::ScalarKind;
using sym::Expr;

namespace {

constexpr int kTile = 64, kSlice = 16, kThreads = 256, kPerThread = 4;
constexpr int kPitch = kTile + 4;  // keeps rows 16-byte aligned and spreads banks

// One factor and how a thread walks its part of the slice.
struct Factor {
  Scalar value;
  std::vector<Loop> own;   // loops of the tile that only this factor has
  bool along_sum = false;  // memory is contiguous along the summed loop rather than along its own
  const char* name;        // of the shared array
  const char* first;       // first own index of the block's tile
};

bool contains(const std::vector<Expr>& sorted, Expr e) { return std::ranges::binary_search(sorted, e); }

class TileWriter {
 public:
  TileWriter(Lowered& region, Contraction& c, const GenerateOptions& options)
      : region_(region),
        sym_(region.sym),
        c_(c),
        params_(region.sym, region.region, options),
        e_(region, params_, Shape{kPerThread, 1, 1}),
        node_(region.scalars.node(c.reduce)),
        type_(register_type(node_.dtype)),
        width_(size_of(node_.dtype) == 8 ? 2 : 4) {}

  void write(Kernel& kernel) {
    a_ = {c_.a, c_.rows, contiguous_along_sum(c_.a, c_.rows), "left", "tile_m"};
    b_ = {c_.b, c_.columns, contiguous_along_sum(c_.b, c_.columns), "right", "tile_n"};
    block_position();
    for (int i = 0; i < kPerThread; i++) {
      for (int j = 0; j < kPerThread; j++) e_.line(fmt::format("{} c{}{} = 0;", type_, i, j));
    }
    std::string k = params_.integer(extent_of(sym_, c_.summed));
    e_.open_loop({});
    load_slice(a_);
    load_slice(b_);
    e_.line("__syncthreads();");
    multiply();
    e_.line("__syncthreads();");
    std::string text = e_.close_loop();
    e_.line(fmt::format("for (i32 from = 0; from < {}; from += {}) {{", k, kSlice));
    e_.append(text);
    e_.line("}");
    results();
    Launch l;
    auto tiles = [&](const std::vector<Loop>& loops) {
      return sym_.ceildiv(extent_of(sym_, loops), sym_.constant(kTile));
    };
    l.block[0] = sym_.constant(kThreads);
    l.grid[0] = sym_.mul(extent_of(sym_, c_.batch), tiles(c_.rows));
    set_tall_grid(sym_, tiles(c_.columns), l);
    l.max_threads = kThreads;
    l.syncs = true;
    add_variant(kernel, region_, e_, params_, l);
  }

 private:
  bool contiguous_along_sum(Scalar s, const std::vector<Loop>& own) {
    auto unit = [&](const std::vector<Loop>& loops) {
      if (loops.empty()) return false;
      return std::ranges::any_of(region_.scalars.loads(s), [&](Scalar load) {
        Expr slope, rest;
        return affine(region_, region_.site(load).offset, loops.back().symbol, &slope, &rest) &&
               sym_.is_const(slope, 1);
      });
    };
    return unit(c_.summed) || !unit(own);
  }

  void block_position() {
    Expr tiles = sym_.ceildiv(extent_of(sym_, c_.rows), sym_.constant(kTile));
    e_.line("const i32 t = i32(threadIdx.x), ty = t >> 4, tx = t & 15;");
    e_.line(fmt::format("const i32 batch = {};", params_.divide("i32(blockIdx.x)", tiles)));
    e_.line(fmt::format("const i32 tile_m = (i32(blockIdx.x) - batch * {}) * {}, tile_n = i32{} * {};",
                        params_.integer(tiles), kTile, kTallIndex, kTile));
    bind(c_.batch, Level::Uniform, {"batch"});
    for (const char* name : {"left", "right"}) {
      e_.line(fmt::format("__shared__ Pack<{}, {}> {}_[{}];", type_, width_, name, kSlice * kPitch / width_));
      e_.line(fmt::format("{0}* const {1} = {1}_[0].v;", type_, name));
    }
  }

  void bind(std::span<const Loop> loops, Level level, const std::vector<std::string>& flat) {
    if (loops.empty()) return;
    auto split = split_index(e_, params_, flat, loops, needed_loops(region_, loops, sym_.constant(0)));
    for (size_t i = 0; i < loops.size(); i++) {
      if (!split[i].empty()) e_.bind(loops[i].symbol, {level, split[i]});
    }
  }

  static std::vector<Expr> symbols_of(std::initializer_list<const std::vector<Loop>*> lists) {
    std::vector<Expr> result;
    for (const auto* list : lists) {
      for (const Loop& l : *list) result.push_back(l.symbol);
    }
    return result;
  }

  // Evaluates kTile x kSlice elements of a factor into its shared array; elements outside are 0.
  void load_slice(const Factor& f) {
    e_.shape = {kPerThread, 1, 1};
    e_.open_loop(symbols_of({&f.own, &c_.summed}));
    const bool along_sum = f.along_sum;
    Val own = e_.define("i32", "u", Level::Group, [&](int g) {
      return along_sum ? fmt::format("(t >> 4) + {}", 16 * g) : std::string("t & 63");
    });
    Val sum = e_.define("i32", "k", Level::Group,
                        [&](int g) { return along_sum ? std::string("t & 15") : fmt::format("(t >> 6) + {}", 4 * g); });
    Val own_at =
        e_.define("i32", "n", Level::Group, [&](int g) { return fmt::format("{} + {}", f.first, own.names[g]); });
    Val sum_at = e_.define("i32", "n", Level::Group, [&](int g) { return fmt::format("from + {}", sum.names[g]); });
    std::string own_end = params_.integer(extent_of(sym_, f.own)),
                sum_end = params_.integer(extent_of(sym_, c_.summed));
    Val in = e_.define("bool", "in", Level::Group, [&](int g) {
      return fmt::format("({} < {}) & ({} < {})", own_at.names[g], own_end, sum_at.names[g], sum_end);
    });
    e_.open_guard(symbols_of({&f.own, &c_.summed}), in);
    bind(f.own, Level::Group, own_at.names);
    bind(c_.summed, Level::Group, sum_at.names);
    Val v = e_.value(f.value);
    for (int g = 0; g < kPerThread; g++) {
      e_.line(fmt::format("{}[{} * {} + {}] = {} ? {}({}) : 0;", f.name, sum.names[g], kPitch, own.names[g],
                          in.names[g], type_, e_.at(v, Level::Group, g)));
    }
    e_.close_bindings();
    e_.append(e_.close_loop());
  }

  void multiply() {
    const int width = width_;
    e_.line(fmt::format("for (i32 s = 0; s < {}; ++s) {{", kSlice));
    for (const char* side : {"left", "right"}) {
      for (int part = 0; part < kPerThread / width; part++) {
        e_.line(fmt::format("  const Pack<{0}, {1}> {2}hs{3} = ldp<{0}, {1}>({4} + s * {5} + {6} * 4 + {7});", type_,
                            width, side[0], part, side, kPitch, side[0] == 'l' ? "ty" : "tx", part * width));
      }
    }
    for (int i = 0; i < kPerThread; i++) {
      for (int j = 0; j < kPerThread; j++) {
        e_.line(fmt::format("  c{}{} += lhs{}.v[{}] * rhs{}.v[{}];", i, j, i / width, i % width, j / width, j % width));
      }
    }
    e_.line("}");
  }

  // The body around the sum, for this thread's 4 x 4 elements.
  void results() {
    const int n = kPerThread * kPerThread;
    e_.shape = {n, 1, 1};
    e_.open_loop(symbols_of({&c_.rows, &c_.columns}));
    Val row =
        e_.define("i32", "n", Level::Group, [&](int g) { return fmt::format("tile_m + ty * 4 + {}", g / kPerThread); });
    Val column =
        e_.define("i32", "n", Level::Group, [&](int g) { return fmt::format("tile_n + tx * 4 + {}", g % kPerThread); });
    std::string rows = params_.integer(extent_of(sym_, c_.rows)),
                columns = params_.integer(extent_of(sym_, c_.columns));
    Val in = e_.define("bool", "in", Level::Group, [&](int g) {
      return fmt::format("({} < {}) & ({} < {})", row.names[g], rows, column.names[g], columns);
    });
    e_.open_guard(symbols_of({&c_.rows, &c_.columns}), in);
    bind(c_.rows, Level::Group, row.names);
    bind(c_.columns, Level::Group, column.names);
    Val sums{Level::Group, {}};
    for (int g = 0; g < n; g++) sums.names.push_back(fmt::format("c{}{}", g / kPerThread, g % kPerThread));
    e_.set_value(c_.reduce, sums);
    e_.store_body(0, &in);
    e_.close_bindings();
    e_.append(e_.close_loop());
  }

  Lowered& region_;
  sym::Store& sym_;
  Contraction& c_;
  Params params_;
  Emitter e_;
  const ops::ScalarNode node_;
  std::string_view type_;
  const int width_;  // elements of one access to shared memory
  Factor a_, b_;
};

}  // namespace

std::optional<Contraction> find_contraction(Lowered& region, Scalar reduce) {
  const ops::ScalarNode node = region.scalars.node(reduce);
  ops::ScalarStore& scalars = region.scalars;
  if (node.reduce != ops::ReduceFn::Sum) return std::nullopt;
  Scalar product = node.operands[0], guard;
  while (scalars.node(product).kind == ScalarKind::Cast && is_float(scalars.node(product).dtype))
    product = scalars.node(product).operands[0];
  if (const ops::ScalarNode& s = scalars.node(product); s.kind == ScalarKind::Select) {
    const ops::ScalarNode& other = scalars.node(s.operands[2]);
    const bool zero =
        (other.kind == ScalarKind::ConstF && other.f == 0) || (other.kind == ScalarKind::ConstI && other.i == 0);
    if (!zero) return std::nullopt;
    guard = s.operands[0];
    product = s.operands[1];
  }
  const ops::ScalarNode mul = scalars.node(product);
  if (mul.kind != ScalarKind::Binary || mul.fn != Fn::Mul) return std::nullopt;
  Contraction c;
  c.reduce = reduce;
  c.a = mul.operands[0];
  c.b = mul.operands[1];
  if (guard.valid()) {
    // 0 outside: the guard may sit on the factor that has all its symbols.
    auto covers = [&](Scalar s) {
      return std::ranges::all_of(region.symbols(guard), [&](Expr e) { return contains(region.symbols(s), e); });
    };
    Scalar zero = scalars.constant(mul.dtype, 0);
    if (covers(c.a))
      c.a = scalars.select(guard, c.a, zero);
    else if (covers(c.b))
      c.b = scalars.select(guard, c.b, zero);
    else
      return std::nullopt;
  }
  for (Expr s : node.coords) c.summed.push_back({s, region.sym.index_extent(s)});
  std::vector<Loop> space = loops_of(region.region.outputs[0]);
  for (const Loop& l : space) {
    const bool in_a = contains(region.symbols(c.a), l.symbol), in_b = contains(region.symbols(c.b), l.symbol);
    (in_a && !in_b ? c.rows : in_b && !in_a ? c.columns : c.batch).push_back(l);
  }
  if (c.rows.empty() || c.columns.empty()) return std::nullopt;
  // The innermost loop of the result should run across threads.
  if (c.rows.back().symbol == space.back().symbol) {
    std::swap(c.a, c.b);
    std::swap(c.rows, c.columns);
  }
  return c;
}

Kernel generate_contraction(Lowered& region, Contraction c, const GenerateOptions& options) {
  Kernel kernel;
  TileWriter(region, c, options).write(kernel);
  return kernel;
}

}  // namespace dlcb::kernel
