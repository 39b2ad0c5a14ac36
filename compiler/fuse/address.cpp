#include "fuse/address.h"

namespace dlcb::fuse {

sym::Expr element_count(sym::Store& store, std::span<const sym::Expr> dims) { return store.mul(dims); }

std::vector<sym::Expr> dense_strides(sym::Store& store, std::span<const sym::Expr> dims,
                                     std::span<const uint8_t> order) {
  std::vector<sym::Expr> strides(dims.size());
  sym::Expr stride = store.constant(1);
  for (size_t i = dims.size(); i-- > 0;) {
    const size_t dim = order.empty() ? i : order[i];
    strides[dim] = stride;
    stride = store.mul(stride, dims[dim]);
  }
  return strides;
}

sym::Expr element_offset(sym::Store& store, std::span<const sym::Expr> dims, std::span<const uint8_t> order,
                         std::span<const sym::Expr> coords) {
  const std::vector<sym::Expr> strides = dense_strides(store, dims, order);
  std::vector<sym::Expr> terms;
  for (size_t i = 0; i < dims.size(); ++i) terms.push_back(store.mul(coords[i], strides[i]));
  return store.add(terms);
}

std::optional<sym::Expr> linear_coefficient(sym::Store& store, sym::Expr e, sym::Expr symbol) {
  if (!store.contains(e, symbol)) return store.constant(0);
  const sym::Expr at0 = store.substitute(e, symbol, store.constant(0));
  const sym::Expr at1 = store.substitute(e, symbol, store.constant(1));
  const sym::Expr coefficient = store.sub(at1, at0);
  if (store.add(at0, store.mul(coefficient, symbol)) == e) return coefficient;
  return std::nullopt;
}

bool is_row_major(std::span<const uint8_t> order) {
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i] != i) return false;
  }
  return true;
}

}  // namespace dlcb::fuse
