// Reductions over outer loops: neighbouring threads take neighbouring kept elements (so memory is read in whole lines),
// the threads of a column share its reduction and combine through shared memory.
#include <fmt/format.h>

#include <algorithm>

#include "kernel/ctext.h"
#include "kernel/split.h"

namespace dlcb::kernel {

using ops::Scalar;
using sym::Expr;

namespace {

constexpr int kThreads = 512;

class ColumnWriter {
 public:
  ColumnWriter(Lowered& region, const Reductions& r, int width, const GenerateOptions& options)
      : region_(region),
        sym_(region.sym),
        r_(r),
        width_(width),
        params_(region.sym, region.region, options),
        e_(region, params_, Shape{1, width, 1}),
        kept_(extent_of(region.sym, r.kept)),
        reduced_(extent_of(region.sym, r.reduced)),
        of_block_(r.cut ? r.cut->chunk : reduced_) {}

  void write(Kernel& kernel) {
    kept();
    const int stages = r_.all.back().stage + 1;
    for (int stage = 0; stage < stages; stage++) {
      std::vector<std::pair<const Reduction*, std::vector<std::string>>> here;
      for (const Reduction& r : r_.all) {
        if (r.stage == stage) here.push_back({&r, declare(r)});
      }
      loop([&] {
        for (auto& [r, accs] : here) accumulate(*r, accs);
      });
      for (auto& [r, accs] : here) combine(*r, accs);
    }
    stores();
    launch(kernel);
  }

 private:
  // Kept coordinates of this thread; threads past the end work on the last element and store nothing.
  void kept() {
    e_.line("const i32 rank = i32(threadIdx.y), ranks = i32(blockDim.y), across = i32(blockDim.x);");
    e_.line("const u32 at = blockIdx.x * blockDim.x + threadIdx.x;");
    if (r_.cut) open_part(e_, params_, region_, r_);
    Expr count = width_ == 1 ? kept_ : sym_.floordiv(kept_, sym_.constant(width_));
    std::string n = params_.integer(count);
    e_.line(fmt::format("const bool inside = at < u32({});", n));
    e_.line(fmt::format("const i32 k = (inside ? i32(at) : {} - 1) * {};", n, width_));
    std::vector<bool> needed = needed_loops(region_, r_.kept, sym_.constant(0));
    auto coordinates = split_index(e_, params_, {"k"}, r_.kept, needed);
    for (size_t i = 0; i < r_.kept.size(); i++) {
      if (coordinates[i].empty()) continue;
      const bool inner = i + 1 == r_.kept.size() && width_ > 1;
      if (!inner) {
        e_.bind(r_.kept[i].symbol, {Level::Uniform, coordinates[i]});
        continue;
      }
      e_.vector.symbol = r_.kept[i].symbol;
      e_.vector.base = coordinates[i];
      e_.vector.multiples = {r_.kept[i].extent};
      Val v{Level::Slot, {}};
      for (int w = 0; w < width_; w++)
        v.names.push_back(w == 0 ? coordinates[i][0] : fmt::format("({} + {})", coordinates[i][0], w));
      e_.bind(r_.kept[i].symbol, std::move(v));
    }
  }

  const ops::ScalarNode& node(const Reduction& r) const { return region_.scalars.node(r.node); }

  // One accumulator per element of the thread if the reduced value differs between them.
  std::vector<std::string> declare(const Reduction& r) {
    const bool varies = width_ > 1 && region_.depends(r.node, r_.kept.back().symbol);
    std::vector<std::string> accs;
    for (int w = 0; w < (varies ? width_ : 1); w++) {
      accs.push_back(e_.fresh("a"));
      e_.line(fmt::format("{} {} = {};", register_type(node(r).dtype), accs.back(),
                          reduce_identity(node(r).reduce, node(r).dtype)));
    }
    return accs;
  }

  void accumulate(const Reduction& r, const std::vector<std::string>& accs) {
    Val v = e_.value(r.operand);
    for (size_t w = 0; w < accs.size(); w++) {
      std::string x =
          accs.size() == 1 && v.level == Level::Slot ? v.names[0] : e_.at(v, Level::Slot, static_cast<int>(w));
      e_.line(fmt::format("{} = {};", accs[w], reduce_text(node(r).reduce, node(r).dtype, accs[w], x)));
    }
  }

  void loop(const std::function<void()>& body) {
    std::vector<Expr> symbols;
    for (const Loop& l : r_.reduced) symbols.push_back(l.symbol);
    std::string j = e_.fresh("j");
    e_.open_loop(symbols);
    auto split = split_index(e_, params_, {j}, r_.reduced, needed_loops(region_, r_.reduced, sym_.constant(0)));
    for (size_t i = 0; i < r_.reduced.size(); i++) {
      if (!split[i].empty()) e_.bind(r_.reduced[i].symbol, {Level::Uniform, split[i]});
    }
    body();
    std::string text = e_.close_loop();
    e_.line(fmt::format("for (i32 {0} = {1}; {0} < {2}; {0} += ranks) {{", j, r_.cut ? "begin + rank" : "rank",
                        r_.cut ? "end" : params_.integer(reduced_)));
    e_.append(text);
    e_.line("}");
  }

  // A tree over the threads of a column; every one of them gets the result.
  void combine(const Reduction& r, const std::vector<std::string>& accs) {
    Val result{accs.size() > 1 ? Level::Slot : Level::Uniform, {}};
    std::vector<std::string> shared;
    for (const std::string& acc : accs) {
      shared.push_back(e_.fresh("s"));
      e_.line(fmt::format("__shared__ {} {}[{}];", register_type(node(r).dtype), shared.back(), kThreads));
      e_.line(fmt::format("{}[rank * across + i32(threadIdx.x)] = {};", shared.back(), acc));
    }
    e_.line("for (i32 half = ranks >> 1; half > 0; half >>= 1) {");
    e_.line("  __syncthreads();");
    e_.line("  if (rank < half) {");
    for (size_t w = 0; w < accs.size(); w++) {
      e_.line(fmt::format("    {0} = {1};", accs[w],
                          reduce_text(node(r).reduce, node(r).dtype, accs[w],
                                      fmt::format("{}[(rank + half) * across + i32(threadIdx.x)]", shared[w]))));
      e_.line(fmt::format("    {}[rank * across + i32(threadIdx.x)] = {};", shared[w], accs[w]));
    }
    e_.line("  }");
    e_.line("}");
    e_.line("__syncthreads();");
    for (size_t w = 0; w < accs.size(); w++) {
      std::string name = e_.fresh("v");
      e_.line(fmt::format("const {} {} = {}[threadIdx.x];", register_type(node(r).dtype), name, shared[w]));
      result.names.push_back(name);
    }
    e_.set_value(r.node, std::move(result));
  }

  bool is_elementwise(size_t output) {
    return std::ranges::any_of(r_.reduced,
                               [&](const Loop& l) { return region_.depends(region_.store_offset(output), l.symbol); });
  }

  void stores() {
    bool any = false;
    Val inside{Level::Uniform, {"inside"}};
    for (size_t i = 0; i < region_.region.outputs.size(); i++) any = any || is_elementwise(i);
    if (any) {
      loop([&] {
        for (size_t i = 0; i < region_.region.outputs.size(); i++) {
          if (is_elementwise(i)) e_.store_body(i, &inside);
        }
      });
    }
    for (size_t i = 0; i < region_.region.outputs.size(); i++) {
      if (is_elementwise(i)) continue;
      Val first{Level::Uniform, {stores_part(region_.region.outputs[i], "(inside & (rank == 0))", r_.cut.has_value())}};
      e_.store_body(i, &first);
    }
  }

  // Wide blocks where there are columns enough to fill the device, else narrow ones with more threads a column.
  void launch(Kernel& kernel) {
    auto c = [&](int64_t v) { return sym_.constant(v); };
    Launch l;
    Expr columns = width_ == 1 ? kept_ : sym_.floordiv(kept_, c(width_));
    Expr across = sym_.select(sym_.le(c(32 * 256), columns), c(32), c(8));
    Expr ranks = sym_.select(sym_.le(c(32), of_block_), sym_.floordiv(c(kThreads), across), c(8));
    l.block[0] = across;
    l.block[1] = ranks;
    l.grid[0] = sym_.ceildiv(columns, across);
    if (r_.cut) l.grid[1] = r_.cut->parts;
    if (width_ > 1) l.when = sym_.eq(sym_.mod(r_.kept.back().extent, c(width_)), c(0));
    l.max_threads = kThreads;
    l.syncs = true;
    add_variant(kernel, region_, e_, params_, l);
  }

  Lowered& region_;
  sym::Store& sym_;
  const Reductions& r_;
  int width_;
  Params params_;
  Emitter e_;
  Expr kept_, reduced_;
  Expr of_block_;  // how many of the reduced elements one block has
};

}  // namespace

Kernel generate_column_reduce(Lowered& region, Reductions r, const GenerateOptions& options) {
  Kernel kernel;
  region.collapse(r.kept);
  region.collapse(r.reduced);
  size_t widest = 1;
  for (Scalar load : region.loads()) widest = std::max(widest, size_of(region.scalars.dtype(load)));
  const int width = r.vectors ? std::min<int>(4, static_cast<int>(16 / widest)) : 1;
  const bool divisible = !r.kept.empty() && region.facts.prove(region.sym.eq(
                                                region.sym.mod(r.kept.back().extent, region.sym.constant(width)),
                                                region.sym.constant(0))) != sym::Tri::No;
  if (width > 1 && divisible) ColumnWriter(region, r, width, options).write(kernel);
  if (!complete(region, kernel)) ColumnWriter(region, r, 1, options).write(kernel);
  return kernel;
}

}  // namespace dlcb::kernel
