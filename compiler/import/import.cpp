#include "import/import.h"

#include "import/onnx/importer.h"
#include "import/onnx/model_file.h"

namespace dlcb {

Result<graph::Graph> import_model(const std::string& path, std::span<const DeclaredInput> inputs, sym::Store& sym,
                                  ops::ScalarStore& scalars) {
  DLCB_ASSIGN(const auto file, importer::onnx::ModelFile::open(path));
  return importer::onnx::Importer(*file, inputs, sym, scalars).run();
}

}  // namespace dlcb
