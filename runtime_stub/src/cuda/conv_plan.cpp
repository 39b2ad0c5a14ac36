// See conv_plan.h.
#include "conv_plan.h"

#include <algorithm>

#include "compiler/base/dtype.h"
#include "lru_cache.h"

namespace dlcb::rt {
namespace {

using cudnn::Descriptor;
using cudnn::Kind;
using cudnn::Type;

enum TensorId : int64_t { kX = 1, kW, kY, kBias, kResidual, kFirstVirtual };
enum Activation { kNone, kRelu };  // of program.fbs
constexpr int64_t kWorkspaceLimit = int64_t(1) << 30;
constexpr int64_t kMostEngines = 24;

Error unsupported(const std::string& why) {
  return {DLCB_MISSING_LIBRARY, "cuDNN does not take this convolution: " + why};
}

int data_type(int dtype) {
  switch (DType(dtype)) {
    case DType::F32:
      return cudnn::kFloat;
    case DType::F16:
      return cudnn::kHalf;
    case DType::BF16:
      return cudnn::kBfloat16;
    default:
      return cudnn::kDouble;
  }
}

// Builds one operation graph. cuDNN keeps what finalized descriptors refer to, but the caller must too until the graph
// is.
class GraphBuilder {
 public:
  GraphBuilder(const ConvTarget& target, const ConvCall& call) : target_(target), call_(call) {
    compute_type_ = DType(call.dtype) == DType::F64 ? cudnn::kDouble : cudnn::kFloat;
  }

  cudnn::Status build(Descriptor* graph);

 private:
  // NHWC memory described in cuDNN's NCHW dim order.
  Descriptor& tensor(int64_t id, int64_t n, int64_t c, int64_t h, int64_t w, Ptr p, bool is_virtual) {
    Descriptor& t = make(Kind::Tensor);
    t.set(cudnn::kTensorType, Type::DataType, is_virtual ? compute_type_ : data_type(call_.dtype));
    t.set(cudnn::kTensorDims, {n, c, h, w}).set(cudnn::kTensorStrides, {h * w * c, 1, w * c, c});
    t.set(cudnn::kTensorId, Type::Int64, id);
    t.set(cudnn::kTensorAlignment, Type::Int64, is_virtual ? int64_t(16) : alignment_of(p, 16));
    if (is_virtual) t.set(cudnn::kTensorVirtual, Type::Boolean, true);
    finish(t);
    return t;
  }
  Descriptor& output(bool last) {
    return tensor(last ? int64_t(kY) : next_virtual_++, call_.n, call_.k, call_.p, call_.q, call_.y, !last);
  }
  Descriptor& convolution(bool last);
  Descriptor& pointwise(int mode, Descriptor& x, Descriptor* b, bool last);
  Descriptor& make(Kind kind) { return *kept_.emplace_back(std::make_unique<Descriptor>(*target_.api, kind)); }
  void finish(Descriptor& d) {
    if (const cudnn::Status s = d.finalize(); s && !status_) status_ = s;
  }

  const ConvTarget& target_;
  const ConvCall& call_;
  int compute_type_;
  int64_t next_virtual_ = kFirstVirtual;
  std::vector<std::unique_ptr<Descriptor>> kept_;
  std::vector<cudnn::RawDescriptor> operations_;
  cudnn::Status status_ = 0;
};

Descriptor& GraphBuilder::convolution(bool last) {
  const ConvCall& c = call_;
  Descriptor& d = make(Kind::Convolution);
  d.set(cudnn::kConvComputeType, Type::DataType, compute_type_)
      .set(cudnn::kConvMode, Type::ConvolutionMode, int(cudnn::kCrossCorrelation));
  d.set(cudnn::kConvSpatialDims, Type::Int64, int64_t(2));
  d.set(cudnn::kConvPrePads, {c.pad[0], c.pad[1]}).set(cudnn::kConvPostPads, {c.pad[2], c.pad[3]});
  d.set(cudnn::kConvStrides, {c.stride[0], c.stride[1]}).set(cudnn::kConvDilations, {c.dilation[0], c.dilation[1]});
  finish(d);
  Descriptor& x = tensor(kX, c.n, c.c, c.h, c.wd, c.x, false);
  // A transposed convolution is the data gradient of one from its output to its input: the filter's roles swap.
  Descriptor& w = c.transposed ? tensor(kW, c.c, c.k / c.groups, c.r, c.s, c.w, false)
                               : tensor(kW, c.k, c.c / c.groups, c.r, c.s, c.w, false);
  Descriptor& y = output(last);
  Descriptor& op = make(c.transposed ? Kind::ConvolutionBackwardData : Kind::ConvolutionForward);
  op.set(c.transposed ? cudnn::kBackwardConv : cudnn::kForwardConv, d);
  op.set(c.transposed ? cudnn::kBackwardDy : cudnn::kForwardX, x);
  op.set(c.transposed ? cudnn::kBackwardW : cudnn::kForwardW, w);
  op.set(c.transposed ? cudnn::kBackwardDx : cudnn::kForwardY, y);
  const auto scale = [&](cudnn::Attribute name, double value) {
    if (compute_type_ == cudnn::kDouble)
      op.set(name, Type::Double, value);
    else
      op.set(name, Type::Float, float(value));
  };
  scale(c.transposed ? cudnn::kBackwardAlpha : cudnn::kForwardAlpha, 1);
  scale(c.transposed ? cudnn::kBackwardBeta : cudnn::kForwardBeta, 0);
  finish(op);
  operations_.push_back(op.raw());
  return y;
}

Descriptor& GraphBuilder::pointwise(int mode, Descriptor& x, Descriptor* b, bool last) {
  Descriptor& d = make(Kind::Pointwise);
  d.set(cudnn::kPointwiseMode, Type::PointwiseMode, mode)
      .set(cudnn::kPointwisePrecision, Type::DataType, compute_type_);
  finish(d);
  Descriptor& y = output(last);
  Descriptor& op = make(Kind::PointwiseOperation);
  op.set(cudnn::kPointwiseDescriptor, d).set(cudnn::kPointwiseX, x).set(cudnn::kPointwiseY, y);
  if (b) op.set(cudnn::kPointwiseB, *b);
  finish(op);
  operations_.push_back(op.raw());
  return y;
}

// cuDNN's precompiled engines know the chain convolution, + residual, + bias, ReLU in this order, the bias always
// present; any other order or subset is left to engines that compile at run time.
cudnn::Status GraphBuilder::build(Descriptor* graph) {
  const ConvCall& c = call_;
  int left = (c.residual ? 1 : 0) + (c.bias ? 1 : 0) + (c.activation == kRelu ? 1 : 0);
  Descriptor* v = &convolution(left == 0);
  if (c.residual) {
    Descriptor& r = tensor(kResidual, c.n, c.k, c.p, c.q, c.residual, false);
    v = &pointwise(cudnn::kAdd, *v, &r, --left == 0);
  }
  if (c.bias) v = &pointwise(cudnn::kAdd, *v, &tensor(kBias, 1, c.k, 1, 1, c.bias, false), --left == 0);
  if (c.activation == kRelu) pointwise(cudnn::kReluForward, *v, nullptr, --left == 0);
  if (status_) return status_;
  *graph = Descriptor(*target_.api, Kind::OperationGraph);
  graph->set(cudnn::kGraphOperations, Type::Descriptor, int64_t(operations_.size()), operations_.data());
  if (target_.handle) graph->set(cudnn::kGraphHandle, Type::Handle, target_.handle);
  return graph->finalize();
}

struct Candidate {
  Descriptor config;
  int rank = 0;  // lower is tried first; the heuristic's order within a rank
  bool runtime_compiled = false;
};

bool has(const std::vector<int>& notes, int note) { return std::find(notes.begin(), notes.end(), note) != notes.end(); }

std::vector<int> notes_of(const Descriptor& engine, cudnn::Attribute name, Type type) {
  std::vector<int> notes(16);
  int64_t count = 0;
  if (engine.get(name, type, int64_t(notes.size()), &count, notes.data())) count = 0;
  notes.resize(size_t(std::min<int64_t>(count, 16)));
  return notes;
}

// False when the call's precision forbids the engine. TF32 is refused by the tensor-core note: on f32 data they imply
// it.
bool admit(const ConvCall& call, const Descriptor& engine, Candidate* candidate) {
  const auto numerical = notes_of(engine, cudnn::kEngineNumericalNotes, Type::NumericalNote);
  const auto behavior = notes_of(engine, cudnn::kEngineBehaviorNotes, Type::BehaviorNote);
  if (DType(call.dtype) == DType::F32 && !call.tf32 &&
      (has(numerical, cudnn::kNoteTensorCore) || has(numerical, cudnn::kNoteDownConvert)))
    return false;
  if (has(numerical, cudnn::kNoteReducedReduction)) return false;
  candidate->runtime_compiled = has(behavior, cudnn::kNoteRuntimeCompilation);
  // A run-time compilation costs a first-seen shape half a second and more; results that vary between runs are worse.
  candidate->rank = (has(numerical, cudnn::kNoteNondeterministic) ? 2 : 0) + (candidate->runtime_compiled ? 1 : 0);
  return true;
}

void ask(const ConvTarget& target, const ConvCall& call, const Descriptor& graph, int mode,
         std::vector<Candidate>* out) {
  Descriptor heuristic(*target.api, Kind::EngineHeuristic);
  heuristic.set(cudnn::kHeuristicGraph, graph).set(cudnn::kHeuristicMode, Type::HeuristicMode, mode);
  if (!target.handle && target.device) heuristic.set(cudnn::kHeuristicDevice, *target.device);
  if (heuristic.finalize()) return;
  std::vector<Descriptor> configs;
  std::vector<cudnn::RawDescriptor> raw;
  for (int64_t i = 0; i < kMostEngines; ++i) raw.push_back(configs.emplace_back(*target.api, Kind::EngineConfig).raw());
  int64_t count = 0;
  if (heuristic.get(cudnn::kHeuristicResults, Type::Descriptor, kMostEngines, &count, raw.data())) return;
  for (int64_t i = 0; i < std::min(count, kMostEngines); ++i) {
    Descriptor engine(*target.api, Kind::Engine);
    cudnn::RawDescriptor raw_engine = engine.raw();
    int64_t one = 0;
    if (configs[size_t(i)].get(cudnn::kConfigEngine, Type::Descriptor, 1, &one, &raw_engine) || one != 1) continue;
    Candidate candidate;
    if (!admit(call, engine, &candidate)) continue;
    candidate.config = std::move(configs[size_t(i)]);
    out->push_back(std::move(candidate));
  }
}

bool finalize_plan(const ConvTarget& target, const Descriptor& config, ConvPlan* out) {
  Descriptor plan(*target.api, Kind::ExecutionPlan);
  plan.set(cudnn::kPlanConfig, config);
  if (target.handle)
    plan.set(cudnn::kPlanHandle, Type::Handle, target.handle);
  else if (target.device)
    plan.set(cudnn::kPlanDevice, *target.device);
  if (plan.finalize()) return false;
  int64_t count = 0;
  if (plan.get(cudnn::kPlanWorkspace, Type::Int64, 1, &count, &out->workspace_bytes)) return false;
  if (out->workspace_bytes > kWorkspaceLimit) return false;
  out->plan = std::move(plan);
  return true;
}

}  // namespace

std::vector<void*> ConvPlan::pointers(const ConvCall& c) const {
  std::vector<void*> out;
  for (int64_t id : ids)
    out.push_back(reinterpret_cast<void*>(id == kX      ? c.x
                                          : id == kW    ? c.w
                                          : id == kY    ? c.y
                                          : id == kBias ? c.bias
                                                        : c.residual));
  return out;
}

Error conv_failure(const cudnn::Api& api, cudnn::Status status, const char* what) {
  const char* text = api.error_string(status);
  const std::string message = std::string(what) + ": " + (text ? text : std::to_string(status));
  if (status < cudnn::kRefusals) return unsupported(message);
  return {status == cudnn::kDeviceMemoryFailed ? DLCB_OUT_OF_MEMORY : DLCB_DEVICE_ERROR, "cuDNN: " + message};
}

Error build_conv_plan(const ConvTarget& target, const ConvCall& wanted, ConvPlan* out) {
  if (wanted.dtype < 0 || wanted.dtype > int(DType::F64)) return unsupported("element type");
  if (wanted.activation != kNone && wanted.activation != kRelu) return unsupported("activation");
  ConvCall call = wanted;
  out->zero_bias = !call.bias && (call.residual || call.activation != kNone);
  if (out->zero_bias) call.bias = 256;  // only its alignment matters here
  Descriptor graph;
  if (const cudnn::Status s = GraphBuilder(target, call).build(&graph))
    return conv_failure(*target.api, s, "describing it");
  std::vector<Candidate> candidates;
  for (int mode : {int(cudnn::kModeA), int(cudnn::kModeFallback)}) {
    candidates.clear();
    ask(target, call, graph, mode, &candidates);
    std::stable_sort(candidates.begin(), candidates.end(), [](auto& a, auto& b) { return a.rank < b.rank; });
    for (const Candidate& c : candidates) {
      if (!finalize_plan(target, c.config, out)) continue;
      out->runtime_compiled = c.runtime_compiled;
      out->ids = {kX, kW, kY};
      if (call.bias) out->ids.push_back(kBias);  // zeros count
      if (call.residual) out->ids.push_back(kResidual);
      return {};
    }
  }
  return unsupported("no engine");
}

}  // namespace dlcb::rt
