// Attribute lookup: a sorted vector is fastest at the handful of attributes a node has.
#include "ops/attrs.h"

#include <algorithm>

namespace dlcb::ops {

void Attrs::set(std::string_view name, AttrValue value) {
  auto at = std::lower_bound(items_.begin(), items_.end(), name,
                             [](const auto& item, std::string_view n) { return item.first < n; });
  if (at != items_.end() && at->first == name) {
    at->second = std::move(value);
  } else {
    items_.emplace(at, std::string(name), std::move(value));
  }
}

const AttrValue* Attrs::find(std::string_view name) const {
  auto at = std::lower_bound(items_.begin(), items_.end(), name,
                             [](const auto& item, std::string_view n) { return item.first < n; });
  return at != items_.end() && at->first == name ? &at->second : nullptr;
}

namespace {
template <class T>
const T* get(const Attrs& attrs, std::string_view name) {
  const AttrValue* value = attrs.find(name);
  return value ? std::get_if<T>(value) : nullptr;
}
}  // namespace

int64_t Attrs::integer(std::string_view name, int64_t fallback) const {
  const auto* v = get<int64_t>(*this, name);
  return v ? *v : fallback;
}

double Attrs::real(std::string_view name, double fallback) const {
  if (const auto* v = get<double>(*this, name)) return *v;
  const auto* v = get<int64_t>(*this, name);
  return v ? static_cast<double>(*v) : fallback;
}

std::string Attrs::text(std::string_view name, std::string_view fallback) const {
  const auto* v = get<std::string>(*this, name);
  return v ? *v : std::string(fallback);
}

DType Attrs::dtype(std::string_view name, DType fallback) const {
  const auto* v = get<DType>(*this, name);
  return v ? *v : fallback;
}

std::vector<int64_t> Attrs::integers(std::string_view name) const {
  const auto* v = get<std::vector<int64_t>>(*this, name);
  return v ? *v : std::vector<int64_t>{};
}

std::vector<double> Attrs::reals(std::string_view name) const {
  const auto* v = get<std::vector<double>>(*this, name);
  return v ? *v : std::vector<double>{};
}

std::vector<sym::Expr> Attrs::exprs(std::string_view name) const {
  const auto* v = get<std::vector<sym::Expr>>(*this, name);
  return v ? *v : std::vector<sym::Expr>{};
}

}  // namespace dlcb::ops
