#include "import/element.h"

#include <cstring>

#include "ops/arithmetic.h"

namespace dlcb::importer {

void store_real(DType t, std::span<std::byte> at, double v) {
  const auto store = [&](auto bits) { std::memcpy(at.data(), &bits, sizeof bits); };
  switch (t) {
    case DType::F64:
      return store(v);
    case DType::F16:
      return store(ops::double_to_half(v));
    case DType::BF16:
      return store(ops::double_to_bfloat(v));
    default:
      return store(static_cast<float>(v));
  }
}

void store_integer(DType t, std::span<std::byte> at, int64_t v) {
  std::memcpy(at.data(), &v, size_of(t));
}  // little-endian

}  // namespace dlcb::importer
