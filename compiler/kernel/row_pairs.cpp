// Text of accesses to pairs. Names used: lane, lanes.
#include "kernel/row_pairs.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernel/ctext.h"

namespace dlcb::kernel {

using ops::Scalar;
using sym::Expr;

RowPairs::RowPairs(Lowered& region, const Reductions& r, Params& params, Emitter& e)
    : region_(region), r_(r), params_(params), e_(e), tensors_(find(region, r)) {}

Expr RowPairs::flat(Lowered& region, const Reductions& r) {
  std::vector<Loop> loops = r.kept;
  loops.insert(loops.end(), r.reduced.begin(), r.reduced.end());
  return linear(region.sym, loops);
}

RowPairs::Tensors RowPairs::find(Lowered& region, const Reductions& r) {
  const Expr at = flat(region, r);
  Tensors t;
  for (Scalar load : region.loads()) {
    const Lowered::Site site = region.site(load);
    const bool known = std::ranges::find(t.inputs, site.input) != t.inputs.end();
    if (site.offset == at && !known && size_of(region.scalars.dtype(load)) == 2) t.inputs.push_back(site.input);
  }
  for (size_t i = 0; i < region.region.outputs.size(); i++) {
    if (region.store_offset(i) == at && size_of(region.region.outputs[i].tensor.dtype) == 2) t.outputs.push_back(i);
  }
  return t;
}

bool RowPairs::applies(Lowered& region, const Reductions& r) {
  if (r.kept.empty() || r.reduced.size() != 1) return false;
  Tensors t = find(region, r);
  return !t.inputs.empty() && !t.outputs.empty();
}

bool RowPairs::holds(Scalar load) const {
  const Lowered::Site site = region_.site(load);
  return site.offset == flat(region_, r_) && std::ranges::find(tensors_.inputs, site.input) != tensors_.inputs.end();
}

bool RowPairs::holds(size_t output) const {
  return std::ranges::find(tensors_.outputs, output) != tensors_.outputs.end();
}

void RowPairs::open(const std::vector<std::string>& rows) {
  constexpr int kPair = 4;  // bytes
  for (size_t i : tensors_.inputs) e_.need_alignment(region_.region.inputs[i], kPair);
  for (size_t i : tensors_.outputs) e_.need_alignment(region_.region.outputs[i].tensor, kPair);
  length_ = params_.integer(extent_of(region_.sym, r_.reduced));
  e_.line(fmt::format("const i32 skew = {} & {} & 1;", rows[0], length_));
  e_.line("const i32 first_column = lane * 2 - skew;");
  for (const std::string& row : rows) {
    first_.push_back(e_.fresh("f"));
    e_.line(fmt::format("const i32 {} = {} * {} + first_column;", first_.back(), row, length_));
  }
}

std::string RowPairs::column(int k) const {
  return k == 0 ? "first_column" : fmt::format("(first_column + {} * lanes)", 2 * k);
}

std::string RowPairs::offset(size_t row, int k) const {
  return k == 0 ? first_[row] : fmt::format("{} + {} * lanes", first_[row], 2 * k);
}

// The tensor's last element has no neighbour if there is an odd number of them.
Val RowPairs::load(Scalar load, int k, const std::string& column) {
  std::string x = params_.input(region_.site(load).input);
  Expr count = region_.sym.mul(extent_of(region_.sym, r_.kept), extent_of(region_.sym, r_.reduced));
  std::string last = params_.integer(region_.sym.sub(count, region_.sym.constant(1)));
  std::vector<std::string> at;
  for (size_t q = 0; q < first_.size(); q++) at.push_back(e_.constant("i32", "i", offset(q, k)));
  Val words = e_.define("u32", "r", Level::Group, [&](int q) {
    return fmt::format("{0} < {1} ? {2} < {3} ? ldv<V4>({4} + {2}).w : u16({4}[{2}]) : 0u", column, length_, at[q],
                       last, x);
  });
  const std::string_view type = memory_type(region_.scalars.dtype(load));
  Val elements{Level::Slot, {}};
  for (const std::string& word : words.names) {
    elements.names.push_back(fmt::format("{}({})", type, word));
    elements.names.push_back(fmt::format("{}({} >> 16)", type, word));
  }
  return elements;
}

void RowPairs::store(size_t output, int k, const std::vector<std::string>& rows, const Val& in, const Val& bits) {
  std::string y = params_.output(output);
  for (size_t q = 0; q < rows.size(); q++) {
    const std::string &in0 = in.names[2 * q], &in1 = in.names[2 * q + 1];
    std::string a = e_.fresh("o"), b = e_.fresh("o"), at = e_.fresh("o");
    e_.line(fmt::format("if ({}) {{", rows[q]));
    e_.line(fmt::format("const u16 {} = {}, {} = {};", a, bits.names[2 * q], b, bits.names[2 * q + 1]));
    e_.line(fmt::format("const i32 {} = {};", at, offset(q, k)));
    e_.line(fmt::format("if ({} & {}) stv<V4>({} + {}, V4{{u32({}) | u32({}) << 16}});", in0, in1, y, at, a, b));
    e_.line(fmt::format("else if ({}) {}[{}] = {};", in0, y, at, a));
    e_.line(fmt::format("else if ({}) {}[{} + 1] = {};", in1, y, at, b));
    e_.line("}");
  }
}

}  // namespace dlcb::kernel
