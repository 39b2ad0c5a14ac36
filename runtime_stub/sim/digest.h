// A 128-bit content hash for file names and damage checks (not against an adversary: whoever can write the cache can
// write code into it).
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace dlcb::sim {

struct Digest {
  uint64_t a = 0x9e3779b97f4a7c15ull, b = 0xc2b2ae3d27d4eb4full;

  Digest& add(std::string_view bytes) {
    size_t i = 0;
    for (; i + 8 <= bytes.size(); i += 8) {
      uint64_t word;
      std::memcpy(&word, bytes.data() + i, 8);
      mix(word);
    }
    uint64_t tail = 0;
    std::memcpy(&tail, bytes.data() + i, bytes.size() - i);
    mix(tail);
    mix(bytes.size());
    return *this;
  }
  std::string hex() const {
    std::string text;
    for (uint64_t word : {a, b})
      for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[word >> shift & 15];
    return text;
  }
  friend bool operator==(const Digest&, const Digest&) = default;

 private:
  void mix(uint64_t word) {
    a = fold(a ^ word, 0xa0761d6478bd642full);
    b = fold(b + word, 0xe7037ed1a0b428dbull) ^ a;
  }
  static uint64_t fold(uint64_t x, uint64_t y) {
    x ^= x >> 32;
    x *= y;
    x ^= x >> 29;
    x *= 0x9fb21c651e98df25ull;
    return x ^ x >> 32;
  }
};

}  // namespace dlcb::sim
