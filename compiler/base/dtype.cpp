// Reads element types as they are written in flags, IR text and manifests.
#include "base/dtype.h"

namespace dlcb {

std::optional<DType> parse_dtype(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(DType::Bool); ++i) {
    auto type = static_cast<DType>(i);
    if (name_of(type) == name) return type;
  }
  return std::nullopt;
}

}  // namespace dlcb
