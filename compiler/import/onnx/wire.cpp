#include "import/onnx/wire.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

namespace dlcb::importer::onnx {
namespace {

// The messages on the way from ModelProto to TensorProto.raw_data; all others are copied as bytes.
enum class Message : uint8_t { Leaf, Model, Graph, Node, Attribute, Tensor, SparseTensor, Function };

struct Edge {
  Message parent;
  uint32_t field;
  Message child;
};
constexpr Edge kEdges[] = {
    {Message::Model, 7, Message::Graph},          // graph
    {Message::Model, 25, Message::Function},      // functions
    {Message::Graph, 1, Message::Node},           // node
    {Message::Graph, 5, Message::Tensor},         // initializer
    {Message::Graph, 15, Message::SparseTensor},  // sparse_initializer
    {Message::Node, 5, Message::Attribute},       // attribute
    {Message::Attribute, 5, Message::Tensor},     // t
    {Message::Attribute, 6, Message::Graph},      // g
    {Message::Attribute, 10, Message::Tensor},    // tensors
    {Message::Attribute, 11, Message::Graph},     // graphs
    {Message::Attribute, 22, Message::SparseTensor},
    {Message::Attribute, 23, Message::SparseTensor},
    {Message::SparseTensor, 1, Message::Tensor},  // values
    {Message::SparseTensor, 2, Message::Tensor},  // indices
    {Message::Function, 7, Message::Node},        // node
    {Message::Function, 11, Message::Attribute},  // attribute_proto
};
constexpr uint32_t kRawData = 9, kMappedOffset = 20001, kMappedSize = 20002;
constexpr int kMaxDepth = 90;       // protobuf itself stops at 100
constexpr size_t kLengthBytes = 5;  // a padded varint, patched when a nested message is complete

Message child_of(Message parent, uint32_t field) {
  for (const Edge& e : kEdges)
    if (e.parent == parent && e.field == field) return e.child;
  return Message::Leaf;
}

// The wire type that ModelProto gives a field, or nothing if it has no such field.
std::optional<uint32_t> model_wire_type(uint32_t field) {
  switch (field) {
    case 1:
    case 5:
      return 0;
    case 2:
    case 3:
    case 4:
    case 6:
    case 7:
    case 8:
    case 14:
    case 20:
    case 25:
    case 26:
      return 2;
    default:
      return std::nullopt;
  }
}

class Copier {
 public:
  Copier(std::string_view file, const std::string& path) : file_(file), path_(path) {}

  Status copy(Message message, size_t end, int depth) {
    if (depth > kMaxDepth) return damaged("messages are nested too deeply");
    while (pos_ < end) {
      const size_t start = pos_;
      DLCB_ASSIGN(const uint64_t tag, varint(end));
      const uint64_t field = tag >> 3;
      const uint32_t wire = tag & 7;
      if (field == 0 || field > (1u << 29) - 1) return damaged("a field number is out of range");
      if (message == Message::Model) {
        const auto expected = model_wire_type(static_cast<uint32_t>(field));
        if (expected ? *expected != wire : field > 1000) return damaged("it is not a ModelProto");
      }
      DLCB_TRY(copy_field(message, static_cast<uint32_t>(field), wire, start, end, depth));
    }
    return ok();
  }

  size_t pos() const { return pos_; }
  std::string take() { return std::move(out_); }

 private:
  Status copy_field(Message message, uint32_t field, uint32_t wire, size_t start, size_t end, int depth) {
    size_t length = 0;
    switch (wire) {
      case 0: {
        DLCB_TRY(varint(end));
        break;
      }
      case 1:
        length = 8;
        break;
      case 5:
        length = 4;
        break;
      case 2: {
        DLCB_ASSIGN(length, varint(end));
        break;
      }
      default:
        return damaged("it is not a protobuf message");
    }
    if (length > end - pos_) {
      if (end == file_.size())
        return diag(
            DiagKind::TruncatedModel,
            {path_, fmt::format("byte {} starts a field of {} bytes, but only {} follow", start, length, end - pos_)},
            {path_, "", "", ""});
      return damaged("a field is longer than the message that holds it");
    }
    const Message child = wire == 2 ? child_of(message, field) : Message::Leaf;
    if (child != Message::Leaf) return copy_nested(child, start, pos_ + length, depth);
    const size_t payload = pos_;
    pos_ += length;
    if (message == Message::Tensor && (field == kMappedOffset || field == kMappedSize)) return ok();  // ours alone
    if (message == Message::Tensor && field == kRawData && wire == 2 && length >= kMappedPayload) {
      put_varint(uint64_t{kMappedOffset} << 3);
      put_varint(payload);
      put_varint(uint64_t{kMappedSize} << 3);
      put_varint(length);
    } else {
      out_.append(file_, start, pos_ - start);
    }
    return ok();
  }

  Status copy_nested(Message child, size_t start, size_t end, int depth) {
    const size_t body = pos_;
    pos_ = start;
    DLCB_ASSIGN(const uint64_t tag, varint(end));
    pos_ = body;
    put_varint(tag);
    const size_t length_at = out_.size();
    out_.append(kLengthBytes, '\0');
    DLCB_TRY(copy(child, end, depth + 1));
    uint64_t length = out_.size() - length_at - kLengthBytes;
    for (size_t i = 0; i < kLengthBytes; ++i, length >>= 7)
      out_[length_at + i] = static_cast<char>((length & 0x7f) | (i + 1 < kLengthBytes ? 0x80 : 0));
    return ok();
  }

  Result<uint64_t> varint(size_t end) {
    uint64_t value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      if (pos_ >= end) {
        if (end == file_.size())
          return diag(DiagKind::TruncatedModel, {path_, fmt::format("byte {} is in the middle of a field", pos_)},
                      {path_, "", "", ""});
        return damaged("a number is longer than the message that holds it");
      }
      const auto byte = static_cast<uint8_t>(file_[pos_++]);
      if (shift < 64) value |= uint64_t{byte & 0x7fu} << shift;
      if (!(byte & 0x80)) return value;
    }
    return damaged("a number is longer than ten bytes");
  }

  void put_varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_.push_back(static_cast<char>(value | 0x80));
    out_.push_back(static_cast<char>(value));
  }

  Diagnostic damaged(std::string_view what) const {
    return diag(DiagKind::NotAModel, {path_, fmt::format("{} (at byte {})", what, pos_)}, {path_, "", "", ""});
  }

  std::string_view file_;
  const std::string& path_;
  size_t pos_ = 0;
  std::string out_;
};

bool looks_like_text(std::string_view bytes) {
  bytes = bytes.substr(0, 256);
  return std::all_of(bytes.begin(), bytes.end(), [](char c) {
    const auto b = static_cast<unsigned char>(c);
    return b == '\n' || b == '\r' || b == '\t' || (b >= 0x20 && b != 0x7f);
  });
}

}  // namespace

Result<std::string> skeleton_of(std::span<const std::byte> file, const std::string& path) {
  const std::string_view bytes(reinterpret_cast<const char*>(file.data()), file.size());
  const Location where{path, "", "", ""};
  if (bytes.empty()) return diag(DiagKind::NotAModel, {path, "the file is empty"}, where);
  if (looks_like_text(bytes)) return diag(DiagKind::NotAModel, {path, "it is a text file"}, where);
  Copier copier(bytes, path);
  DLCB_TRY(copier.copy(Message::Model, bytes.size(), 0));
  return copier.take();
}

}  // namespace dlcb::importer::onnx
