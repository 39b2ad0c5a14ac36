// From a model file to the tensor graph, whatever the file's format: the content decides, not the name.
#pragma once
#include <span>
#include <string>

#include "base/result.h"
#include "graph/graph.h"
#include "import/declared_input.h"

namespace dlcb {

// Reads `path` and builds its graph over the given stores, which must outlive it. Declared inputs give types and dims
// that the model leaves out and override those that it fixes. Large constants stay in the mapped file, which the graph
// keeps alive. Errors: CannotOpen, NotAModel, TruncatedModel; UnknownInput; UnsupportedOpset; UnsupportedOps with one
// note for each operator and reason; UndefinedValue, BadTensor, ExternalData, BadAttribute, MalformedModel; whatever
// Graph::add says of a node (with its origin); UnknownShape for an input without a rank.
Result<graph::Graph> import_model(const std::string& path, std::span<const DeclaredInput> inputs, sym::Store& sym,
                                  ops::ScalarStore& scalars);

}  // namespace dlcb
