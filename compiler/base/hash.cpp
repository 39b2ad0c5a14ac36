// xxHash is inlined into this file alone; everybody else sees only hash.h.
#include "base/hash.h"

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>

namespace dlcb {

Hash128 hash_bytes(const void* data, size_t size) {
  XXH128_hash_t hash = XXH3_128bits(data, size);
  return {hash.high64, hash.low64};
}

std::string hex(const Hash128& hash) { return fmt::format("{:016x}{:016x}", hash.high, hash.low); }

}  // namespace dlcb
