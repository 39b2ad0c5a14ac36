// Small ONNX models written in tests: ModelBuilder builds the protobuf, ModelFolder holds the files.
#pragma once
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

#include "base/file.h"
#include "catch.h"
#include "import/onnx/onnx.pb.h"
#include "temp_folder.h"

namespace dlcb::testing {

using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;
using onnx::TensorProto;

// A folder of models.
class ModelFolder : public TempFolder {
 public:
  std::string write(const std::string& name, std::string_view bytes) const {
    REQUIRE(write_file(at(name), bytes));
    return at(name);
  }
};

// A dim of an input: a number, a name, or nothing at all ("").
struct TestDim {
  TestDim(int64_t v) : value(v), number(true) {}
  TestDim(int v) : value(v), number(true) {}
  TestDim(const char* n) : name(n) {}
  int64_t value = 0;
  std::string name;
  bool number = false;
};

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

inline AttributeProto attr(const std::string& name, int64_t v) {
  AttributeProto a;
  a.set_name(name);
  a.set_type(AttributeProto::INT);
  a.set_i(v);
  return a;
}
inline AttributeProto attr(const std::string& name, int v) { return attr(name, int64_t{v}); }
inline AttributeProto attr(const std::string& name, double v) {
  AttributeProto a;
  a.set_name(name);
  a.set_type(AttributeProto::FLOAT);
  a.set_f(static_cast<float>(v));
  return a;
}
inline AttributeProto attr(const std::string& name, const char* v) {
  AttributeProto a;
  a.set_name(name);
  a.set_type(AttributeProto::STRING);
  a.set_s(v);
  return a;
}
inline AttributeProto attr(const std::string& name, std::vector<int64_t> v) {
  AttributeProto a;
  a.set_name(name);
  a.set_type(AttributeProto::INTS);
  for (const int64_t x : v) a.add_ints(x);
  return a;
}
inline AttributeProto attr(const std::string& name, const GraphProto& g) {
  AttributeProto a;
  a.set_name(name);
  a.set_type(AttributeProto::GRAPH);
  *a.mutable_g() = g;
  return a;
}
inline AttributeProto attr(const std::string& name, const TensorProto& t) {
  AttributeProto a;
  a.set_name(name);
  a.set_type(AttributeProto::TENSOR);
  *a.mutable_t() = t;
  return a;
}

template <class T>
TensorProto tensor(const std::string& name, TensorProto::DataType type, std::vector<int64_t> dims,
                   const std::vector<T>& values) {
  TensorProto t;
  t.set_name(name);
  t.set_data_type(type);
  for (const int64_t d : dims) t.add_dims(d);
  t.set_raw_data(bytes_of(values));
  return t;
}
inline TensorProto floats(const std::string& name, std::vector<int64_t> dims, std::vector<float> values) {
  return tensor(name, TensorProto::FLOAT, dims, values);
}
inline TensorProto ints(const std::string& name, std::vector<int64_t> values) {
  return tensor(name, TensorProto::INT64, {static_cast<int64_t>(values.size())}, values);
}

// The parts of a graph, a branch or a loop body.
class GraphBuilder {
 public:
  GraphBuilder& input(const std::string& name, std::vector<TestDim> dims, int type = TensorProto::FLOAT) {
    auto* info = graph.add_input();
    info->set_name(name);
    auto* t = info->mutable_type()->mutable_tensor_type();
    t->set_elem_type(type);
    t->mutable_shape();
    for (const TestDim& d : dims) {
      auto* dim = t->mutable_shape()->add_dim();
      if (d.number)
        dim->set_dim_value(d.value);
      else if (!d.name.empty())
        dim->set_dim_param(d.name);
    }
    return *this;
  }
  GraphBuilder& output(const std::string& name) {
    graph.add_output()->set_name(name);
    return *this;
  }
  GraphBuilder& initializer(const TensorProto& t) {
    *graph.add_initializer() = t;
    return *this;
  }
  GraphBuilder& node(const std::string& op, std::vector<std::string> inputs, std::vector<std::string> outputs,
                     std::vector<AttributeProto> attributes = {}, const std::string& domain = "") {
    NodeProto* n = graph.add_node();
    n->set_op_type(op);
    n->set_domain(domain);
    n->set_name("/" + op + "_" + std::to_string(graph.node_size()));
    for (const auto& i : inputs) n->add_input(i);
    for (const auto& o : outputs) n->add_output(o);
    for (const auto& a : attributes) *n->add_attribute() = a;
    return *this;
  }
  GraphProto graph;
};

inline ModelProto model_of(const GraphBuilder& g, int opset = 18) {
  ModelProto m;
  m.set_ir_version(8);
  auto* import = m.add_opset_import();
  import->set_domain("");
  import->set_version(opset);
  *m.mutable_graph() = g.graph;
  return m;
}

}  // namespace dlcb::testing
