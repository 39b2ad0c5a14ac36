// Reductions along rows. T lanes share a row (T is chosen per launch, so that T * K * W is just above the row length);
// each lane keeps K vectors of W elements, and what is computed from them, in registers for all stages. Rows too long
// for that are read once per stage.
#include <fmt/format.h>

#include <algorithm>

#include "kernel/ctext.h"
#include "kernel/reductions.h"

namespace dlcb::kernel {

using ops::Scalar;
using sym::Expr;

namespace {

constexpr int kMaxLanes = 1024;
constexpr int kHeavyBody = 96;

struct RowPlan {
  int vectors = 1, width = 1;  // K, W
  bool looped = false;
  int64_t max_lanes = kMaxLanes;
  bool fixed = false;  // the row length is known, so there are exactly max_lanes lanes
  bool exact = false;  // and together they hold exactly one row
};

class RowWriter {
 public:
  RowWriter(Lowered& region, const Reductions& r, const RowPlan& plan, const GenerateOptions& options)
      : region_(region),
        sym_(region.sym),
        r_(r),
        plan_(plan),
        params_(region.sym, region.region, options),
        e_(region, params_, Shape{plan.vectors, plan.width, 1}),
        columns_(extent_of(region.sym, r.reduced)) {}

  void write(Kernel& kernel) {
    rows();
    if (plan_.width > 1) e_.vector.multiples = {columns_};
    if (plan_.looped)
      looped();
    else
      in_registers();
    launch(kernel);
  }

 private:
  void rows() {
    Expr rows = extent_of(sym_, r_.kept);
    std::string lanes = plan_.fixed ? fmt::format("{}", plan_.max_lanes) : "i32(blockDim.x)";
    e_.line(fmt::format("const i32 lane = i32(threadIdx.x), lanes = {};", lanes));
    e_.line("const u32 at = blockIdx.x * blockDim.y + threadIdx.y;");
    std::string n = params_.integer(rows);
    e_.line(fmt::format("const bool inside = at < u32({});", n));
    e_.line(fmt::format("const i32 row = inside ? i32(at) : {} - 1;", n));
    std::vector<bool> needed = needed_loops(region_, r_.kept, sym_.constant(0));
    auto coordinates = split_index(e_, params_, {"row"}, r_.kept, needed);
    for (size_t i = 0; i < r_.kept.size(); i++) {
      if (!coordinates[i].empty()) e_.bind(r_.kept[i].symbol, {Level::Uniform, coordinates[i]});
    }
  }

  // Columns of this lane, starting at `first` ("" or a loop variable), and whether they exist.
  void bind_columns(const std::string& first) {
    const int width = plan_.width;
    std::string length = params_.integer(columns_);
    Val base = e_.define("i32", "c", Level::Group, [&](int k) {
      std::string lane = k == 0 ? "lane" : k == 1 ? "(lane + lanes)" : fmt::format("(lane + {} * lanes)", k);
      std::string at = width == 1 ? lane : fmt::format("{} * {}", lane, width);
      return first.empty() ? at : fmt::format("{} + {}", first, at);
    });
    in_ = e_.define("bool", "in", Level::Group,
                    [&](int k) { return plan_.exact ? "true" : fmt::format("{} < {}", base.names[k], length); });
    std::vector<Expr> symbols;
    for (const Loop& l : r_.reduced) symbols.push_back(l.symbol);
    if (plan_.exact)
      e_.open_bindings(symbols);
    else
      e_.open_guard(symbols, in_);
    std::vector<std::string> slots;
    for (int s = 0; s < e_.shape.slots(); s++) {
      const std::string& c = base.names[s / width];
      slots.push_back(s % width == 0 ? c : fmt::format("({} + {})", c, s % width));
    }
    if (r_.reduced.size() == 1) {
      e_.vector.symbol = r_.reduced[0].symbol;
      e_.vector.base = base.names;
      e_.bind(r_.reduced[0].symbol, {Level::Slot, slots});
      return;
    }
    auto split = split_index(e_, params_, slots, r_.reduced, needed_loops(region_, r_.reduced, sym_.constant(0)));
    for (size_t i = 0; i < r_.reduced.size(); i++) {
      if (!split[i].empty()) e_.bind(r_.reduced[i].symbol, {Level::Slot, split[i]});
    }
  }

  // acc = acc op (this lane's elements).
  void accumulate(const Reduction& r, const std::string& acc) {
    const ops::ScalarNode& node = region_.scalars.node(r.node);
    Val v = e_.value(r.operand);
    for (int k = 0; k < plan_.vectors; k++) {
      std::string part = e_.at(v, Level::Slot, k * plan_.width);
      for (int w = 1; w < plan_.width; w++) {
        std::string name = e_.fresh("t");
        std::string next = e_.at(v, Level::Slot, k * plan_.width + w);
        e_.line(fmt::format("const {} {} = {};", register_type(node.dtype), name,
                            reduce_text(node.reduce, node.dtype, part, next)));
        part = name;
      }
      e_.line(fmt::format("if ({}) {} = {};", in_.names[k], acc, reduce_text(node.reduce, node.dtype, acc, part)));
    }
  }

  std::string declare(const Reduction& r) {
    const ops::ScalarNode& node = region_.scalars.node(r.node);
    std::string acc = e_.fresh("a");
    e_.line(fmt::format("{} {} = {};", register_type(node.dtype), acc, reduce_identity(node.reduce, node.dtype)));
    return acc;
  }

  // Every lane of the row gets the result: shuffles inside a warp, then one word a warp through shared memory.
  void combine(const Reduction& r, const std::string& acc) {
    const ops::ScalarNode& node = region_.scalars.node(r.node);
    auto shuffle = [&](int mask, const std::string& indent, const std::string& condition) {
      std::string body = fmt::format("const {} o = shfl_xor({}, {}); {} = {};", register_type(node.dtype), acc, mask,
                                     acc, reduce_text(node.reduce, node.dtype, acc, "o"));
      e_.line(condition.empty() ? fmt::format("{}{{ {} }}", indent, body)
                                : fmt::format("{}if ({}) {{ {} }}", indent, condition, body));
    };
    for (int mask : {16, 8, 4}) shuffle(mask, "", fmt::format("lanes > {}", mask));
    for (int mask : {2, 1}) shuffle(mask, "", "");
    if (plan_.max_lanes > 32) {
      std::string shared = e_.fresh("s");
      e_.line(fmt::format("__shared__ {} {}[32];", register_type(node.dtype), shared));
      e_.line("if (lanes > 32) {");
      e_.line(fmt::format("  if ((lane & 31) == 0) {}[lane >> 5] = {};", shared, acc));
      e_.line("  __syncthreads();");
      e_.line(fmt::format("  {} = (lane & 31) < (lanes >> 5) ? {}[lane & 31] : {};", acc, shared,
                          reduce_identity(node.reduce, node.dtype)));
      for (int mask : {16, 8, 4, 2, 1}) shuffle(mask, "  ", "");
      e_.line("}");
    }
    e_.set_value(r.node, {Level::Uniform, {acc}});
  }

  void store_elements() {
    Val in = e_.define("bool", "put", Level::Group, [&](int k) { return fmt::format("inside & {}", in_.names[k]); });
    for (size_t i = 0; i < region_.region.outputs.size(); i++) {
      if (is_elementwise(i)) e_.store(i, e_.value(region_.body(i)), &in);
    }
  }

  void store_rows() {
    Val in{Level::Uniform, {"(inside & (lane == 0))"}};
    for (size_t i = 0; i < region_.region.outputs.size(); i++) {
      if (!is_elementwise(i)) e_.store(i, e_.value(region_.body(i)), &in);
    }
  }

  bool is_elementwise(size_t output) {
    return std::ranges::any_of(r_.reduced,
                               [&](const Loop& l) { return region_.depends(region_.store_offset(output), l.symbol); });
  }

  void in_registers() {
    bind_columns("");
    for (const Reduction& r : r_.all) {
      std::string acc = declare(r);
      accumulate(r, acc);
      combine(r, acc);
    }
    store_elements();
    store_rows();
    e_.close_bindings();
  }

  void looped() {
    const int stages = r_.all.back().stage + 1;
    for (int stage = 0; stage < stages; stage++) {
      std::vector<std::string> accs;
      std::vector<const Reduction*> here;
      for (const Reduction& r : r_.all) {
        if (r.stage == stage) here.push_back(&r);
      }
      for (const Reduction* r : here) accs.push_back(declare(*r));
      loop([&] {
        for (size_t i = 0; i < here.size(); i++) accumulate(*here[i], accs[i]);
      });
      for (size_t i = 0; i < here.size(); i++) combine(*here[i], accs[i]);
    }
    bool elements = false;
    for (size_t i = 0; i < region_.region.outputs.size(); i++) elements = elements || is_elementwise(i);
    if (elements) loop([&] { store_elements(); });
    store_rows();
  }

  void loop(const std::function<void()>& body) {
    std::vector<Expr> symbols;
    for (const Loop& l : r_.reduced) symbols.push_back(l.symbol);
    std::string b = e_.fresh("b");
    e_.open_loop(symbols);
    bind_columns(b);
    body();
    e_.close_bindings();
    std::string text = e_.close_loop();
    e_.line(fmt::format("for (i32 {0} = 0; {0} < {1}; {0} += {2} * lanes) {{", b, params_.integer(columns_),
                        e_.shape.slots()));
    e_.append(text);
    e_.line("}");
  }

  void launch(Kernel& kernel) {
    auto c = [&](int64_t v) { return sym_.constant(v); };
    Expr needed = sym_.ceildiv(columns_, c(e_.shape.slots()));
    Expr lanes = sym_.mul(sym_.ceildiv(needed, c(32)), c(32));
    for (int small : {16, 8, 4}) lanes = sym_.select(sym_.le(needed, c(small)), c(small), lanes);
    Launch l;
    if (plan_.looped)
      lanes = c(plan_.max_lanes);
    else if (plan_.max_lanes == kMaxLanes)
      l.when = sym_.le(columns_, c(int64_t{kMaxLanes} * e_.shape.slots()));
    if (plan_.width > 1) {
      Expr aligned = sym_.eq(sym_.mod(columns_, c(plan_.width)), c(0));
      l.when = l.when.valid() ? sym_.logical_and(aligned, l.when) : aligned;
    }
    l.when = region_.facts.simplify(l.when.valid() ? l.when : c(1));
    Expr rows_a_block = sym_.select(sym_.le(lanes, c(32)), sym_.floordiv(c(128), lanes), c(1));
    l.block[0] = lanes;
    l.block[1] = rows_a_block;
    l.grid[0] = sym_.ceildiv(extent_of(sym_, r_.kept), rows_a_block);
    l.max_threads = static_cast<uint32_t>(std::max<int64_t>(128, plan_.max_lanes));
    l.syncs = true;
    add_variant(kernel, region_, e_, params_, l);
  }

  Lowered& region_;
  sym::Store& sym_;
  const Reductions& r_;
  RowPlan plan_;
  Params params_;
  Emitter e_;
  Expr columns_;
  Val in_;
};

int row_width(Lowered& region, const Reductions& r, bool heavy) {
  if (r.reduced.size() != 1) return 1;
  size_t widest = 1;
  bool any = false;
  auto along = [&](Expr offset) {
    Expr slope, rest;
    return affine(region, offset, r.reduced[0].symbol, &slope, &rest) && region.sym.is_const(slope, 1);
  };
  for (Scalar load : region.loads()) {
    if (!region.depends(region.site(load).offset, r.reduced[0].symbol)) continue;
    widest = std::max(widest, size_of(region.scalars.dtype(load)));
    any = any || along(region.site(load).offset);
  }
  for (size_t i = 0; i < region.region.outputs.size(); i++) {
    if (!region.depends(region.store_offset(i), r.reduced[0].symbol)) continue;
    widest = std::max(widest, size_of(region.region.outputs[i].tensor.dtype));
  }
  return any ? std::min(static_cast<int>(16 / widest), heavy ? 4 : 8) : 1;
}

// K for a row of known length: least slack, then rows inside one warp, then few registers.
int vectors_for(int64_t length, int width, int most) {
  int best = 1;
  double least = 1e30;
  for (int k = 1; k <= most; k++) {
    int64_t needed = std::max<int64_t>(1, (length + k * width - 1) / (k * width));
    int64_t lanes = needed <= 4 ? 4 : needed <= 8 ? 8 : needed <= 16 ? 16 : (needed + 31) / 32 * 32;
    if (lanes > kMaxLanes) continue;
    double cost = static_cast<double>(lanes * k * width) / static_cast<double>(std::max<int64_t>(length, 1)) +
                  (lanes > 32 ? 0.08 : 0) + (lanes > 256 ? 0.05 : 0) + 0.02 * k;
    if (cost < least) least = cost, best = k;
  }
  return best;
}

int64_t lanes_for(int64_t length, int slots) {
  int64_t needed = (length + slots - 1) / slots;
  return needed <= 4 ? 4 : needed <= 8 ? 8 : needed <= 16 ? 16 : (needed + 31) / 32 * 32;
}

}  // namespace

Kernel generate_row_reduce(Lowered& region, Reductions r, const GenerateOptions& options) {
  Kernel kernel;
  kernel.schedule = Schedule::RowReduce;
  region.collapse(r.kept);
  region.collapse(r.reduced);
  sym::Store& sym = region.sym;
  const Expr columns = extent_of(sym, r.reduced);
  const bool heavy = body_cost(region) > kHeavyBody;
  const int budget = heavy ? 8 : 16;  // elements a lane
  const int width = row_width(region, r, heavy);
  const auto length = sym.as_const(columns);
  const int64_t most = region.facts.bounds(columns).hi;
  auto registers = [&](int w, int k_most) {
    RowPlan plan{k_most, w, false, kMaxLanes};
    if (length) {
      plan.vectors = vectors_for(*length, w, k_most);
      plan.max_lanes = lanes_for(*length, plan.vectors * w);
      if (plan.max_lanes > kMaxLanes) return;
      plan.fixed = true;
      plan.exact = plan.max_lanes * plan.vectors * w == *length;
    }
    RowWriter(region, r, plan, options).write(kernel);
  };
  const bool can_divide =
      width > 1 && (!length || *length % width == 0) &&
      region.facts.prove(sym.eq(sym.mod(columns, sym.constant(width)), sym.constant(0))) != sym::Tri::No;
  if (can_divide) registers(width, budget / width);
  if (!complete(region, kernel) && !(length && can_divide && *length > int64_t{kMaxLanes} * 8)) registers(1, 8);
  if (!complete(region, kernel) && most > int64_t{kMaxLanes} * 8) {
    const bool vectors = width > 1 && length && *length % width == 0;
    RowWriter(region, r, {vectors ? 2 : 4, vectors ? width : 1, true, 512}, options).write(kernel);
  }
  return kernel;
}

}  // namespace dlcb::kernel
