// One thread, a few elements. Over contiguous tensors vectors need no aligned rows: they are cut from the flat index,
// and where a row ends inside one, the outer coordinates have two values and each element picks its own, or, if only
// columns matter, those of the elements start again from 0.
#include <fmt/format.h>

#include <algorithm>

#include "kernel/schedule.h"

namespace dlcb::kernel {

using ops::Scalar;
using sym::Expr;

namespace {

constexpr int kThreads = 256;
constexpr int kHeavyBody = 64;  // instructions an element from which narrower vectors compile and run better

enum class Mode { Rows, Crossing, Flat, Wrapped, Scalar };

struct Space {
  std::vector<Loop> loops;  // collapsed
  Expr flat, count;
  bool heavy = false;
  bool window = false;  // enough loads in flight with one vector a thread
};

// What one variant is.
struct Plan {
  Mode mode = Mode::Scalar;
  Shape shape;
};

int vector_width(Lowered& region, const Space& space) {
  if (space.loops.empty()) return 1;
  size_t widest = 1;
  for (const Output& o : region.region.outputs) widest = std::max(widest, size_of(o.tensor.dtype));
  for (Scalar load : region.loads()) {
    if (!region.depends(region.site(load).offset, space.loops.back().symbol)) continue;
    widest = std::max(widest, size_of(region.scalars.dtype(load)));
  }
  int width = static_cast<int>(16 / widest);
  return std::min(width, space.heavy ? 4 : 8);
}

// Does some access lie along the innermost loop without being the flat index?
bool has_row_access(Lowered& region, const Space& space) {
  auto along_row = [&](Expr offset) {
    Expr slope, rest;
    if (!region.variant(region.sym.sub(offset, space.flat))) return false;
    return affine(region, offset, space.loops.back().symbol, &slope, &rest) && region.sym.is_const(slope, 1);
  };
  for (Scalar load : region.loads()) {
    if (along_row(region.site(load).offset)) return true;
  }
  for (size_t i = 0; i < region.region.outputs.size(); i++) {
    if (along_row(region.store_offset(i))) return true;
  }
  return false;
}

Plan vector_plan(Lowered& region, const Space& space) {
  Plan plan;
  const int width = vector_width(region, space);
  if (width < 2) return plan;
  Expr inner = space.loops.back().extent;
  plan.shape.width = width;
  plan.shape.groups = width <= 4 && !space.heavy && !space.window ? 2 : 1;
  if (space.loops.size() == 1) {
    plan.mode = Mode::Flat;
  } else if (region.facts.divides(width, inner) || has_row_access(region, space)) {
    // Rows that cannot be divided by the width never take this variant; a constant that cannot is no use at all.
    plan.mode = region.sym.as_const(inner) && !region.facts.divides(width, inner) ? Mode::Crossing : Mode::Rows;
  } else {
    plan.mode = Mode::Crossing;
  }
  if (plan.mode == Mode::Crossing) {
    plan.shape.groups = 1;
    plan.shape.sides = 2;
    if (auto c = region.sym.as_const(inner); c && *c < width) plan.mode = Mode::Scalar;
  }
  return plan;
}

// Vectors over rows of any length, where only columns matter beside the flat index (a bias).
Plan wrapped_plan(Lowered& region, const Space& space) {
  Plan plan;
  const int width = vector_width(region, space);
  if (space.loops.size() < 2 || width < 2) return plan;
  std::vector<bool> needed = needed_loops(region, space.loops, space.flat);
  needed.pop_back();
  if (std::ranges::find(needed, true) == needed.end()) plan = {Mode::Wrapped, {1, width, 1}};
  return plan;
}

class Writer {
 public:
  Writer(Lowered& region, const Space& space, const Plan& plan, const GenerateOptions& options)
      : region_(region),
        space_(space),
        plan_(plan),
        params_(region.sym, region.region, options),
        e_(region, params_, plan.shape) {}

  void write(Kernel& kernel) {
    needed_ = needed_loops(region_, space_.loops, space_.flat);
    const int per_thread = plan_.shape.groups;
    e_.line(fmt::format("const u32 t = blockIdx.x * {}u + threadIdx.x;", kThreads * per_thread));
    switch (plan_.mode) {
      case Mode::Scalar:
        scalar();
        break;
      case Mode::Flat:
        flat();
        break;
      case Mode::Rows:
        rows();
        break;
      case Mode::Crossing:
        crossing();
        break;
      case Mode::Wrapped:
        wrapped();
        break;
    }
    if (plan_.mode != Mode::Flat && plan_.mode != Mode::Wrapped) stores(e_);
    sym::Store& sym = region_.sym;
    Launch launch;
    launch.when = when_;
    launch.max_threads = kThreads;
    launch.block[0] = sym.constant(kThreads);
    launch.grid[0] = sym.ceildiv(space_.count, sym.constant(int64_t{kThreads} * plan_.shape.slots()));
    add_variant(kernel, region_, e_, params_, launch);
  }

 private:
  void stores(Emitter& e) {
    for (size_t i = 0; i < region_.region.outputs.size(); i++) e.store_body(i, inside_ ? &*inside_ : nullptr);
  }

  // Index of group g among all groups: "t", "t + 256u" ...
  std::string group_index(int g) const { return g == 0 ? "t" : fmt::format("t + {}u", g * kThreads); }

  // Declares per group the index (of elements or vectors) clamped to the last one; sets inside_.
  std::vector<std::string> clamped(Expr count) {
    std::string n = params_.integer(count);
    e_.line(fmt::format("if (t >= u32({})) return;", n));
    std::vector<std::string> names{e_.fresh("n")};
    e_.line(fmt::format("const i32 {} = i32(t);", names[0]));
    if (plan_.shape.groups > 1) inside_ = Val{Level::Group, {"true"}};
    for (int g = 1; g < plan_.shape.groups; g++) {
      std::string in = e_.fresh("in"), name = e_.fresh("n");
      e_.line(fmt::format("const bool {} = {} < u32({});", in, group_index(g), n));
      e_.line(fmt::format("const i32 {} = {} ? i32({}) : {} - 1;", name, in, group_index(g), n));
      inside_->names.push_back(in);
      names.push_back(name);
    }
    return names;
  }

  void bind_outer(std::span<const Loop> loops, const std::vector<std::vector<std::string>>& coordinates) {
    for (size_t i = 0; i < loops.size(); i++) {
      if (!coordinates[i].empty()) e_.bind(loops[i].symbol, {Level::Group, coordinates[i]});
    }
  }

  void scalar() {
    std::vector<std::string> at = clamped(space_.count);
    bind_outer(space_.loops, split_index(e_, params_, at, space_.loops, needed_));
    e_.vector.flat = space_.flat;
    e_.vector.flat_base = at;
  }

  std::vector<std::string> times_width(const std::vector<std::string>& vectors) {
    return e_
        .define("i32", "i", Level::Group, [&](int g) { return fmt::format("{} * {}", vectors[g], plan_.shape.width); })
        .names;
  }

  // Rows are multiples of the width: only the innermost coordinate differs inside a vector.
  void rows() {
    sym::Store& sym = region_.sym;
    Expr width = sym.constant(plan_.shape.width);
    const Loop inner = space_.loops.back();
    when_ = sym.eq(sym.mod(inner.extent, width), sym.constant(0));
    e_.vector.multiples = {inner.extent};
    std::vector<std::string> base = times_width(clamped(sym.floordiv(space_.count, width)));
    std::vector<bool> needed = needed_;
    auto coordinates = split_index(e_, params_, base, space_.loops, needed);
    std::span<const Loop> outer(space_.loops.data(), space_.loops.size() - 1);
    bind_outer(outer, coordinates);
    e_.vector.flat = space_.flat;
    e_.vector.flat_base = base;
    if (coordinates.back().empty()) return;
    bind_inner(inner.symbol, coordinates.back());
  }

  void bind_inner(Expr symbol, const std::vector<std::string>& base) {
    e_.vector.symbol = symbol;
    e_.vector.base = base;
    Val v{Level::Slot, {}};
    for (int s = 0; s < plan_.shape.slots(); s++) {
      int w = s % plan_.shape.width;
      v.names.push_back(w == 0 ? base[s / plan_.shape.width]
                               : fmt::format("({} + {})", base[s / plan_.shape.width], w));
    }
    e_.bind(symbol, std::move(v));
  }

  void tail(const std::vector<std::string>& base) {
    e_.vector.flat = space_.flat;
    e_.vector.flat_base = base;
    e_.vector.flat_end = params_.integer(space_.count);
    e_.vector.full = e_.define("bool", "full", Level::Group, [&](int g) {
                         return fmt::format("{} <= {} - {}", base[g], e_.vector.flat_end, plan_.shape.width);
                       }).names;
  }

  // Whole vectors straight through, so that all their loads are in flight together; the last elements of the tensor one
  // by one. `column` names the innermost index of one element; "": not needed.
  void whole_or_single(const std::vector<std::string>& base, const std::string& column) {
    const int width = plan_.shape.width;
    std::string n = params_.integer(space_.count);
    e_.line(fmt::format("if ({} <= {} - {}) {{", base.back(), n, width));
    e_.vector.flat = space_.flat;
    e_.vector.flat_base = base;
    stores(e_);
    e_.line("} else {");
    Emitter single(region_, params_, Shape{});
    single.vector.flat = space_.flat;
    single.vector.flat_base = {"flat"};
    if (!column.empty()) single.bind(space_.loops.back().symbol, {Level::Group, {"column"}});
    stores(single);
    e_.line("#pragma unroll 1");
    e_.line(fmt::format("for (i32 e = 0; e < {}; ++e) {{", plan_.shape.slots()));
    e_.line(fmt::format("const i32 flat = first + e / {} * {} + e % {};", width, kThreads * width, width));
    e_.line(fmt::format("if (flat >= {}) break;", n));
    if (!column.empty()) e_.line(fmt::format("const i32 column = {};", column));
    e_.append(single.text());
    e_.line("}}");
  }

  // First elements of this thread's vectors, of which the first exists.
  std::vector<std::string> first_elements() {
    std::vector<std::string> vectors;
    for (int g = 0; g < plan_.shape.groups; g++) vectors.push_back(fmt::format("i32({})", group_index(g)));
    std::vector<std::string> base = times_width(vectors);
    e_.line(fmt::format("const i32 first = {};", base[0]));
    e_.line(fmt::format("if (first >= {}) return;", params_.integer(space_.count)));
    base[0] = "first";
    return base;
  }

  void flat() {
    std::vector<std::string> base = first_elements();
    if (needed_[0]) {
      e_.bind(space_.loops[0].symbol, e_.define("i32", "i", Level::Slot, [&](int s) {
        return fmt::format("{} + {}", base[s / plan_.shape.width], s % plan_.shape.width);
      }));
    }
    whole_or_single(base, needed_[0] ? "flat" : "");
  }

  // Rows are as long as they are: columns count up and start again, as often as rows end.
  void wrapped() {
    std::vector<std::string> base = first_elements();
    const Loop inner = space_.loops.back();
    std::string n = params_.integer(inner.extent);
    Val v{Level::Slot, {e_.fresh("c")}};
    e_.line(fmt::format("const i32 {} = first - {} * {};", v.names[0], params_.divide("first", inner.extent), n));
    for (int w = 1; w < plan_.shape.width; w++) {
      v.names.push_back(e_.fresh("c"));
      e_.line(fmt::format("const i32 {0} = {1} + 1 == {2} ? 0 : {1} + 1;", v.names[w], v.names[w - 1], n));
    }
    e_.bind(inner.symbol, std::move(v));
    whole_or_single(base, fmt::format("flat - {} * {}", params_.divide("flat", inner.extent), n));
  }

  // A vector may reach into the next row (not further: the inner extent is at least the width).
  void crossing() {
    sym::Store& sym = region_.sym;
    const Loop inner = space_.loops.back();
    std::span<const Loop> outer(space_.loops.data(), space_.loops.size() - 1);
    when_ = sym.le(sym.constant(plan_.shape.width), inner.extent);
    e_.line(fmt::format("const i32 i = i32(t) * {};", plan_.shape.width));
    e_.line(fmt::format("if (i >= {}) return;", params_.integer(space_.count)));
    std::vector<bool> needed(needed_.begin(), needed_.end() - 1);
    const bool any_outer = std::ranges::find(needed, true) != needed.end();
    Shape shape = e_.shape;
    e_.shape.sides = 1;
    tail({"i"});
    e_.shape = shape;
    if (!any_outer && !needed_.back()) return;
    std::string extent = params_.integer(inner.extent);
    e_.line(fmt::format("const i32 row = {};", params_.divide("i", inner.extent)));
    e_.line(fmt::format("const i32 column = i - row * {};", extent));
    e_.line(fmt::format("const i32 left = {} - column;", extent));
    e_.vector.crossing = {e_.fresh("c")};
    e_.line(fmt::format("const bool {} = left < {};", e_.vector.crossing[0], plan_.shape.width));
    for (int w = 0; w < plan_.shape.width; w++) e_.vector.crossed.push_back(fmt::format("({} >= left)", w));
    auto before = split_index(e_, params_, {"row"}, outer, needed);
    next_row(outer, needed, before);
    if (!needed_.back()) return;
    e_.bind(inner.symbol, e_.define("i32", "i", Level::Slot, [&](int w) {
      return w == 0 ? std::string("column") : fmt::format("{0} ? {1} - left : column + {1}", e_.vector.crossed[w], w);
    }));
  }

  // Coordinates of the next row by carrying, clamped to the last row (whose elements past the end are never stored).
  void next_row(std::span<const Loop> outer, const std::vector<bool>& needed,
                const std::vector<std::vector<std::string>>& before) {
    std::string carry = "1";
    std::vector<std::pair<Expr, std::vector<std::string>>> bindings;
    // Coordinates inside of the innermost needed one carry too: their sum is the row index itself.
    size_t first_needed = outer.size();
    for (size_t d = outer.size(); d-- > 0;) {
      if (needed[d]) first_needed = d;
    }
    auto row_before = split_all(outer, first_needed, before);
    for (size_t d = outer.size(); d-- > first_needed;) {
      std::string extent = params_.integer(outer[d].extent), next = e_.fresh("d"), wrapped = e_.fresh("d");
      e_.line(fmt::format("const i32 {} = {} + {};", next, row_before[d], carry));
      const char* end = d == 0 ? "{0} < {1} ? {0} : {1} - 1" : "{0} < {1} ? {0} : 0";
      e_.line(fmt::format("const i32 {} = {};", wrapped, fmt::format(fmt::runtime(end), next, extent)));
      if (needed[d]) bindings.push_back({outer[d].symbol, {row_before[d], wrapped}});
      if (d > first_needed) {
        carry = e_.fresh("d");
        e_.line(fmt::format("const i32 {} = {} == {} ? 1 : 0;", carry, next, extent));
      }
    }
    for (auto& [symbol, names] : bindings) e_.bind(symbol, {Level::Group, names});
  }

  // Coordinates from loop `first` inwards, including those that no expression needs (the carry runs through them).
  std::vector<std::string> split_all(std::span<const Loop> outer, size_t first,
                                     const std::vector<std::vector<std::string>>& before) {
    std::vector<std::string> result(outer.size());
    std::vector<bool> missing(outer.size(), false);
    for (size_t d = first; d < outer.size(); d++) missing[d] = before[d].empty();
    auto extra = split_index(e_, params_, {"row"}, outer, missing);
    for (size_t d = first; d < outer.size(); d++) result[d] = before[d].empty() ? extra[d][0] : before[d][0];
    return result;
  }

  Lowered& region_;
  const Space& space_;
  Plan plan_;
  Params params_;
  Emitter e_;
  std::vector<bool> needed_;
  std::optional<Val> inside_;
  Expr when_;
};

}  // namespace

Kernel generate_pointwise(Lowered& region, std::vector<Loop> loops, const GenerateOptions& options) {
  Kernel kernel;
  Space space;
  space.loops = std::move(loops);
  space.flat = linear(region.sym, space.loops);
  space.count = extent_of(region.sym, space.loops);
  space.heavy = body_cost(region) > kHeavyBody;
  space.window = has_window(region);
  if (Plan plan = vector_plan(region, space); plan.mode != Mode::Scalar)
    Writer(region, space, plan, options).write(kernel);
  if (!complete(region, kernel)) {
    if (Plan plan = wrapped_plan(region, space); plan.mode != Mode::Scalar)
      Writer(region, space, plan, options).write(kernel);
  }
  if (!complete(region, kernel)) {
    Plan plan{Mode::Scalar, {space.window ? 1 : space.heavy ? 2 : 4, 1, 1}};
    Writer(region, space, plan, options).write(kernel);
  }
  return kernel;
}

}  // namespace dlcb::kernel
