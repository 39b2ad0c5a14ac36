// Text of the copies and of accesses to the copied rows. Names used: lane, lanes.
#include "kernel/row_stage.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernel/ctext.h"
#include "kernel/row_pairs.h"

namespace dlcb::kernel {

using ops::Scalar;
using sym::Expr;

namespace {

constexpr int64_t kVector = 16;  // bytes

std::string times(int64_t n, const char* name) { return n == 1 ? name : fmt::format("{} * {}", n, name); }
std::string plus(const std::string& a, const std::string& b) { return b.empty() ? a : fmt::format("{} + {}", a, b); }

RowTensors row_tensors(Lowered& region, const Reductions& r) {
  return {region, r, [](DType) { return true; }};
}

// How elements lie in memory, all of the same kind; nothing if they do not, or if some output along the rows is not
// rows side by side.
std::optional<DType> element_type(Lowered& region, const Reductions& r, const RowTensors& tensors) {
  if (tensors.inputs.empty()) return {};
  const DType type = region.region.inputs[tensors.inputs[0]].dtype;
  auto other = [&](DType t) { return memory_type(t) != memory_type(type); };
  for (size_t i : tensors.inputs) {
    if (other(region.region.inputs[i].dtype)) return {};
  }
  for (size_t i = 0; i < region.region.outputs.size(); i++) {
    if (!region.depends(region.store_offset(i), r.reduced[0].symbol)) continue;
    if (!tensors.holds(i) || other(region.region.outputs[i].tensor.dtype)) return {};
  }
  return type;
}

}  // namespace

std::optional<RowPlan> RowStage::plan(Lowered& region, const Reductions& r) {
  constexpr int64_t kMostBytes = 8;  // of a column in all buffers and rows of a lane: what leaves room for many blocks
  constexpr int64_t kInRegisters = 256;  // columns of 4 bytes of which a warp's lanes keep 8 each: that is as fast
  if (r.kept.empty() || r.reduced.size() != 1) return {};
  const RowTensors tensors = row_tensors(region, r);
  const std::optional<DType> type = element_type(region, r, tensors);
  if (!type || size_of(*type) > 4) return {};
  const auto bytes = static_cast<int64_t>(size_of(*type));
  const Expr columns = extent_of(region.sym, r.reduced);
  const auto length = region.sym.as_const(columns);
  if (length && *length <= kInRegisters && bytes == 4) return {};
  const int64_t all = bytes * static_cast<int64_t>(std::max(tensors.inputs.size(), tensors.outputs.size()));
  if (all > kMostBytes) return {};
  RowPlan plan{RowPlan::Stepped, 5};
  if (bytes == 2) plan.width = 2;
  if (bytes == 2 && 2 * all <= kMostBytes) plan.rows = 2;
  // A row stays inside a warp, and a block has so many of them that they begin at a vector.
  plan.max_lanes = std::min<int64_t>(32, kBlockThreads * plan.rows * bytes / kVector);
  return complete_staged(region, columns, plan);
}

RowStage::RowStage(Lowered& region, const Reductions& r, const RowPlan& plan, Expr lanes, Params& params, Emitter& e)
    : region_(region),
      r_(r),
      plan_(plan),
      columns_(extent_of(region.sym, r.reduced)),
      lanes_(lanes),
      params_(params),
      e_(e),
      tensors_(row_tensors(region, r)),
      type_(memory_type(region.region.inputs[tensors_.inputs[0]].dtype)),
      bytes_(static_cast<int64_t>(size_of(region.region.inputs[tensors_.inputs[0]].dtype))) {}

// Elements of a buffer. After its rows there is room for what lanes read past the end of one.
Expr RowStage::pitch() const {
  sym::Store& sym = region_.sym;
  const Expr rows = sym.floordiv(sym.constant(kBlockThreads * plan_.rows), lanes_);
  const Expr elements = sym.add(sym.mul(rows, columns_), sym.mul(lanes_, sym.constant(kTogether)));
  const Expr vector = sym.constant(kVector / bytes_);
  return sym.mul(sym.ceildiv(elements, vector), vector);
}

Expr RowStage::shared_bytes() const {
  return region_.sym.mul(pitch(), region_.sym.constant(bytes_ * static_cast<int64_t>(buffers())));
}

// Each thread copies a vector a round. Those past the last vector repeat it: no access waits for a condition, and all
// loads are in flight together.
void RowStage::each_round(const std::function<void(int round)>& write) {
  e_.line("if (whole > 0) {");
  for (int round = 0; round < static_cast<int>(parts_.size()); round++) write(round);
  e_.line("}");
}

void RowStage::open() {
  const int64_t vector = kVector / bytes_, rounds = (plan_.elements() * plan_.rows * bytes_ + kVector - 1) / kVector;
  for (size_t i : tensors_.inputs) e_.need_alignment(region_.region.inputs[i], kVector);
  for (size_t i : tensors_.outputs) e_.need_alignment(region_.region.outputs[i].tensor, kVector);
  length_ = params_.integer(columns_);
  const std::string rows = params_.integer(extent_of(region_.sym, r_.kept));
  e_.line(fmt::format("DLCB_DYNAMIC_SHARED({}, stage0);", type_));
  for (size_t i = 1; i < buffers(); i++)
    e_.line(fmt::format("{}* const stage{} = stage{} + {};", type_, i, i - 1, params_.integer(pitch())));
  e_.line("const i32 thread = i32(threadIdx.y) * lanes + lane;");
  e_.line(fmt::format("const i32 after = {} - first, all = {}, here = after < all ? after : all;", rows,
                      times(plan_.rows, "height")));
  e_.line(fmt::format("const i32 begin = first * {0}, count = here * {0};", length_));
  e_.line(
      fmt::format("const i32 whole = i32(u32(count) / {0}), last = whole - 1, rest = whole * {0} + thread;", vector));
  for (int64_t round = 0; round < rounds; round++) {
    const std::string at = plus("thread", round == 0 ? "" : fmt::format("{}", round * kBlockThreads));
    parts_.push_back(e_.constant("i32", "part", fmt::format("({0} < last ? {0} : last) * {1}", at, vector)));
  }
  copy_in();
  e_.line("__syncthreads();");
  if (plan_.width == 2) {
    e_.line(fmt::format("const i32 skew = i32(threadIdx.y) & {} & 1;", length_));
    e_.line("const i32 first_column = lane * 2 - skew;");
  }
  for (int q = 0; q < plan_.rows; q++) {
    const std::string row = q == 0 ? "i32(threadIdx.y)" : fmt::format("(i32(threadIdx.y) + {})", times(q, "height"));
    own_.push_back(e_.constant("i32", "own", fmt::format("advance({} * {}, {})", row, length_, column(0, 0))));
  }
  sym::Store& sym = region_.sym;
  const Expr vector_columns = sym.mul(lanes_, sym.constant(kTogether));
  if (!plan_.fixed) tail_ = params_.integer(sym.mul(sym.floordiv(columns_, vector_columns), vector_columns));
}

void RowStage::copy_in() {
  std::vector<std::string> words;
  each_round([&](int round) {
    for (size_t input : tensors_.inputs) {
      words.push_back(e_.fresh("m"));
      e_.line(fmt::format("const V16 {} = ldv<V16>({} + u32(begin + {}));", words.back(), params_.input(input),
                          parts_[static_cast<size_t>(round)]));
    }
    if (static_cast<size_t>(round) + 1 < parts_.size()) return;
    for (size_t i = 0; i < words.size(); i++)
      e_.line(fmt::format("stv<V16>(stage{} + {}, {});", i % tensors_.inputs.size(), parts_[i / tensors_.inputs.size()],
                          words[i]));
  });
  for (size_t i = 0; i < tensors_.inputs.size(); i++)
    e_.line(fmt::format("if (rest < count) stage{}[rest] = {}[begin + rest];", i, params_.input(tensors_.inputs[i])));
}

void RowStage::close() {
  if (tensors_.outputs.empty()) return;
  e_.line("__syncthreads();");
  each_round([&](int round) {
    for (size_t i = 0; i < tensors_.outputs.size(); i++)
      e_.line(fmt::format("stv<V16>({0} + u32(begin + {1}), ldv<V16>(stage{2} + {1}));",
                          params_.output(tensors_.outputs[i]), parts_[static_cast<size_t>(round)], i));
  });
  for (size_t i = 0; i < tensors_.outputs.size(); i++)
    e_.line(fmt::format("if (rest < count) {}[begin + rest] = stage{}[rest];", params_.output(tensors_.outputs[i]), i));
}

std::string RowStage::place(const std::string& base, int k, int u) const {
  const int index = (is_tail(k) ? 0 : k * kTogether) + u * plan_.width;
  return plus(is_tail(k) ? plus(base, tail_) : base, index == 0 ? "" : times(index, "lanes"));
}

std::string RowStage::inside(int k, int u, int w) const {
  const bool skewed = plan_.width == 2, early = skewed && k == 0 && u == 0 && w == 0;
  const bool whole =
      plan_.fixed ? (u + 1) * plan_.width * plan_.max_lanes <= *region_.sym.as_const(columns_) : k < plan_.vectors;
  if (whole) return early ? "(first_column >= 0)" : "true";
  const std::string at = plus(column(k, u), w == 0 ? "" : fmt::format("{}", w));
  return skewed ? fmt::format("(u32({}) < u32({}))", at, length_) : fmt::format("({} < {})", at, length_);
}

// What is stored takes the place of what was loaded: a lane reads its elements before it writes them, and no other
// lane's.
std::string RowStage::element(size_t buffer, int k, int group) const {
  return fmt::format("stage{} + {}", buffer,
                     place(own_[static_cast<size_t>(group / accesses())], k, group % accesses()));
}

Val RowStage::load(Scalar load, int k) {
  const auto at = std::ranges::find(tensors_.inputs, region_.site(load).input);
  const auto buffer = static_cast<size_t>(at - tensors_.inputs.begin());
  if (plan_.width == 1)
    return e_.define(type_, "r", Level::Slot, [&](int g) { return fmt::format("*({})", element(buffer, k, g)); });
  const Val words =
      e_.define("u32", "r", Level::Group, [&](int g) { return fmt::format("ldv<V4>({}).w", element(buffer, k, g)); });
  Val elements{Level::Slot, {}};
  for (const std::string& word : words.names) {
    elements.names.push_back(fmt::format("{}({})", type_, word));
    elements.names.push_back(fmt::format("{}({} >> 16)", type_, word));
  }
  return elements;
}

void RowStage::store(size_t output, int k, const Val& in, const Val& bits) {
  const auto at = std::ranges::find(tensors_.outputs, output);
  const auto buffer = static_cast<size_t>(at - tensors_.outputs.begin());
  for (int g = 0; g < plan_.groups(); g++) {
    const auto slot = static_cast<size_t>(g * plan_.width);
    const std::string target = element(buffer, k, g);
    if (plan_.width == 1)
      e_.line(guarded(in.names[slot], fmt::format("*({}) = {};", target, bits.names[slot])));
    else
      store_pair(e_, target, in.names[slot], in.names[slot + 1], bits.names[slot], bits.names[slot + 1]);
  }
}

}  // namespace dlcb::kernel
