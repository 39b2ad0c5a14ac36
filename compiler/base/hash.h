// The one content hash of the project (XXH3, 128 bits): cache keys, kernel names, model and bundle digests. The same
// bytes give the same hash on every machine. It finds damage and equal content; it is no defence against forgery.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace dlcb {

struct Hash128 {
  uint64_t high = 0, low = 0;
  friend bool operator==(const Hash128&, const Hash128&) = default;
  friend auto operator<=>(const Hash128&, const Hash128&) = default;
};

Hash128 hash_bytes(const void* data, size_t size);
inline Hash128 hash_bytes(std::string_view bytes) { return hash_bytes(bytes.data(), bytes.size()); }
// 32 lower-case hex digits, high half first.
std::string hex(const Hash128& hash);

}  // namespace dlcb
