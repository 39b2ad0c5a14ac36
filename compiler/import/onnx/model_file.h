// An opened model: the mapped file, its parsed skeleton, and the tensors read from either (or from external data
// files).
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/file.h"
#include "base/result.h"
#include "graph/graph.h"

namespace dlcb::onnx {  // protobuf's generated classes
class ModelProto;
class SparseTensorProto;
class TensorProto;
}  // namespace dlcb::onnx

namespace dlcb::importer::onnx {

struct TensorData {
  DType dtype = DType::F32;
  std::vector<int64_t> dims;
  graph::Constant data;
};

// The element type for a TensorProto.DataType, or UnsupportedType naming it.
Result<DType> dtype_of(int32_t data_type);

// Not copyable; one thread at a time. Constants read from it keep the mappings alive by themselves.
class ModelFile {
 public:
  // CannotOpen, NotAModel, TruncatedModel.
  static Result<std::unique_ptr<ModelFile>> open(const std::string& path);
  ~ModelFile();

  const dlcb::onnx::ModelProto& proto() const { return *proto_; }
  const std::string& path() const { return path_; }

  // The tensor's elements: a span of the mapped file where they lie there in our form, a converted copy otherwise.
  // `name` is for messages. BadTensor, UnsupportedType, ExternalData.
  Result<TensorData> read(const dlcb::onnx::TensorProto& tensor, const std::string& name);
  // A sparse tensor made dense.
  Result<TensorData> read(const dlcb::onnx::SparseTensorProto& tensor, const std::string& name);

 private:
  ModelFile() = default;
  Result<graph::Constant> raw_payload(const dlcb::onnx::TensorProto& tensor, const std::string& name) const;
  Result<graph::Constant> external_payload(const dlcb::onnx::TensorProto& tensor, const std::string& name,
                                           uint64_t bytes);

  std::string path_;
  std::shared_ptr<const MappedFile> file_;
  std::unique_ptr<dlcb::onnx::ModelProto> proto_;
  std::map<std::string, std::shared_ptr<const MappedFile>> external_;  // by location
};

}  // namespace dlcb::importer::onnx
