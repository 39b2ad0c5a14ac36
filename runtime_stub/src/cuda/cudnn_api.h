// The part of cuDNN 9's backend (graph) API in use: opaque handles, enum values, functions. A wrapper owns descriptors.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "driver.h"

namespace dlcb::rt::cudnn {

using Status =
    int;  // 0: success; by thousands: library unusable, bad parameter, not supported, internal error, failed execution
constexpr Status kRefusals = 4000;  // those below: cuDNN does not take the case here
constexpr Status kDeviceMemoryFailed = 4004;
using Handle = struct HandleOpaque*;
using RawDescriptor = void*;

// cudnnBackendDescriptorType_t
enum class Kind : int {
  Pointwise = 0,
  Convolution = 1,
  Engine = 2,
  EngineConfig = 3,
  EngineHeuristic = 4,
  ExecutionPlan = 5,
  ConvolutionForward = 10,
  ConvolutionBackwardData = 12,
  PointwiseOperation = 13,
  OperationGraph = 15,
  VariantPack = 16,
  Tensor = 17,
  DeviceProperties = 38,
};
// cudnnBackendAttributeType_t
enum class Type : int {
  Handle = 0,
  DataType = 1,
  Boolean = 2,
  Int64 = 3,
  Float = 4,
  Double = 5,
  VoidPtr = 6,
  ConvolutionMode = 7,
  HeuristicMode = 8,
  NumericalNote = 11,
  PointwiseMode = 14,
  Descriptor = 15,
  BehaviorNote = 19,
  Char = 24,
};
// cudnnBackendAttributeName_t
enum Attribute : int {
  kPointwiseMode = 0,
  kPointwisePrecision = 1,
  kPointwiseReluLowerClip = 3,
  kConvComputeType = 100,
  kConvMode = 101,
  kConvDilations = 102,
  kConvStrides = 103,
  kConvPostPads = 104,
  kConvPrePads = 105,
  kConvSpatialDims = 106,
  kHeuristicMode = 200,
  kHeuristicGraph = 201,
  kHeuristicResults = 202,
  kHeuristicDevice = 204,
  kConfigEngine = 300,
  kPlanHandle = 400,
  kPlanConfig = 401,
  kPlanWorkspace = 402,
  kPlanDevice = 407,
  kForwardAlpha = 700,
  kForwardBeta = 701,
  kForwardConv = 702,
  kForwardW = 703,
  kForwardX = 704,
  kForwardY = 705,
  kBackwardAlpha = 706,
  kBackwardBeta = 707,
  kBackwardConv = 708,
  kBackwardW = 709,
  kBackwardDx = 710,
  kBackwardDy = 711,
  kPointwiseDescriptor = 750,
  kPointwiseX = 751,
  kPointwiseB = 752,
  kPointwiseY = 753,
  kGraphHandle = 800,
  kGraphOperations = 801,
  kTensorAlignment = 900,
  kTensorType = 901,
  kTensorDims = 902,
  kTensorStrides = 903,
  kTensorId = 906,
  kTensorVirtual = 907,
  kPackIds = 1000,
  kPackPointers = 1001,
  kPackWorkspace = 1003,
  kEngineNumericalNotes = 1303,
  kEngineBehaviorNotes = 1305,
  kDeviceJson = 2702,
};
enum : int {
  kFloat = 0,
  kDouble = 1,
  kHalf = 2,
  kBfloat16 = 9,          // cudnnDataType_t
  kCrossCorrelation = 1,  // cudnnConvolutionMode_t
  kAdd = 0,
  kReluForward = 100,  // cudnnPointwiseMode_t
  kModeFallback = 2,
  kModeA = 3,  // cudnnBackendHeurMode_t
  kNoteTensorCore = 0,
  kNoteDownConvert = 1,
  kNoteReducedReduction = 2,
  kNoteNondeterministic = 4,
  kNoteRuntimeCompilation = 0,  // cudnnBackendBehaviorNote_t
};

struct Api {
  size_t (*version)();
  Status (*create)(Handle*);
  Status (*destroy)(Handle);
  Status (*set_stream)(Handle, CUstream);
  const char* (*error_string)(Status);
  Status (*descriptor_create)(int kind, RawDescriptor*);
  Status (*descriptor_destroy)(RawDescriptor);
  Status (*descriptor_finalize)(RawDescriptor);
  Status (*descriptor_set)(RawDescriptor, int name, int type, int64_t count, const void* elements);
  Status (*descriptor_get)(RawDescriptor, int name, int type, int64_t room, int64_t* count, void* elements);
  Status (*execute)(Handle, RawDescriptor plan, RawDescriptor pack);

  static constexpr const char* kFiles[] = {"libcudnn.so.9", "libcudnn.so"};
  template <class Find>
  void each(Find find) {
    find("cudnnGetVersion", &version);
    find("cudnnCreate", &create);
    find("cudnnDestroy", &destroy);
    find("cudnnSetStream", &set_stream);
    find("cudnnGetErrorString", &error_string);
    find("cudnnBackendCreateDescriptor", &descriptor_create);
    find("cudnnBackendDestroyDescriptor", &descriptor_destroy);
    find("cudnnBackendFinalize", &descriptor_finalize);
    find("cudnnBackendSetAttribute", &descriptor_set);
    find("cudnnBackendGetAttribute", &descriptor_get);
    find("cudnnBackendExecute", &execute);
  }
};

// Owns a backend descriptor. The first failure sticks, so that a run of settings is checked once, by finalize().
class Descriptor {
 public:
  Descriptor() = default;
  Descriptor(const Api& api, Kind kind) : api_(&api) { status_ = api.descriptor_create(int(kind), &raw_); }
  ~Descriptor() {
    if (raw_) api_->descriptor_destroy(raw_);
  }
  Descriptor(Descriptor&& other) noexcept { swap(other); }
  Descriptor& operator=(Descriptor&& other) noexcept {
    swap(other);
    return *this;
  }

  Descriptor& set(Attribute name, Type type, int64_t count, const void* elements) {
    if (!status_) status_ = api_->descriptor_set(raw_, name, int(type), count, elements);
    return *this;
  }
  template <class T>
  Descriptor& set(Attribute name, Type type, T value) {
    return set(name, type, 1, &value);
  }
  Descriptor& set(Attribute name, const std::vector<int64_t>& values) {
    return set(name, Type::Int64, int64_t(values.size()), values.data());
  }
  Descriptor& set(Attribute name, const Descriptor& other) { return set(name, Type::Descriptor, 1, &other.raw_); }
  Status finalize() {
    if (!status_) status_ = api_->descriptor_finalize(raw_);
    return status_;
  }
  Status get(Attribute name, Type type, int64_t room, int64_t* count, void* elements) const {
    return api_->descriptor_get(raw_, name, int(type), room, count, elements);
  }
  RawDescriptor raw() const { return raw_; }
  Status status() const { return status_; }

 private:
  void swap(Descriptor& other) {
    std::swap(api_, other.api_);
    std::swap(raw_, other.raw_);
    std::swap(status_, other.status_);
  }
  const Api* api_ = nullptr;
  RawDescriptor raw_ = nullptr;
  Status status_ = 0;
};

}  // namespace dlcb::rt::cudnn
