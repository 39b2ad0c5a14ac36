// See split.h.
#include "kernel/split.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/replace.h"

namespace dlcb::kernel {

using ops::Scalar;
using ops::ScalarKind;
using ops::ScalarNode;
using sym::Expr;

namespace {

constexpr int64_t kBlocks = 512;        // that keep a large device busy
constexpr int64_t kColumnsABlock = 32;  // about: lanes times the width of their vectors
constexpr int64_t kRowLanes = 8;        // as many times more threads share a row than a column

// A loop over all reduced elements writes something.
bool writes_elements(Lowered& region, const Reductions& r) {
  for (size_t i = 0; i < region.region.outputs.size(); i++) {
    if (std::ranges::any_of(r.reduced, [&](const Loop& l) { return region.depends(region.store_offset(i), l.symbol); }))
      return true;
  }
  return false;
}

// Parts are so many that blocks fill the device, but no shorter than an eighth of what is worth splitting. Their length
// is a multiple of any vector, for rows are read in vectors.
Cut choose_parts(Lowered& region, const Reductions& r, int64_t from) {
  sym::Store& sym = region.sym;
  auto c = [&](int64_t v) { return sym.constant(v); };
  if (r.along_rows) from *= kRowLanes;
  const Expr kept = extent_of(sym, r.kept), reduced = extent_of(sym, r.reduced);
  const Expr blocks = r.along_rows ? kept : sym.ceildiv(kept, c(kColumnsABlock));
  const Expr wanted = sym.floordiv(c(kBlocks), sym.max(blocks, c(1)));
  const Expr possible = sym.min(wanted, sym.floordiv(reduced, c(std::max<int64_t>(1, from / 8))));
  Expr chunk = sym.ceildiv(reduced, sym.max(possible, c(1)));
  if (r.along_rows) chunk = sym.mul(sym.ceildiv(chunk, c(8)), c(8));
  const Expr parts = sym.ceildiv(reduced, chunk);
  const Expr when = sym.logical_and(sym.logical_and(sym.le(c(from), reduced), sym.lt(c(0), kept)),
                                    sym.logical_and(sym.le(c(2), possible), sym.le(c(2), parts)));
  return {when, sym.select(when, parts, c(1)), sym.select(when, chunk, reduced)};
}

class Splitter {
 public:
  Splitter(Lowered& region, const Reductions& r, Split& split)
      : scalars_(region.scalars), sym_(region.sym), from_(region.region), r_(r), split_(split) {
    shape_ = &*std::ranges::find_if(from_.outputs, [&](const Output& o) {
      return std::ranges::all_of(r.kept,
                                 [&](const Loop& l) { return std::ranges::find(o.index, l.symbol) != o.index.end(); });
    });
    part_ = sym_.index("p", split.cut.parts);
    split_.first = split_.last = from_;
    split_.first_reductions = split_.last_reductions = r;
    split_.first_reductions.cut = split.cut;
    Reductions& last = split_.last_reductions;
    last.reduced = {{part_, split.cut.parts}};
    last.along_rows = last.vectors = false;
  }

  void run() {
    for (uint32_t i = 0; i < r_.all.size(); i++) add(i);
    for (Output& o : split_.first.outputs) o.body = ops::replace(scalars_, o.body, of_part_);
    for (Output& o : split_.last.outputs) o.body = ops::replace(scalars_, o.body, of_parts_);
    split_.first.outputs.insert(split_.first.outputs.end(), results_.begin(), results_.end());
    std::vector<Tensor> inputs = loaded(split_.last);
    split_.last.inputs.swap(inputs);
  }

 private:
  // Sums of 16-bit elements are f32 until the end.
  void add(uint32_t i) {
    const ScalarNode node = scalars_.node(r_.all[i].node);
    const DType type = is_half(node.dtype) ? DType::F32 : node.dtype;
    Reduction& part = split_.first_reductions.all[i];
    part.operand = scalars_.cast(type, r_.all[i].operand);
    part.node = scalars_.reduce(node.reduce, node.coords, scalars_.cast(type, node.operands[0]));
    of_part_.emplace(r_.all[i].node.id, scalars_.cast(node.dtype, part.node));
    const Tensor results{workspace(i), type, shape_->tensor.dims, shape_->tensor.order};
    results_.push_back({results, shape_->index, part.node});

    Tensor all = results;
    all.dims.insert(all.dims.begin(), split_.cut.parts);
    for (uint8_t& d : all.order) d++;
    if (!all.order.empty()) all.order.insert(all.order.begin(), 0);
    workspaces_.push_back(all);
    std::vector<Expr> coords = shape_->index;
    coords.insert(coords.begin(), part_);
    Reduction& whole = split_.last_reductions.all[i];
    whole.operand = scalars_.load(type, all.value, coords);
    whole.node = scalars_.reduce(node.reduce, {part_}, whole.operand);
    of_parts_.emplace(r_.all[i].node.id, scalars_.cast(node.dtype, whole.node));
  }

  std::vector<Tensor> loaded(const Region& region) const {
    std::vector<Tensor> inputs;
    for (ops::ValueId v : fuse::loaded_values(scalars_, region.outputs)) {
      const std::vector<Tensor>& known = workspace_number(v) ? workspaces_ : from_.inputs;
      inputs.push_back(*std::ranges::find(known, v, &Tensor::value));
    }
    return inputs;
  }

  ops::ScalarStore& scalars_;
  sym::Store& sym_;
  const Region& from_;
  const Reductions& r_;
  Split& split_;
  const Output* shape_;  // the one with all kept dims
  Expr part_;
  std::vector<Output> results_;                              // of the first region: of a part
  std::vector<Tensor> workspaces_;                           // the same as inputs of the last: of all parts
  std::unordered_map<uint32_t, Scalar> of_part_, of_parts_;  // what the region's Reduce nodes become
};

}  // namespace

std::optional<Split> split_reductions(Lowered& region, const Reductions& r, int64_t from) {
  if (from <= 0 || r.all.back().stage > 0 || writes_elements(region, r)) return std::nullopt;
  Split split;
  split.cut = choose_parts(region, r, from);
  if (region.facts.prove(split.cut.when) == sym::Tri::No) return std::nullopt;
  Splitter(region, r, split).run();
  return split;
}

void open_part(Emitter& e, Params& params, Lowered& region, const Reductions& r) {
  const std::string all = params.integer(extent_of(region.sym, r.reduced)), chunk = params.argument(r.cut->chunk);
  e.line("const bool whole = gridDim.y == 1;");
  e.line(fmt::format("const i32 begin = i32(blockIdx.y) * {};", chunk));
  e.line(fmt::format("const i32 end = {0} - begin < {1} ? {0} : begin + {1};", all, chunk));
  const std::string kept = params.integer(extent_of(region.sym, r.kept));
  for (size_t i = 0; i < region.region.outputs.size(); i++) {
    if (workspace_number(region.region.outputs[i].tensor.value))
      e.line(fmt::format("{} += i32(blockIdx.y) * {};", params.output(i), kept));
  }
}

std::string stores_part(const Output& output, const std::string& has, bool is_cut) {
  const bool to_workspace = workspace_number(output.tensor.value).has_value();
  if (!is_cut) return to_workspace ? "" : has;
  return fmt::format("({} & {}whole)", has, to_workspace ? "!" : "");
}

}  // namespace dlcb::kernel
