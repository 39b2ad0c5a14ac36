// Text of accesses to pairs. Names used: lane, lanes.
#include "kernel/row_pairs.h"

#include <fmt/format.h>

#include "kernel/ctext.h"

namespace dlcb::kernel {

using ops::Scalar;
using sym::Expr;

namespace {

bool is_narrow(DType type) { return size_of(type) == 2; }

}  // namespace

RowPairs::RowPairs(Lowered& region, const Reductions& r, Params& params, Emitter& e)
    : region_(region), r_(r), params_(params), e_(e), tensors_(region, r, is_narrow) {}

bool RowPairs::applies(Lowered& region, const Reductions& r) {
  if (r.kept.empty() || r.reduced.size() != 1) return false;
  const RowTensors tensors(region, r, is_narrow);
  return !tensors.inputs.empty() && !tensors.outputs.empty();
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
    e_.line(fmt::format("if ({}) {{", rows[q]));
    store_pair(e_, fmt::format("{} + {}", y, e_.constant("i32", "o", offset(q, k))), in.names[2 * q],
               in.names[2 * q + 1], bits.names[2 * q], bits.names[2 * q + 1]);
    e_.line("}");
  }
}

void store_pair(Emitter& e, const std::string& target, const std::string& in0, const std::string& in1,
                const std::string& bits0, const std::string& bits1) {
  const std::string a = e.fresh("o"), b = e.fresh("o");
  e.line(fmt::format("const u16 {} = {}, {} = {};", a, bits0, b, bits1));
  const std::string both = in0 == "true" ? in1 : in1 == "true" ? in0 : fmt::format("{} & {}", in0, in1);
  e.line(guarded(both, fmt::format("stv<V4>({}, V4{{u32({}) | u32({}) << 16}});", target, a, b)));
  if (in1 != "true") e.line(fmt::format("else if ({}) *({}) = {};", in0, target, a));
  if (in0 != "true") e.line(fmt::format("else {}", guarded(in1, fmt::format("({})[1] = {};", target, b))));
}

}  // namespace dlcb::kernel
