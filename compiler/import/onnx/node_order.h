// ONNX demands topologically sorted nodes, but files in the wild are not always sorted.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "base/result.h"

namespace dlcb::onnx {
class NodeProto;
}

namespace dlcb::importer::onnx {

// Indices of the nodes in an order in which every value is made before it is used, in subgraphs too; the file's order
// where it is one, else the nearest to it. MalformedModel for a cycle or for a value that two nodes make.
Result<std::vector<size_t>> node_order(std::span<const dlcb::onnx::NodeProto* const> nodes);

}  // namespace dlcb::importer::onnx
