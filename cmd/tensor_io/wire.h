// The protobuf wire format, as far as one small message needs it. Every length is checked against what is there.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dlcb::cmd {

enum class WireType : uint8_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

struct WireField {
  uint32_t number = 0;
  WireType type = WireType::Varint;
  uint64_t value = 0;      // Varint, Fixed64, Fixed32
  std::string_view bytes;  // Bytes: points into the message
};

// Reads fields in order until the end or the first malformed byte.
class WireReader {
 public:
  explicit WireReader(std::string_view message) : rest_(message) {}
  // Nothing at the end, or when malformed() becomes true.
  std::optional<WireField> next();
  bool malformed() const { return malformed_; }
  // Single values, for the elements of packed fields.
  std::optional<uint64_t> varint();
  std::optional<uint64_t> fixed(size_t bytes);
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
  bool malformed_ = false;
};

void append_varint(std::string& out, uint64_t value);
void append_tag(std::string& out, uint32_t number, WireType type);
void append_bytes(std::string& out, uint32_t number, std::string_view bytes);

}  // namespace dlcb::cmd
