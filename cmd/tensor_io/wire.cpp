// Protobuf wire format; see wire.h.
#include "cmd/tensor_io/wire.h"

namespace dlcb::cmd {

std::optional<uint64_t> WireReader::varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
    auto byte = static_cast<unsigned char>(rest_[0]);
    rest_.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 127) << shift;
    if (byte < 128) return value;
  }
  malformed_ = true;
  return std::nullopt;
}

std::optional<uint64_t> WireReader::fixed(size_t bytes) {
  if (rest_.size() < bytes) {
    malformed_ = true;
    return std::nullopt;
  }
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) value |= static_cast<uint64_t>(static_cast<unsigned char>(rest_[i])) << 8 * i;
  rest_.remove_prefix(bytes);
  return value;
}

std::optional<WireField> WireReader::next() {
  if (rest_.empty() || malformed_) return std::nullopt;
  auto tag = varint();
  if (!tag) return std::nullopt;
  WireField field{static_cast<uint32_t>(*tag >> 3), static_cast<WireType>(*tag & 7), 0, {}};
  std::optional<uint64_t> value;
  switch (field.type) {
    case WireType::Varint:
      value = varint();
      break;
    case WireType::Fixed64:
      value = fixed(8);
      break;
    case WireType::Fixed32:
      value = fixed(4);
      break;
    case WireType::Bytes:
      value = varint();
      if (!value || *value > rest_.size()) break;
      field.bytes = rest_.substr(0, *value);
      rest_.remove_prefix(*value);
      return field;
    default:
      break;
  }
  malformed_ |= !value || field.number == 0 || *tag >> 3 > UINT32_MAX || field.type == WireType::Bytes;
  if (malformed_) return std::nullopt;
  field.value = *value;
  return field;
}

void append_varint(std::string& out, uint64_t value) {
  for (; value >= 128; value >>= 7) out += static_cast<char>(value | 128);
  out += static_cast<char>(value);
}

void append_tag(std::string& out, uint32_t number, WireType type) {
  append_varint(out, static_cast<uint64_t>(number) << 3 | static_cast<uint64_t>(type));
}

void append_bytes(std::string& out, uint32_t number, std::string_view bytes) {
  append_tag(out, number, WireType::Bytes);
  append_varint(out, bytes.size());
  out += bytes;
}

}  // namespace dlcb::cmd
