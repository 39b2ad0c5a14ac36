#include "emit/weights.h"

#include <cstring>

#include "fuse/address.h"

namespace dlcb::emit {
namespace {

template <class T>
void permute_typed(const T* from, T* to, std::span<const int64_t> extents, std::span<const int64_t> strides) {
  // extents and strides are in destination order; the innermost loop is the only hot one.
  const size_t rank = extents.size();
  std::vector<int64_t> index(rank, 0);
  const int64_t inner = extents[rank - 1], inner_stride = strides[rank - 1];
  int64_t offset = 0;
  while (true) {
    for (int64_t i = 0; i < inner; ++i) *to++ = from[offset + i * inner_stride];
    size_t d = rank - 1;
    while (d-- > 0) {
      offset += strides[d];
      if (++index[d] < extents[d]) break;
      offset -= strides[d] * extents[d];
      index[d] = 0;
    }
    if (d == SIZE_MAX) return;
  }
}

}  // namespace

void permute(const std::byte* from, std::byte* to, std::span<const int64_t> dims, std::span<const uint8_t> order,
             size_t element_size) {
  std::vector<int64_t> source_strides(dims.size(), 1), extents, strides;
  for (size_t i = dims.size(); i-- > 1;) source_strides[i - 1] = source_strides[i] * dims[i];
  for (uint8_t d : order) {
    if (dims[d] == 0) return;
    if (dims[d] == 1) continue;
    extents.push_back(dims[d]);
    strides.push_back(source_strides[d]);
  }
  if (extents.empty()) {
    std::memcpy(to, from, element_size);
    return;
  }
  switch (element_size) {
    case 1:
      return permute_typed(reinterpret_cast<const uint8_t*>(from), reinterpret_cast<uint8_t*>(to), extents, strides);
    case 2:
      return permute_typed(reinterpret_cast<const uint16_t*>(from), reinterpret_cast<uint16_t*>(to), extents, strides);
    case 4:
      return permute_typed(reinterpret_cast<const uint32_t*>(from), reinterpret_cast<uint32_t*>(to), extents, strides);
    case 8:
      return permute_typed(reinterpret_cast<const uint64_t*>(from), reinterpret_cast<uint64_t*>(to), extents, strides);
    default:
      DLCB_CHECK(false, "element size");
  }
}

WeightPieces weight_pieces(const plan::Plan& plan) {
  WeightPieces out;
  for (size_t i = 0; i < plan.weights.size(); ++i) {
    const plan::Weight& w = plan.weights[i];
    const size_t size = w.constant.bytes.size();
    const std::byte* bytes = w.constant.bytes.data();
    if (!fuse::is_row_major(w.order)) {
      out.owned.push_back(std::make_unique_for_overwrite<std::byte[]>(size));
      permute(bytes, out.owned.back().get(), w.dims, w.order, size_of(w.dtype));
      bytes = out.owned.back().get();
    }
    const uint64_t end = i + 1 < plan.weights.size() ? plan.weights[i + 1].offset : plan.weight_bytes;
    out.pieces.push_back({{reinterpret_cast<const uint8_t*>(bytes), size}, end - w.offset - size});
  }
  return out;
}

}  // namespace dlcb::emit
