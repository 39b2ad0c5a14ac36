// Tensors in all the forms that files hold them: raw bytes, typed fields, sparse, in another file.
#include "graph/constant.h"
#include "import/onnx/model_file.h"
#include "model_builder.h"

using namespace dlcb;
using namespace dlcb::testing;
using importer::onnx::ModelFile;
using importer::onnx::TensorData;

namespace {

std::unique_ptr<ModelFile> open_empty(const ModelFolder& folder) {
  GraphBuilder g;
  auto file = ModelFile::open(folder.write("m.onnx", model_of(g).SerializeAsString()));
  REQUIRE(file);
  return *std::move(file);
}

Result<TensorData> read(const TensorProto& t) {
  ModelFolder folder;
  return open_empty(folder)->read(t, "w");
}

TensorProto typed(TensorProto::DataType type, std::vector<int64_t> dims) {
  TensorProto t;
  t.set_data_type(type);
  for (const int64_t d : dims) t.add_dims(d);
  return t;
}

TensorProto external(std::initializer_list<std::pair<const char*, const char*>> entries) {
  TensorProto t = typed(TensorProto::FLOAT, {2});
  t.set_data_location(TensorProto::EXTERNAL);
  for (const auto& [key, value] : entries) {
    auto* e = t.add_external_data();
    e->set_key(key);
    e->set_value(value);
  }
  return t;
}

}  // namespace

TEST_CASE("typed fields are narrowed to the element type") {
  TensorProto half = typed(TensorProto::FLOAT16, {2});
  half.add_int32_data(0x3c00);
  half.add_int32_data(0xc000);
  auto data = read(half);
  REQUIRE(data);
  CHECK(data->dtype == DType::F16);
  CHECK(graph::real_element(DType::F16, data->data.bytes, 0) == 1.0);
  CHECK(graph::real_element(DType::F16, data->data.bytes, 1) == -2.0);

  TensorProto bools = typed(TensorProto::BOOL, {3});
  for (const int v : {0, 1, 7}) bools.add_int32_data(v);
  data = read(bools);
  REQUIRE(data);
  CHECK(data->data.bytes.size() == 3);
  CHECK(static_cast<int>(data->data.bytes[2]) == 1);

  TensorProto wide = typed(TensorProto::UINT32, {1});
  wide.add_uint64_data(4000000000u);
  data = read(wide);
  REQUIRE(data);
  CHECK(graph::integer_element(DType::U32, data->data.bytes, 0) == 4000000000);
}

TEST_CASE("empty tensors and scalars") {
  auto data = read(typed(TensorProto::FLOAT, {3, 0, 2}));
  REQUIRE(data);
  CHECK(data->data.bytes.empty());
  TensorProto scalar = typed(TensorProto::DOUBLE, {});
  scalar.add_double_data(2.5);
  data = read(scalar);
  REQUIRE(data);
  CHECK(data->dims.empty());
  CHECK(graph::real_element(DType::F64, data->data.bytes, 0) == 2.5);
}

TEST_CASE("types that have no counterpart are named") {
  for (const auto& [type, name] :
       {std::pair{TensorProto::INT4, "int4"}, std::pair{TensorProto::STRING, "string"},
        std::pair{TensorProto::FLOAT8E5M2, "float8e5m2"}, std::pair{TensorProto::COMPLEX64, "complex64"}}) {
    auto data = read(typed(type, {1}));
    REQUIRE(!data);
    CHECK(data.error().kind == DiagKind::UnsupportedType);
    CHECK(message(data.error()).find(name) != std::string::npos);
  }
}

TEST_CASE("wrong sizes and dims are refused") {
  TensorProto shorter = floats("w", {3}, {1, 2});
  CHECK(read(shorter).error().kind == DiagKind::BadTensor);
  CHECK(read(typed(TensorProto::FLOAT, {-1})).error().kind == DiagKind::BadTensor);
  CHECK(read(typed(TensorProto::FLOAT, {INT64_MAX, 4})).error().kind == DiagKind::BadTensor);
}

TEST_CASE("external data: offsets, lengths, and paths that leave the folder") {
  ModelFolder folder;
  auto file = open_empty(folder);
  folder.write("w.bin", "abc" + bytes_of(std::vector<float>{1.5f, -4}));
  auto data = file->read(external({{"location", "w.bin"}, {"offset", "3"}, {"length", "8"}}), "w");
  REQUIRE(data);
  CHECK(graph::real_element(DType::F32, data->data.bytes, 1) == -4);
  for (const auto& t :
       {external({{"location", "w.bin"}, {"offset", "4"}}), external({{"location", "missing.bin"}}),
        external({{"location", "../w.bin"}}), external({{"location", "/etc/passwd"}}), external({}),
        external({{"location", "w.bin"}, {"length", "4"}}), external({{"location", "w.bin"}, {"offset", "x"}}),
        external({{"location", "w.bin"}, {"offset", "99999999999999999999"}})}) {
    auto refused = file->read(t, "w");
    REQUIRE(!refused);
    CHECK(refused.error().kind == DiagKind::ExternalData);
  }
}

TEST_CASE("sparse tensors become dense") {
  onnx::SparseTensorProto sparse;
  *sparse.mutable_values() = floats("s", {2}, {5, 6});
  *sparse.mutable_indices() = tensor<int64_t>("", TensorProto::INT64, {2, 2}, {0, 1, 1, 0});
  sparse.add_dims(2);
  sparse.add_dims(2);
  ModelFolder folder;
  auto file = open_empty(folder);
  auto data = file->read(sparse, "s");
  REQUIRE(data);
  for (int i = 0; i < 4; ++i)
    CHECK(graph::real_element(DType::F32, data->data.bytes, i) == (i == 1 ? 5 : i == 2 ? 6 : 0));
  *sparse.mutable_indices() = ints("", {1, 4});
  CHECK(file->read(sparse, "s").error().kind == DiagKind::BadTensor);
}
