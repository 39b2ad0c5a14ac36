// Pointwise kernels whose loads lie along another loop than their stores (NCHW <-> NHWC). The output is a matrix: rows
// are all loops that the loads run along (planes of a batch follow each other, so short planes fill tiles too), columns
// the loop that stores run along. A block reads a tile of it along the rows, turns it in shared memory and writes it
// along the columns. The shape of the tile is the host's choice: whole rows where they are short, so that what a block
// writes is one piece of memory. Where both extents are multiples of four, a thread reads 4 x 4 elements as vectors,
// turns them in registers and writes vectors.
#include "kernel/transpose.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "kernel/ctext.h"

namespace dlcb::kernel {

using ops::Scalar;
using ops::ScalarKind;
using sym::Expr;

namespace {

constexpr int kThreads = 256, kVector = 4;
constexpr int kColumnVectors = 16;        // of a tile of vectors at most; it has one 4 x 4 cell a thread
constexpr int kSector = 32;               // bytes that memory moves at once
constexpr int kUnalignedBytes = 512;      // of a row in a tile, where rows begin inside sectors
constexpr int kRows = 64, kColumns = 72;  // of a tile of elements at most
constexpr int kLoads = 8, kStores = 4;    // elements of a thread at a time: loads wait longer

class TransposeWriter {
 public:
  TransposeWriter(Lowered& region, const Turn& turn, bool vectors, const GenerateOptions& options)
      : region_(region),
        sym_(region.sym),
        turn_(turn),
        vectors_(vectors),
        cell_(vectors ? kVector : 1),
        params_(region.sym, region.region, options),
        e_(region, params_, vectors ? Shape{kVector, kVector, 1} : Shape{kLoads, 1, 1}) {
    if (vectors) e_.vector.multiples = {turn.loaded.extent, turn.stored.extent};
    rows_ = turn.batch;
    rows_.push_back(turn.loaded);
    row_count_ = extent_of(sym_, rows_);
    choose_tile();
  }

  void write(Kernel& kernel) {
    block_position();
    load_tile();
    e_.line("__syncthreads();");
    store_tile();
    Launch l;
    l.block[0] = sym_.constant(kThreads);
    l.grid[0] = tiles(turn_.stored.extent, column_cells_);
    set_tall_grid(sym_, tiles(row_count_, row_cells_), l);
    l.max_threads = kThreads;
    l.syncs = true;
    if (vectors_) {
      auto whole = [&](const Loop& x) { return sym_.eq(sym_.mod(x.extent, sym_.constant(kVector)), sym_.constant(0)); };
      l.when = sym_.logical_and(whole(turn_.loaded), whole(turn_.stored));
    }
    add_variant(kernel, region_, e_, params_, l);
  }

 private:
  // Columns are split evenly into as few tiles as can be; vectors take as many rows as there are threads left. Where
  // rows begin inside sectors, both ends of what a tile writes of a row are parts of sectors: tiles are wider then.
  void choose_tile() {
    auto literal = [&](int64_t v) { return sym_.constant(v); };
    Expr cells = sym_.ceildiv(turn_.stored.extent, literal(cell_)), widest = literal(columns());
    if (vectors_) {
      const auto size = static_cast<int>(size_of(region_.region.outputs[0].tensor.dtype));
      Expr inside = sym_.mod(sym_.mul(turn_.stored.extent, literal(size)), literal(kSector));
      widest = sym_.select(sym_.eq(inside, literal(0)), literal(kColumnVectors),
                           literal(std::max(kColumnVectors, kUnalignedBytes / (size * kVector))));
    }
    Expr across = sym_.max(sym_.ceildiv(cells, widest), literal(1));
    column_cells_ = sym_.max(sym_.ceildiv(cells, across), literal(1));
    row_cells_ = vectors_ ? sym_.floordiv(literal(kThreads), column_cells_) : literal(kRows);
  }

  Expr tiles(Expr extent, Expr cells) { return sym_.ceildiv(extent, sym_.mul(cells, sym_.constant(cell_))); }

  // Column tiles are next to each other in time, so that rows are written whole. The tile holds row_end x column_end
  // elements from (tile_row, tile_column) on.
  void block_position() {
    e_.line("const i32 t = i32(threadIdx.x);");
    auto side = [&](const char* name, const char* index, Expr cells, Expr extent) {
      std::string size = params_.argument(sym_.mul(cells, sym_.constant(cell_)));
      e_.line(fmt::format("const i32 tile_{0} = i32({1}) * {2};", name, index, size));
      e_.line(fmt::format("const i32 {0}_end = {1} - tile_{0} < {2} ? {1} - tile_{0} : {2};", name,
                          params_.integer(extent), size));
    };
    side("row", kTallIndex, row_cells_, row_count_);
    side("column", "blockIdx.x", column_cells_, turn_.stored.extent);
  }

  // The thread's index by a divisor of at most kThreads: a product of 16 bits is exact.
  void split_thread(const char* quotient, const char* rest, Expr divisor) {
    Expr inverse = sym_.add(sym_.floordiv(sym_.constant(1 << 16), divisor), sym_.constant(1));
    e_.line(fmt::format("const i32 {0} = t * {2} >> 16, {1} = t - {0} * {3};", quotient, rest,
                        params_.argument(inverse), params_.argument(divisor)));
  }

  // Of a tile of elements at most: what few bytes leave room for.
  int columns() const {
    int bytes = 0;
    for (Scalar v : turn_.values) bytes += tile_bytes(v);
    return std::max(kColumns, 4 * kColumns / bytes);
  }

  // ---- the tile in shared memory: [column][row] of elements, [row][column] of vectors
  std::string tile(size_t value) const { return fmt::format("tile{}", value); }
  std::string_view tile_type(Scalar value) const {
    DType t = region_.scalars.dtype(value);
    return is_load(value) ? memory_type(t) : register_type(t);
  }
  int tile_bytes(Scalar value) const {
    DType t = region_.scalars.dtype(value);
    return is_load(value) || !is_float(t) ? static_cast<int>(size_of(t)) : 4;
  }
  bool is_load(Scalar value) const { return region_.scalars.node(value).kind == ScalarKind::Load; }

  // Columns of elements are padded by a word, so that neighbours fall into different banks.
  int pitch(Scalar value) const { return kRows + std::max(1, 4 / tile_bytes(value)); }
  // Every fourth row of vectors starts a vector later: neighbours write rows four apart, and so meet in no bank.
  std::string vector_at(size_t i, const char* row, const char* column, int of_four) {
    return fmt::format("{0}[({1} * 4 + {3}) * {4} + {1} + {2}]", tile(i), row, column, of_four,
                       params_.argument(column_cells_));
  }

  void declare_tiles() {
    for (size_t i = 0; i < turn_.values.size(); i++) {
      std::string_view type = tile_type(turn_.values[i]);
      if (vectors_)
        e_.line(fmt::format("__shared__ Pack<{}, {}> {}[{}];", type, kVector, tile(i), (kVector + 1) * kThreads));
      else
        e_.line(fmt::format("__shared__ {} {}[{}];", type, tile(i), columns() * pitch(turn_.values[i])));
    }
  }

  // ---- loading: neighbours along a row's loops
  void load_tile() {
    declare_tiles();
    if (vectors_)
      split_thread("lc", "lr", row_cells_);
    else
      e_.line(fmt::format("const i32 lc = t / {0}, lr = t % {0};", kRows));
    std::vector<Expr> symbols = row_symbols();
    if (vectors_) symbols.push_back(turn_.stored.symbol);
    e_.open_loop(symbols);
    const std::string along = bind_row();
    if (vectors_)
      load_cell(along);
    else
      load_elements();
    std::string text = e_.close_loop();
    e_.line(vectors_ ? "if (lr * 4 < row_end & lc * 4 < column_end) {" : "if (lr < row_end) {");
    e_.append(text);
    e_.line("}");
  }

  std::vector<Expr> row_symbols() const {
    std::vector<Expr> symbols;
    for (const Loop& l : rows_) symbols.push_back(l.symbol);
    return symbols;
  }

  // Binds the loops of the row that this thread loads along; the innermost one's coordinate is returned.
  std::string bind_row() {
    e_.line(fmt::format("const i32 row = tile_row + lr{};", vectors_ ? " * 4" : ""));
    std::vector<bool> needed;
    for (const Loop& l : rows_) {
      needed.push_back(std::ranges::any_of(turn_.values, [&](Scalar v) { return region_.depends(v, l.symbol); }));
    }
    auto split = split_index(e_, params_, {"row"}, rows_, needed);
    for (size_t i = 0; i < rows_.size(); i++) {
      if (!split[i].empty()) e_.bind(rows_[i].symbol, {Level::Uniform, split[i]});
    }
    return split.back()[0];
  }

  Val memory_bits(Scalar value) { return is_load(value) ? e_.bits(value) : e_.value(value); }

  // 4 rows x 4 columns.
  void load_cell(const std::string& along) {
    e_.bind(turn_.stored.symbol,
            e_.define("i32", "n", Level::Group, [](int g) { return fmt::format("tile_column + lc * 4 + {}", g); }));
    bind_vector(turn_.loaded, along);
    for (size_t i = 0; i < turn_.values.size(); i++) {
      Val v = memory_bits(turn_.values[i]);
      for (int j = 0; j < kVector; j++) {
        std::string p = e_.fresh("o");
        e_.line(fmt::format("Pack<{}, {}> {};", tile_type(turn_.values[i]), kVector, p));
        for (int g = 0; g < kVector; g++) {
          e_.line(fmt::format("{}.v[{}] = {};", p, g, e_.at(v, Level::Slot, g * kVector + j)));
        }
        e_.line(fmt::format("{} = {};", vector_at(i, "lr", "lc", j), p));
      }
    }
  }

  // The vectors of all groups lie along `loop`, at the same coordinate.
  void bind_vector(const Loop& loop, const std::string& base) {
    Val slots{Level::Slot, {}};
    for (int s = 0; s < e_.shape.slots(); s++) slots.names.push_back(fmt::format("({} + {})", base, s % kVector));
    e_.bind(loop.symbol, slots);
    e_.vector.symbol = loop.symbol;
    e_.vector.base.assign(static_cast<size_t>(e_.shape.groups), base);
  }

  // Indices `step` apart from "at" on, below `end`, each with its guard.
  Val steps(const std::string& step, const char* end, Val* inside) {
    Val at{Level::Group, {}};
    for (int g = 0; g < e_.shape.groups; g++) at.names.push_back(g == 0 ? "at" : e_.fresh("k"));
    for (int g = 1; g < e_.shape.groups; g++)
      e_.line(fmt::format("const i32 {} = {} + {};", at.names[g], at.names[g - 1], step));
    *inside = e_.define("bool", "in", Level::Group, [&](int g) { return fmt::format("{} < {}", at.names[g], end); });
    return at;
  }

  // A value that grows by `step` from group to group.
  std::vector<std::string> walk(const std::string& first, const std::string& step) {
    std::vector<std::string> names;
    for (int g = 0; g < e_.shape.groups; g++) {
      names.push_back(e_.fresh("i"));
      e_.line(fmt::format("const i32 {} = {};", names[g], g == 0 ? first : names[g - 1] + " + " + step));
    }
    return names;
  }

  void append_steps(const char* first, const std::string& step, const char* end, const std::string& text) {
    e_.line(fmt::format("for (i32 at = {}; at < {}; at = advance(at, {} * {})) {{", first, end, step, e_.shape.groups));
    e_.append(text);
    e_.line("}");
  }

  void load_elements() {
    constexpr int kStep = kThreads / kRows;
    e_.open_loop({turn_.stored.symbol});
    Val in, at = steps(std::to_string(kStep), "column_end", &in);
    walk_loads(kStep);
    e_.open_guard({turn_.stored.symbol}, in);
    e_.bind(turn_.stored.symbol,
            e_.define("i32", "n", Level::Group, [&](int g) { return "tile_column + " + at.names[g]; }));
    for (size_t i = 0; i < turn_.values.size(); i++) {
      Val v = memory_bits(turn_.values[i]);
      for (int g = 0; g < kLoads; g++) {
        e_.line(fmt::format("if ({}) {}[at * {} + lr + {}] = {};", in.names[g], tile(i), pitch(turn_.values[i]),
                            g * kStep * pitch(turn_.values[i]), e_.at(v, Level::Group, g)));
      }
    }
    e_.close_bindings();
    e_.vector.flat = {};
    append_steps("lc", std::to_string(kStep), "column_end", e_.close_loop());
  }

  // Offsets of the first load (and of all that differ from it by something invariant) by adding, not by multiplying.
  void walk_loads(int step) {
    if (!is_load(turn_.values[0])) return;
    Expr offset = region_.site(turn_.values[0]).offset, slope, rest;
    if (!affine(region_, offset, turn_.stored.symbol, &slope, &rest) || region_.variant(slope)) return;
    e_.open_bindings({turn_.stored.symbol});
    e_.bind(turn_.stored.symbol, {Level::Uniform, {"(tile_column + at)"}});
    const std::string first = e_.index(offset).names[0];
    e_.close_bindings();
    e_.vector.flat = offset;
    e_.vector.flat_base = walk(first, params_.integer(sym_.mul(slope, sym_.constant(step))));
  }

  // ---- storing: neighbours along the columns
  void store_tile() {
    split_thread("sr", "sc", column_cells_);
    e_.open_loop({turn_.stored.symbol});
    e_.line(fmt::format("const i32 column = tile_column + sc{};", vectors_ ? " * 4" : ""));
    if (vectors_)
      bind_vector(turn_.stored, "column");
    else
      e_.bind(turn_.stored.symbol, {Level::Uniform, {"column"}});
    e_.open_loop(row_symbols());
    if (vectors_)
      store_cell();
    else
      store_elements();
    const std::string text = e_.close_loop();
    const std::string step = rows_a_step();
    if (vectors_)
      e_.append(text);
    else
      append_steps("sr", step, "row_end", text);
    const std::string all = e_.close_loop();
    e_.line(vectors_ ? "if (sr * 4 < row_end & sc * 4 < column_end) {"
                     : fmt::format("if (sr < {} & sc < column_end) {{", step));
    e_.append(all);
    e_.line("}");
  }

  // Rows that the block's threads store at a time, one element each.
  std::string rows_a_step() { return params_.argument(sym_.floordiv(sym_.constant(kThreads), column_cells_)); }

  void store_cell() {
    Val row = e_.define("i32", "n", Level::Group, [](int g) { return fmt::format("tile_row + sr * 4 + {}", g); });
    bind_rows(row, "1");
    std::vector<Val> bits;
    for (size_t i = 0; i < turn_.values.size(); i++) {
      bits.push_back({Level::Slot, {}});
      for (int g = 0; g < kVector; g++) {
        std::string p = e_.fresh("r");
        e_.line(fmt::format("const Pack<{}, {}> {} = {};", tile_type(turn_.values[i]), kVector, p,
                            vector_at(i, "sr", "sc", g)));
        for (int w = 0; w < kVector; w++) bits.back().names.push_back(fmt::format("{}.v[{}]", p, w));
      }
    }
    store_outputs(bits, nullptr);
  }

  void store_elements() {
    e_.shape.groups = kStores;
    const std::string step = rows_a_step();
    Val in, at = steps(step, "row_end", &in);
    Val row = e_.define("i32", "n", Level::Group, [&](int g) { return "tile_row + " + at.names[g]; });
    e_.open_guard(row_symbols(), in);
    bind_rows(row, step);
    std::vector<Val> bits;
    for (size_t i = 0; i < turn_.values.size(); i++) {
      bits.push_back(e_.define(tile_type(turn_.values[i]), "r", Level::Group, [&](int g) {
        return fmt::format("{}[sc * {} + {}]", tile(i), pitch(turn_.values[i]), at.names[g]);
      }));
    }
    store_outputs(bits, &in);
    e_.close_bindings();
  }

  void store_outputs(const std::vector<Val>& bits, const Val* inside) {
    for (size_t i = 0; i < turn_.values.size(); i++) {
      DType t = region_.scalars.dtype(turn_.values[i]);
      auto text = [&](int lane) {
        const std::string& name = bits[i].names[lane];
        return is_load(turn_.values[i]) ? from_memory(t, name) : name;
      };
      e_.set_value(turn_.values[i], e_.define(register_type(t), "v", bits[i].level, text));
    }
    for (size_t i = 0; i < region_.region.outputs.size(); i++) {
      auto same = std::ranges::find(turn_.values, region_.body(i));
      const bool copy = same != turn_.values.end() && is_load(*same) &&
                        region_.scalars.dtype(*same) == region_.region.outputs[i].tensor.dtype;
      if (copy)
        e_.store_bits(i, bits[static_cast<size_t>(same - turn_.values.begin())], inside);
      else
        e_.store(i, e_.value(region_.body(i)), inside);
    }
  }

  // Rows `step` apart. Where the output is the matrix itself, its elements need no coordinates.
  void bind_rows(const Val& row, const std::string& step) {
    Expr flat = sym_.constant(0);
    if (turn_.row_major) {
      std::vector<Loop> loops = rows_;
      loops.push_back(turn_.stored);
      flat = linear(sym_, loops);
      std::string columns = params_.integer(turn_.stored.extent);
      e_.vector.flat = flat;
      e_.vector.flat_base =
          walk(fmt::format("{} * {} + column", row.names[0], columns), fmt::format("{} * {}", step, columns));
    }
    auto split = split_index(e_, params_, row.names, rows_, needed_loops(region_, rows_, flat, computed()));
    for (size_t i = 0; i < rows_.size(); i++) {
      if (!split[i].empty()) e_.bind(rows_[i].symbol, {Level::Group, split[i]});
    }
  }

  // Loads that are in the tile, directly or as part of a window.
  std::vector<Scalar> computed() const {
    std::vector<Scalar> all;
    for (Scalar v : turn_.values) {
      auto loads = region_.scalars.loads(v);
      all.insert(all.end(), loads.begin(), loads.end());
    }
    return all;
  }

  Lowered& region_;
  sym::Store& sym_;
  const Turn& turn_;
  const bool vectors_;
  const int cell_;  // elements along each side of what a thread turns
  Params params_;
  Emitter e_;
  std::vector<Loop> rows_;  // batch and loaded
  Expr row_count_;
  Expr row_cells_, column_cells_;  // the tile's sides
};

// Finds what is worth turning: loads that lie along another loop than the output, or whole windows over such loads.
class TurnFinder {
 public:
  TurnFinder(Lowered& region, std::span<const Loop> loops) : region_(region), loops_(loops) {
    for (size_t i = 0; i < region.region.outputs.size(); i++) visit(region.body(i));
  }

  std::vector<Scalar> values;
  std::optional<size_t> along;  // index of the loop that they lie along

 private:
  static constexpr size_t kValues = 2;  // tiles in shared memory

  bool small(const Loop& l) const { return region_.facts.bounds(l.extent).hi < 16; }

  void visit(Scalar s) {
    if (values.size() == kValues || !seen_.insert(s.id).second) return;
    const ops::ScalarNode node = region_.scalars.node(s);
    const bool fits = size_of(node.dtype) <= 4 && only_loops(s);
    if (fits && (node.kind == ScalarKind::Load ? across(s) : node.kind == ScalarKind::Reduce && window_across(s))) {
      values.push_back(s);
      return;
    }
    for (Scalar operand : node.operands) visit(operand);
  }

  // Its value is one of the output's coordinates, not of a window's.
  bool only_loops(Scalar s) {
    return std::ranges::all_of(region_.symbols(s), [&](Expr symbol) {
      return std::ranges::find(loops_, symbol, &Loop::symbol) != loops_.end();
    });
  }

  bool window_across(Scalar reduce) {
    std::vector<Scalar> loads = region_.scalars.loads(reduce);
    if (!std::ranges::all_of(loads, [&](Scalar l) { return region_.site(l).safe; })) return false;
    return std::ranges::any_of(loads, [&](Scalar l) { return across(l); });
  }

  // Far apart along the innermost loop, adjacent along the one that all turned values share.
  bool across(Scalar load) {
    const Lowered::Site& site = region_.site(load);
    Expr slope, rest;
    if (!site.safe || !affine(region_, site.offset, loops_.back().symbol, &slope, &rest)) return false;
    if (region_.sym.is_const(slope, 0) || region_.sym.is_const(slope, 1)) return false;
    for (size_t i = 0; i + 1 < loops_.size(); i++) {
      Expr unit;
      if (small(loops_[i]) || !affine(region_, site.offset, loops_[i].symbol, &unit, &rest)) continue;
      if (!region_.sym.is_const(unit, 1) || (along && *along != i)) continue;
      along = i;
      return true;
    }
    return false;
  }

  Lowered& region_;
  std::span<const Loop> loops_;
  std::unordered_set<uint32_t> seen_;
};

}  // namespace

std::optional<Turn> find_turn(Lowered& region, std::span<const Loop> loops) {
  if (loops.size() < 2 || region.facts.bounds(loops.back().extent).hi < 16) return std::nullopt;
  TurnFinder found(region, loops);
  if (found.values.empty()) return std::nullopt;
  Turn turn;
  turn.values = found.values;
  turn.loaded = loops[*found.along];
  turn.stored = loops.back();
  turn.row_major = *found.along == loops.size() - 2;
  for (size_t i = 0; i + 1 < loops.size(); i++) {
    if (i != *found.along) turn.batch.push_back(loops[i]);
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
