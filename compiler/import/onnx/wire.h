// A model's weights are most of its bytes, and protobuf would copy each of them. This walks the serialised message once
// and copies everything except the payload of large tensors; protobuf then parses a skeleton of some kilobytes and
// constants refer to the mapped file. It is also where damaged files are found.
#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "base/result.h"

namespace dlcb::importer::onnx {

// Payloads from this size on stay in the file.
constexpr size_t kMappedPayload = 512;

// The bytes of a ModelProto whose large TensorProto.raw_data fields (initializers, attributes, subgraphs, functions)
// are replaced by mapped_offset and mapped_size, offsets into `file`. `path` is for messages only. Errors: NotAModel
// (not protobuf, not a ModelProto, damaged inside), TruncatedModel (the last field ends beyond the file).
Result<std::string> skeleton_of(std::span<const std::byte> file, const std::string& path);

}  // namespace dlcb::importer::onnx
