// How a region under test is put together.
#include "cases.h"

namespace dlcb::testing {

using kernel::Schedule;
using ops::Fn;
using ops::Scalar;
using ops::ValueId;
using sym::Expr;

Expr Case::dim(const std::string& symbol) {
  if (auto known = sym.find_symbol(symbol)) return *known;
  return sym.symbol(symbol, sym::SymbolKind::Dim);
}

ValueId Case::input(DType t, std::vector<Expr> dims, std::vector<uint8_t> order, bool ours) {
  ValueId id{static_cast<uint32_t>(region.inputs.size())};
  region.inputs.push_back({id, t, std::move(dims), std::move(order), ours});
  return id;
}

Scalar Case::load(ValueId value, std::vector<Expr> coords) {
  return scalars.load(region.inputs[value.id].dtype, value, std::move(coords));
}

void Case::output(DType t, std::vector<Expr> index, Scalar body, std::vector<uint8_t> order, bool ours) {
  std::vector<Expr> dims;
  for (Expr i : index) dims.push_back(sym.index_extent(i));
  ValueId id{static_cast<uint32_t>(100 + region.outputs.size())};
  region.outputs.push_back({{id, t, std::move(dims), std::move(order), ours}, std::move(index), body});
}

Case& add(Cases& all, const std::string& name, std::vector<Sizes> sizes, Schedule schedule) {
  all.push_back(std::make_unique<Case>(name));
  all.back()->sizes = std::move(sizes);
  all.back()->schedule = schedule;
  return *all.back();
}

Scalar relu(Case& c, Scalar x) { return c.scalars.binary(Fn::Max, x, c.scalars.constant(c.scalars.dtype(x), 0)); }
Scalar plus(Case& c, Scalar a, Scalar b) { return c.scalars.binary(Fn::Add, a, b); }
Scalar minus(Case& c, Scalar a, Scalar b) { return c.scalars.binary(Fn::Sub, a, b); }
Scalar times(Case& c, Scalar a, Scalar b) { return c.scalars.binary(Fn::Mul, a, b); }

Cases all_cases() {
  Cases all;
  add_pointwise(all);
  add_rows(all);
  add_columns(all);
  add_long(all);
  add_contractions(all);
  add_bodies(all);
  return all;
}

}  // namespace dlcb::testing
