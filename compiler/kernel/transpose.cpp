// Pointwise kernels whose loads lie along another loop than their stores (NCHW <-> NHWC). A block loads a 64 x 64 tile
// along one, stores it along the other, and turns it in shared memory. Where rows are whole vectors, a thread loads 4 x
// 4 elements, turns them in registers and writes vectors; the columns of the tile are permuted so that no two threads
// meet in a bank.
#include "kernel/transpose.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernel/ctext.h"

namespace dlcb::kernel {

using ops::Scalar;
using sym::Expr;

namespace {

constexpr int kTile = 64, kThreads = 256, kVector = 4;

class TransposeWriter {
 public:
  TransposeWriter(Lowered& region, const Turn& turn, bool vectors, const GenerateOptions& options)
      : region_(region),
        sym_(region.sym),
        turn_(turn),
        vectors_(vectors),
        params_(region.sym, region.region, options),
        e_(region, params_, vectors ? Shape{4, kVector, 1} : Shape{16, 1, 1}) {
    if (vectors) e_.vector.multiples = {turn.loaded.extent, turn.stored.extent};
  }

  void write(Kernel& kernel) {
    block_position();
    load_tiles();
    e_.line("__syncthreads();");
    store_tiles();
    auto tiles = [&](const Loop& l) { return sym_.ceildiv(l.extent, sym_.constant(kTile)); };
    Launch l;
    l.block[0] = sym_.constant(kThreads);
    l.grid[0] = sym_.mul(extent_of(sym_, turn_.batch), tiles(turn_.stored));
    l.grid[1] = tiles(turn_.loaded);
    l.max_threads = kThreads;
    l.syncs = true;
    if (vectors_) {
      auto whole = [&](const Loop& x) { return sym_.eq(sym_.mod(x.extent, sym_.constant(kVector)), sym_.constant(0)); };
      l.when = sym_.logical_and(whole(turn_.loaded), whole(turn_.stored));
    }
    add_variant(kernel, region_, e_, params_, l);
  }

 private:
  void block_position() {
    Expr tiles = sym_.ceildiv(turn_.stored.extent, sym_.constant(kTile));
    e_.line("const i32 t = i32(threadIdx.x);");
    e_.line(fmt::format("const i32 batch = {};", params_.divide("i32(blockIdx.x)", tiles)));
    e_.line(fmt::format("const i32 tile_v = (i32(blockIdx.x) - batch * {}) * {}, tile_u = i32(blockIdx.y) * {};",
                        params_.integer(tiles), kTile, kTile));
    auto split = split_index(e_, params_, {"batch"}, turn_.batch, needed_loops(region_, turn_.batch, sym_.constant(0)));
    for (size_t i = 0; i < turn_.batch.size(); i++) {
      if (!split[i].empty()) e_.bind(turn_.batch[i].symbol, {Level::Uniform, split[i]});
    }
  }

  // Binds both loops of the tile: `along` runs inside a vector, `across` from group to group.
  Val bind(const Loop& along, const std::string& along_at, const Loop& across,
           const std::function<std::string(int)>& across_at) {
    Val base = e_.define("i32", "n", Level::Group, [&](int) { return along_at; });
    Val other = e_.define("i32", "n", Level::Group, across_at);
    std::string end = params_.integer(along.extent), other_end = params_.integer(across.extent);
    Val in = e_.define("bool", "in", Level::Group, [&](int g) {
      return fmt::format("({} < {}) & ({} < {})", base.names[g], end, other.names[g], other_end);
    });
    e_.open_guard({along.symbol, across.symbol}, in);
    e_.bind(across.symbol, other);
    Val slots{vectors_ ? Level::Slot : Level::Group, {}};
    for (int s = 0; s < e_.shape.slots(); s++) {
      const std::string& b = base.names[s / e_.shape.width];
      slots.names.push_back(s % e_.shape.width == 0 ? b : fmt::format("({} + {})", b, s % e_.shape.width));
    }
    e_.bind(along.symbol, slots);
    e_.vector.symbol = along.symbol;
    e_.vector.base = base.names;
    return in;
  }

  std::string element(size_t load) const { return fmt::format("tile{}", load); }
  int pitch() const { return vectors_ ? kTile : kTile + 2; }

  void load_tiles() {
    for (size_t i = 0; i < turn_.loads.size(); i++) {
      std::string_view type = memory_type(region_.scalars.dtype(turn_.loads[i]));
      if (vectors_)
        e_.line(fmt::format("__shared__ Pack<{}, {}> {}_[{}];", type, kVector, element(i), kTile * pitch() / kVector));
      else
        e_.line(fmt::format("__shared__ {} {}_[{}];", type, element(i), kTile * pitch()));
      e_.line(fmt::format("{}* const {} = {}_{};", type, element(i), element(i), vectors_ ? "[0].v" : ""));
    }
    e_.open_loop({turn_.loaded.symbol, turn_.stored.symbol});
    if (vectors_) {
      e_.line("const i32 lu = t & 15, lv = t >> 4;");
      bind(turn_.loaded, "tile_u + lu * 4", turn_.stored, [](int g) { return fmt::format("tile_v + lv * 4 + {}", g); });
    } else {
      e_.line("const i32 lu = t & 63, lv = t >> 6;");
      bind(turn_.loaded, "tile_u + lu", turn_.stored, [](int g) { return fmt::format("tile_v + lv + {}", 4 * g); });
    }
    for (size_t i = 0; i < turn_.loads.size(); i++) {
      DType t = region_.scalars.dtype(turn_.loads[i]);
      Val v = e_.bits(turn_.loads[i]);
      if (!vectors_) {
        for (int g = 0; g < 16; g++) {
          e_.line(fmt::format("{}[(lv + {}) * {} + lu] = {};", element(i), 4 * g, pitch(), e_.at(v, Level::Group, g)));
        }
        continue;
      }
      for (int j = 0; j < kVector; j++) {
        std::string p = e_.fresh("o");
        e_.line(fmt::format("Pack<{}, {}> {};", memory_type(t), kVector, p));
        for (int g = 0; g < kVector; g++) {
          e_.line(fmt::format("{}.v[{}] = {};", p, g, e_.at(v, Level::Slot, g * kVector + j)));
        }
        e_.line(fmt::format("stp<{}, {}>({} + (lu * 4 + {}) * {} + ((lv ^ lu) & 15) * 4, {});", memory_type(t), kVector,
                            element(i), j, pitch(), p));
      }
    }
    e_.close_bindings();
    e_.append("  {\n" + e_.close_loop() + "  }\n");
  }

  void store_tiles() {
    e_.open_loop({turn_.loaded.symbol, turn_.stored.symbol});
    Val in;
    if (vectors_) {
      e_.line("const i32 sv = t & 15, su = t >> 4;");
      in = bind(turn_.stored, "tile_v + sv * 4", turn_.loaded,
                [](int g) { return fmt::format("tile_u + su + {}", 16 * g); });
    } else {
      e_.line("const i32 sv = t & 63, su = t >> 6;");
      in =
          bind(turn_.stored, "tile_v + sv", turn_.loaded, [](int g) { return fmt::format("tile_u + su + {}", 4 * g); });
    }
    for (size_t i = 0; i < turn_.loads.size(); i++) {
      DType t = region_.scalars.dtype(turn_.loads[i]);
      std::vector<std::string> bits;
      for (int g = 0; g < e_.shape.groups; g++) {
        if (!vectors_) {
          bits.push_back(fmt::format("{}[sv * {} + su + {}]", element(i), pitch(), 4 * g));
          continue;
        }
        std::string p = e_.fresh("r");
        e_.line(fmt::format(
            "const Pack<{0}, {1}> {2} = ldp<{0}, {1}>({3} + (su + {4}) * {5} + ((sv ^ ((su + {4}) >> 2)) & 15) * 4);",
            memory_type(t), kVector, p, element(i), 16 * g, pitch()));
        for (int w = 0; w < kVector; w++) bits.push_back(fmt::format("{}.v[{}]", p, w));
      }
      Level level = vectors_ ? Level::Slot : Level::Group;
      e_.set_value(turn_.loads[i],
                   e_.define(register_type(t), "v", level, [&](int s) { return from_memory(t, bits[s]); }));
    }
    for (size_t i = 0; i < region_.region.outputs.size(); i++) e_.store(i, e_.value(region_.body(i)), &in);
    e_.close_bindings();
    e_.append(e_.close_loop());
  }

  Lowered& region_;
  sym::Store& sym_;
  const Turn& turn_;
  bool vectors_;
  Params params_;
  Emitter e_;
};

}  // namespace

std::optional<Turn> find_turn(Lowered& region, std::span<const Loop> loops) {
  sym::Store& sym = region.sym;
  if (loops.size() < 2) return std::nullopt;
  const Loop& inner = loops.back();
  auto small = [&](const Loop& l) { return region.facts.bounds(l.extent).hi < 16; };
  if (small(inner)) return std::nullopt;
  Turn turn;
  std::optional<size_t> other;
  for (Scalar load : region.loads()) {
    const Lowered::Site& site = region.site(load);
    Expr slope, rest;
    if (!site.safe || !affine(region, site.offset, inner.symbol, &slope, &rest)) continue;
    if (sym.is_const(slope, 0) || sym.is_const(slope, 1)) continue;
    for (size_t i = 0; i + 1 < loops.size(); i++) {
      Expr unit;
      if (small(loops[i]) || !affine(region, site.offset, loops[i].symbol, &unit, &rest) || !sym.is_const(unit, 1))
        continue;
      if (other && *other != i) return std::nullopt;
      other = i;
      turn.loads.push_back(load);
    }
  }
  if (!other || turn.loads.size() > 2) return std::nullopt;
  for (Scalar load : turn.loads) {
    if (size_of(region.scalars.dtype(load)) > 4) return std::nullopt;
  }
  turn.loaded = loops[*other];
  turn.stored = inner;
  for (size_t i = 0; i + 1 < loops.size(); i++) {
    if (i != *other) turn.batch.push_back(loops[i]);
  }
  return turn;
}

Kernel generate_transpose(Lowered& region, const Turn& turn, const GenerateOptions& options) {
  Kernel kernel;
  auto never = [&](const Loop& l) {
    auto c = region.sym.as_const(l.extent);
    return c && *c % kVector != 0;
  };
  if (!never(turn.loaded) && !never(turn.stored)) TransposeWriter(region, turn, true, options).write(kernel);
  if (!complete(region, kernel)) TransposeWriter(region, turn, false, options).write(kernel);
  return kernel;
}

}  // namespace dlcb::kernel
