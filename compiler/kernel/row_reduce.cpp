// Reductions along rows. T lanes share a row (T is chosen per launch, so that T * K * W is just above the row length);
// each lane keeps K vectors of W elements, and what is computed from them, in registers for all stages. Where the
// length is not known the launch also says how many of the K there are, and the text of the others is skipped. Rows too
// long for that are read once per stage.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "kernel/ctext.h"
#include "kernel/row_combine.h"
#include "kernel/row_pairs.h"
#include "kernel/row_stage.h"
#include "kernel/split.h"

namespace dlcb::kernel {

using ops::Scalar;
using sym::Expr;

namespace {

constexpr int kHeavyBody = 96;
constexpr int kStagedBody = 40;  // beyond it staging saves little of the work, and its text is long

class RowWriter {
 public:
  RowWriter(Lowered& region, const Reductions& r, const RowPlan& plan, const GenerateOptions& options)
      : region_(region),
        sym_(region.sym),
        r_(r),
        plan_(plan),
        params_(region.sym, region.region, options),
        e_(region, params_, Shape{plan.groups(), plan.width, 1}),
        columns_(extent_of(region.sym, r.reduced)),
        covered_(plan.paired || plan.staged ? sym_.add(columns_, sym_.constant(1)) : columns_),
        is_cut_(r.cut && plan.mode == RowPlan::Looped),
        lanes_(lanes_of(region.sym, covered_, plan)),
        apart_(sym_.mul(sym_.ceildiv(extent_of(sym_, r.kept), sym_.constant(2 * plan.rows)), sym_.constant(2))) {
    if (plan.paired) pairs_.emplace(region, r, params_, e_);
    if (plan.staged) stage_.emplace(region, r, plan_, lanes_, params_, e_);
    for (const Loop& l : r.reduced) symbols_.push_back(l.symbol);
  }

  void write(Kernel& kernel) {
    bind_rows();
    if (plan_.width > 1 && !pairs_ && !stage_) e_.vector.multiples = {columns_};
    switch (plan_.mode) {
      case RowPlan::Registers:
        in_registers();
        break;
      case RowPlan::Stepped:
        stepped();
        break;
      case RowPlan::Looped:
        stages([&](const std::vector<Scalar>&, const std::function<void()>& body) { loop(body); });
        break;
    }
    launch(kernel);
  }

 private:
  using Body = std::function<void()>;
  // Writes `body` for all columns of the lane; `needs` is what it computes.
  using Columns = std::function<void(const std::vector<Scalar>& needs, const Body& body)>;

  // The rows of this thread, each clamped to one that exists. They are an even number apart: all even or all odd.
  void bind_rows() {
    std::string lanes = plan_.fixed ? fmt::format("{}", plan_.max_lanes) : "i32(blockDim.x)";
    e_.line(fmt::format("const i32 lane = i32(threadIdx.x), lanes = {};", lanes));
    std::string n = params_.integer(extent_of(sym_, r_.kept));
    std::vector<std::string> rows;
    if (stage_) {
      e_.line("const i32 height = i32(blockDim.y);");
      e_.line(
          fmt::format("const i32 first = i32(blockIdx.x) * {} * height, at = first + i32(threadIdx.y);", plan_.rows));
    } else {
      e_.line("const i32 at = i32(blockIdx.x * blockDim.y + threadIdx.y);");
    }
    if (is_cut_) open_part(e_, params_, region_, r_);
    for (int q = 0; q < plan_.rows; q++) {
      std::string inside = e_.fresh("inside"), row = e_.fresh("row");
      std::string apart = stage_ ? "height" : plan_.rows > 1 ? params_.integer(apart_) : "";
      std::string at = q == 0 ? "at" : fmt::format("at + {} * {}", q, apart);
      std::string exists = fmt::format("{} < {}", at, n);
      if (!stage_ && plan_.rows > 1) exists = fmt::format("{} & at < {}", exists, apart);
      e_.line(fmt::format("const bool {} = {};", inside, exists));
      e_.line(fmt::format("const i32 {} = {} ? {} : {};", row, inside, at, q == 0 ? n + " - 1" : rows[0]));
      inside_.push_back(inside);
      rows.push_back(row);
    }
    if (pairs_) pairs_->open(rows);
    if (stage_) stage_->open();
    std::vector<bool> needed = needed_loops(region_, r_.kept, sym_.constant(0));
    auto coordinates = split_index(e_, params_, rows, r_.kept, needed);
    for (size_t i = 0; i < r_.kept.size(); i++) {
      if (!coordinates[i].empty()) e_.bind(r_.kept[i].symbol, of_rows(coordinates[i]));
    }
  }

  // A value of each row, as lanes see it.
  Val of_rows(const std::vector<std::string>& names) const {
    if (plan_.rows == 1) return {Level::Uniform, names};
    Val v{Level::Group, {}};
    for (int g = 0; g < plan_.groups(); g++) v.names.push_back(names[row_of(g)]);
    return v;
  }
  int row_of(int group) const { return plan_.rows == 1 ? 0 : group / (plan_.groups() / plan_.rows); }

  // Columns of this lane, and whether they exist: those of vector `k` where vectors are written one by one, else of all
  // of them, after `start` ("" or a loop variable). Sets vector and in_.
  void bind_columns(const std::string& start, int k) {
    if (pairs_) return bind_pairs(k);
    if (stage_) return bind_staged(k);
    const int width = plan_.width, groups = e_.shape.groups;
    std::vector<std::string>& base = e_.vector.base;
    if (plan_.fixed) {
      const std::string origin = e_.fresh("c"), lane = width == 1 ? "lane" : fmt::format("lane * {}", width);
      e_.line(fmt::format("const i32 {} = {}{};", origin, start.empty() ? "" : start + " + ", lane));
      e_.vector.origin.assign(groups, origin);
      e_.vector.distance.clear();
      base.clear();
      for (int64_t g = 0; g < groups; g++) {
        e_.vector.distance.push_back(g * plan_.max_lanes * width);
        base.push_back(g == 0 ? origin : fmt::format("({} + {})", origin, e_.vector.distance[g]));
      }
    } else {
      std::string lane = k == 0 ? "lane" : k == 1 ? "(lane + lanes)" : fmt::format("(lane + {} * lanes)", k);
      base = e_.define("i32", "c", Level::Group, [&](int) {
                 return width == 1 ? lane : fmt::format("{} * {}", lane, width);
               }).names;
    }
    auto inside = [&](int g) { return plan_.exact ? "true" : before_end(base[g]); };
    if (plan_.mode == RowPlan::Stepped)  // kept as text: comparing again is cheaper than keeping the outcome
      in_ = {Level::Group, std::vector<std::string>(groups, fmt::format("({})", inside(0)))};
    else
      in_ = e_.define("bool", "in", Level::Group, inside);
    if (r_.reduced.size() == 1) e_.vector.symbol = r_.reduced[0].symbol;
  }

  std::string before_end(const std::string& column) {
    return fmt::format("{} < {}", column, is_cut_ ? "end" : params_.integer(columns_));
  }

  void bind_pairs(int k) {
    const std::string length = params_.integer(columns_);
    const std::vector<std::string>& base = e_.vector.base =
        e_.define("i32", "c", Level::Group, [&](int) { return pairs_->column(k); }).names;
    in_ = {Level::Slot, {}};
    for (int s = 0; s < e_.shape.slots(); s++)
      in_.names.push_back(fmt::format("(u32({} + {}) < u32({}))", base[s / 2], s % 2, length));
  }

  // Columns stay text: adding again is cheaper than keeping all of them.
  void bind_staged(int k) {
    const int accesses = plan_.groups() / plan_.rows;
    in_ = {Level::Slot, {}};
    Emitter::Vector& vector = e_.vector;
    vector = {};
    if (plan_.width == 1) vector.symbol = r_.reduced[0].symbol;
    for (int g = 0; g < plan_.groups(); g++) {
      vector.base.push_back(fmt::format("({})", stage_->column(k, g % accesses)));
      if (plan_.fixed && plan_.width == 1) {
        vector.origin.emplace_back("lane");
        vector.distance.push_back(plan_.max_lanes * (g % accesses));
      }
      for (int w = 0; w < plan_.width; w++) in_.names.push_back(stage_->inside(k, g % accesses, w));
    }
  }

  // Binds the reduced loops; in the scope of their symbols.
  void bind_reduced() {
    const int width = plan_.width;
    std::vector<std::string> slots;
    for (int s = 0; s < e_.shape.slots(); s++) {
      const std::string& c = e_.vector.base[s / width];
      slots.push_back(s % width == 0 ? c : fmt::format("({} + {})", c, s % width));
    }
    if (r_.reduced.size() == 1) {
      e_.bind(r_.reduced[0].symbol, {Level::Slot, slots});
      return;
    }
    auto split = split_index(e_, params_, slots, r_.reduced, needed_loops(region_, r_.reduced, sym_.constant(0)));
    for (size_t i = 0; i < r_.reduced.size(); i++) {
      if (!split[i].empty()) e_.bind(r_.reduced[i].symbol, {Level::Slot, split[i]});
    }
  }

  void open_columns(const std::string& start) {
    bind_columns(start, 0);
    if (plan_.exact)
      e_.open_bindings(symbols_);
    else
      e_.open_guard(symbols_, in_);
    bind_reduced();
  }

  // ---- reductions; `accs` has one accumulator a row
  std::string_view type_of(const Reduction& r) const { return register_type(region_.scalars.node(r.node).dtype); }
  std::string combined(const Reduction& r, const std::string& a, const std::string& b) const {
    const ops::ScalarNode& node = region_.scalars.node(r.node);
    return reduce_text(node.reduce, node.dtype, a, b);
  }
  std::string identity(const Reduction& r) const {
    const ops::ScalarNode& node = region_.scalars.node(r.node);
    return reduce_identity(node.reduce, node.dtype);
  }

  std::vector<std::string> declare(const Reduction& r) {
    std::vector<std::string> accs;
    for (int q = 0; q < plan_.rows; q++) {
      accs.push_back(e_.fresh("a"));
      e_.line(fmt::format("{} {} = {};", type_of(r), accs.back(), identity(r)));
    }
    return accs;
  }

  // acc = acc op (this lane's elements).
  void accumulate(const Reduction& r, const std::vector<std::string>& accs) {
    Val v = e_.value(r.operand);
    const int together = in_.level == Level::Slot ? 1 : plan_.width;  // elements that are inside or outside as one
    for (int first = 0; first < e_.shape.slots(); first += together) {
      std::string part = e_.at(v, Level::Slot, first);
      for (int w = 1; w < together; w++) {
        std::string name = e_.fresh("t"), next = e_.at(v, Level::Slot, first + w);
        e_.line(fmt::format("const {} {} = {};", type_of(r), name, combined(r, part, next)));
        part = name;
      }
      const std::string& acc = accs[row_of(first / plan_.width)];
      e_.line(guarded(in_.names[first / together], fmt::format("{} = {};", acc, combined(r, acc, part))));
    }
  }

  bool is_elementwise(size_t output) {
    return std::ranges::any_of(symbols_, [&](Expr s) { return region_.depends(region_.store_offset(output), s); });
  }

  void store_elements() {
    const int each = in_.level == Level::Slot ? plan_.width : 1;
    Val put;
    for (size_t i = 0; i < region_.region.outputs.size(); i++) {
      if (!is_elementwise(i)) continue;
      if (pairs_ && pairs_->holds(i)) {
        pairs_->store(i, vector_, inside_, in_, e_.body_bits(i));
        continue;
      }
      if (stage_ && stage_->holds(i)) {
        stage_->store(i, vector_, in_, e_.body_bits(i));
        continue;
      }
      if (put.names.empty()) {
        put = e_.define("bool", "put", in_.level,
                        [&](int g) { return fmt::format("{} & {}", inside_[row_of(g / each)], in_.names[g]); });
      }
      e_.store_body(i, &put);
    }
  }

  void store_rows() {
    for (size_t i = 0; i < region_.region.outputs.size(); i++) {
      if (is_elementwise(i)) continue;
      std::vector<std::string> first;
      for (const std::string& inside : inside_)
        first.push_back(stores_part(region_.region.outputs[i], fmt::format("({} & (lane == 0))", inside), is_cut_));
      Val in = of_rows(first);
      for (size_t g = 1; g < in.names.size(); g++) {  // one store a row
        if (row_of(static_cast<int>(g)) == row_of(static_cast<int>(g) - 1)) in.names[g] = "false";
      }
      if (!first[0].empty()) e_.store_body(i, &in);
    }
  }

  // Reductions of one stage share a pass over the columns; then come the elements of outputs, and the rows.
  void stages(const Columns& columns) {
    for (int stage = 0; stage <= r_.all.back().stage; stage++) {
      std::vector<const Reduction*> here;
      std::vector<Scalar> needs;
      std::vector<std::vector<std::string>> accs;
      for (const Reduction& r : r_.all) {
        if (r.stage != stage) continue;
        here.push_back(&r);
        needs.push_back(r.operand);
        accs.push_back(declare(r));
      }
      columns(needs, [&] {
        for (size_t i = 0; i < here.size(); i++) accumulate(*here[i], accs[i]);
      });
      for (size_t i = 0; i < here.size(); i++) {
        combine_lanes(e_, region_.scalars.node(here[i]->node), plan_, accs[i]);
        e_.set_value(here[i]->node, of_rows(accs[i]));
      }
    }
    std::vector<Scalar> needs;
    for (size_t i = 0; i < region_.region.outputs.size(); i++) {
      if (is_elementwise(i)) needs.push_back(region_.body(i));
    }
    if (!needs.empty()) columns(needs, [&] { store_elements(); });
    if (stage_) stage_->close();
    store_rows();
  }

  void in_registers() {
    open_columns("");
    stages([&](const std::vector<Scalar>& needs, const Body& body) {
      for (Scalar load : row_loads(region_, r_, needs)) {
        if (stage_ && stage_->holds(load)) fetch(load, 0);
      }
      body();
    });
    e_.close_bindings();
  }

  // One block of text a vector, all but the first conditional. Loads from memory of all vectors come before the first
  // use of any.
  void stepped() {
    const Expr step = sym_.mul(lanes_, sym_.constant(stage_ ? kTogether : plan_.width));
    if (!plan_.fixed) steps_ = params_.integer(stage_ ? sym_.floordiv(columns_, step) : sym_.ceildiv(covered_, step));
    stages([&](const std::vector<Scalar>& needs, const Body& body) {
      std::vector<Scalar> staged, loads = row_loads(region_, r_, needs);
      std::erase_if(loads, [&](Scalar load) {
        if (!stage_ || !stage_->holds(load)) return false;
        staged.push_back(load);
        return true;
      });
      if (!loads.empty())
        each_vector([&](int k) {
          for (Scalar load : loads) fetch(load, k);
        });
      each_vector([&](int k) {
        for (Scalar load : staged) fetch(load, k);
        body();
      });
    });
  }

  void fetch(Scalar load, int k) {
    if (e_.knows(load)) return;
    if (pairs_ && pairs_->holds(load)) return e_.set_bits(load, pairs_->load(load, k, e_.vector.base[0]));
    if (stage_ && stage_->holds(load)) return e_.set_bits(load, stage_->load(load, k));
    e_.fetch(load);
  }

  void each_vector(const std::function<void(int)>& body) {
    std::vector<std::string> texts;
    const int vectors = plan_.vectors + (stage_ ? 1 : 0);
    for (int k = 0; k < vectors; k++) {
      const bool fresh = static_cast<int>(blocks_.size()) == k;
      if (fresh) blocks_.push_back({e_.make_block(symbols_), e_.vector, {}});
      Block& block = blocks_[k];
      e_.enter(block.id);
      e_.vector = block.vector;
      in_ = block.in;
      vector_ = k;
      if (fresh) {
        bind_columns("", k);
        const bool all = std::ranges::all_of(in_.names, [](const std::string& in) { return in == "true"; });
        if (!all) e_.guard_block(in_);
        bind_reduced();
      }
      body(k);
      block.vector = e_.vector;
      block.in = in_;
      texts.push_back(e_.leave());
    }
    if (std::ranges::all_of(texts, [](const std::string& t) { return t.empty(); })) return;
    int open = 0;
    for (int k = 0; k < plan_.vectors; k++) {
      const bool always = plan_.fixed || (k == 0 && !stage_);
      if (!always) e_.line(fmt::format("if ({} < {}) {{", k, steps_));
      open += !always;
      e_.append(texts[k]);
    }
    if (open > 0) e_.line(std::string(static_cast<size_t>(open), '}'));
    if (stage_) e_.append(texts.back());
  }

  void loop(const Body& body) {
    std::string b = e_.fresh("b");
    e_.open_loop(symbols_);
    open_columns(b);
    body();
    e_.close_bindings();
    std::string text = e_.close_loop();
    e_.line("#pragma unroll 1");  // the text holds enough loads to be in flight
    e_.line(fmt::format("for (i32 {0} = {1}; {0} < {2}; {0} += {3}) {{", b, is_cut_ ? "begin" : "0",
                        is_cut_ ? "end" : params_.integer(columns_), e_.shape.slots() * plan_.max_lanes));
    e_.append(text);
    e_.line("}");
  }

  void launch(Kernel& kernel) {
    auto c = [&](int64_t v) { return sym_.constant(v); };
    Launch l;
    l.when = c(1);
    if (!plan_.fixed) l.when = sym_.le(covered_, c(plan_.max_lanes * plan_.elements()));
    if (plan_.width > 1 && !pairs_ && !stage_)
      l.when = sym_.logical_and(sym_.eq(sym_.mod(columns_, c(plan_.width)), c(0)), l.when);
    if (r_.cut && !is_cut_) l.when = sym_.logical_and(l.when, sym_.logical_not(r_.cut->when));
    l.when = region_.facts.simplify(l.when);
    Expr rows_a_block = sym_.select(sym_.le(lanes_, c(32)), sym_.floordiv(c(kBlockThreads), lanes_), c(1));
    l.block[0] = lanes_;
    l.block[1] = rows_a_block;
    l.grid[0] = sym_.ceildiv(plan_.rows > 1 && !stage_ ? apart_ : extent_of(sym_, r_.kept),
                             stage_ ? sym_.mul(rows_a_block, c(plan_.rows)) : rows_a_block);
    if (is_cut_) l.grid[1] = r_.cut->parts;
    l.max_threads = static_cast<uint32_t>(std::max(kBlockThreads, plan_.max_lanes));
    if (stage_) l.shared_bytes = stage_->shared_bytes();
    l.syncs = true;
    add_variant(kernel, region_, e_, params_, l);
  }

  struct Block {
    size_t id;
    Emitter::Vector vector;
    Val in;
  };
  Lowered& region_;
  sym::Store& sym_;
  const Reductions& r_;
  RowPlan plan_;
  Params params_;
  Emitter e_;
  // Of a row; what its lanes must cover: pairs begin a column early in every other odd row, and the last vector of a
  // staged row is not full.
  Expr columns_, covered_;
  bool is_cut_;         // the block has a part of each row
  Expr lanes_, apart_;  // apart_: distance of the rows of a thread
  std::optional<RowPairs> pairs_;
  std::optional<RowStage> stage_;
  std::vector<Expr> symbols_;        // of the reduced loops
  std::vector<std::string> inside_;  // per row: it exists
  Val in_;                           // per vector: it is inside the row
  int vector_ = 0;                   // of those written one by one
  std::string steps_;                // vectors a lane
  std::vector<Block> blocks_;
};

}  // namespace

Kernel generate_row_reduce(Lowered& region, Reductions r, const GenerateOptions& options) {
  Kernel kernel;
  kernel.schedule = Schedule::RowReduce;
  region.collapse(r.kept);
  region.collapse(r.reduced);
  sym::Store& sym = region.sym;
  const Expr columns = extent_of(sym, r.reduced);
  const int cost = body_cost(region);
  const bool heavy = cost > kHeavyBody;
  const bool narrow = widest_element(region, r) <= 2;
  const int budget = heavy ? 8 : narrow ? 24 : 16;  // elements a lane
  const int width = row_width(region, r, heavy);
  const auto length = sym.as_const(columns);
  const int64_t most = region.facts.bounds(columns).hi;
  auto write = [&](const RowPlan& plan) { RowWriter(region, r, plan, options).write(kernel); };
  auto registers = [&](int w, int k, int rows) {
    if (r.cut && region.facts.proves(r.cut->when)) return;
    if (length) {
      if (RowPlan plan = plan_of_length(*length, w, k); plan.max_lanes <= kMostLanes) write(plan);
      return;
    }
    write({RowPlan::Stepped, k, w, rows});
  };
  const bool can_divide =
      width > 1 && (!length || *length % width == 0) &&
      region.facts.prove(sym.eq(sym.mod(columns, sym.constant(width)), sym.constant(0))) != sym::Tri::No;
  const auto looped = [&](int w, int vectors) {
    RowPlan plan{RowPlan::Looped, vectors, w};
    plan.max_lanes = 512;
    plan.fixed = true;
    write(plan);
  };
  if (can_divide) registers(width, budget / width, 1);
  if (!complete(region, kernel) && cost <= kStagedBody && !(length && can_divide)) {
    if (const std::optional<RowPlan> plan = RowStage::plan(region, r)) write(*plan);
  }
  // Of elements one by one, those that rows share count for two rows at a time.
  const int rows = narrow && !heavy && r.reduced.size() == 1 ? 2 : 1;
  if (!complete(region, kernel) && narrow && !length && RowPairs::applies(region, r)) {
    RowPlan plan{RowPlan::Stepped, 5, 2, rows};
    plan.paired = true;
    write(plan);
  } else if (!complete(region, kernel) && !(length && can_divide && *length > kMostLanes * 8)) {
    registers(1, 8, rows);
  }
  if (r.cut) {
    if (can_divide) looped(width, std::max(1, budget / width));
    if (!complete(region, kernel)) looped(1, budget / 2);
  } else if (!complete(region, kernel) && most > kMostLanes * 8) {
    const bool vectors = width > 1 && length && *length % width == 0;
    looped(vectors ? width : 1, vectors ? 2 : 4);
  }
  return kernel;
}

}  // namespace dlcb::kernel
