// Loading and running; see session.h.
#include "cmd/run/session.h"

#include <dlcb.h>

#include <chrono>
#include <cstring>

#include "base/text.h"
#include "bundle_format/reader.h"
#include "cmd/common/bundle_error.h"
#include "cmd/run/cuda_memory.h"
#include "cmd/run/example.h"

namespace dlcb::cmd {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

DLDataType to_dlpack(DType dtype) {
  uint8_t code = dtype == DType::BF16 ? kDLBfloat : dtype == DType::Bool ? kDLBool : kDLFloat;
  if (is_integer(dtype)) code = name_of(dtype)[0] == 'i' ? kDLInt : kDLUInt;
  return {code, static_cast<uint8_t>(8 * size_of(dtype)), 1};
}

DType from_dlpack(DLDataType type) {
  for (int i = 0; i <= static_cast<int>(DType::Bool); ++i) {
    DLDataType candidate = to_dlpack(static_cast<DType>(i));
    if (candidate.code == type.code && candidate.bits == type.bits) return static_cast<DType>(i);
  }
  internal_error("the stub reported an element type that bundles cannot hold", __FILE__, __LINE__);
}

DLTensor describe_tensor(void* data, DLDevice device, DType dtype, std::vector<int64_t>& shape) {
  DLTensor tensor = {};
  tensor.data = data;
  tensor.device = device;
  tensor.ndim = static_cast<int32_t>(shape.size());
  tensor.dtype = to_dlpack(dtype);
  tensor.shape = shape.data();
  return tensor;
}

// The first line is the message; what follows says where it comes from.
Diagnostic refused(DiagKind kind, const std::string& message) {
  std::vector<std::string> lines = split(message, '\n');
  Diagnostic diagnostic = diag(kind, {lines[0]});
  for (size_t i = 1; i < lines.size(); ++i) diagnostic.notes.push_back({std::string(trim(lines[i])), {}});
  return diagnostic;
}

}  // namespace

// The arguments of dlcb_invoke; shapes live here because DLTensor only points to them.
struct Session::Call {
  std::vector<std::vector<int64_t>> input_shapes, output_shapes;
  std::vector<DLTensor> inputs, outputs;

  // Outputs are left to the context: it knows their sizes, and keeps them on the device.
  void reset_outputs(const std::vector<Port>& ports) {
    outputs.clear();
    output_shapes.resize(ports.size());
    for (size_t i = 0; i < ports.size(); ++i) {
      output_shapes[i].assign(ports[i].dims.size(), 0);
      outputs.push_back(describe_tensor(nullptr, {kDLCPU, 0}, ports[i].dtype, output_shapes[i]));
    }
  }
  void add_input(const Tensor& tensor, void* data, DLDevice device, std::vector<int64_t>& shape) {
    inputs.push_back(describe_tensor(data, device, tensor.dtype, shape));
  }
};

Diagnostic Session::failure(int status, const std::string& message) const {
  switch (status) {
    case DLCB_BAD_BUNDLE:
    case DLCB_BAD_VERSION:
    case DLCB_BAD_ARGUMENT: {  // a bundle that cannot be opened, among others
      std::shared_ptr<bundle::Bundle> again;
      if (bundle::Error error = bundle::Bundle::open(path_, &again)) return bundle_refused(path_, error);
      return status == DLCB_BAD_ARGUMENT ? refused(DiagKind::BadFlag, message)
                                         : diag(DiagKind::BadBundle, {path_, message});
    }
    case DLCB_NO_TARGET:
      return refused(DiagKind::NoFittingTarget, message);
    case DLCB_INPUT_REFUSED:
      return refused(DiagKind::GuardFailed, message);
    case DLCB_OUT_OF_MEMORY:
      return refused(DiagKind::DeviceError, "out of device memory: " + message);
    case DLCB_MISSING_LIBRARY:
    case DLCB_DEVICE_ERROR:
      return refused(DiagKind::DeviceError, message);
    default:
      internal_error(message, __FILE__, __LINE__);
  }
}

Status Session::load(const std::string& path, const SessionOptions& options, bool on_cuda) {
  dlcb_options stub_options;
  dlcb_options_init(&stub_options);
  stub_options.device = on_cuda ? DLCB_CUDA : DLCB_SIM;
  stub_options.device_index = options.device_index.value_or(0);
  if (options.tf32 != "compiled")
    stub_options.allow_tf32_conv = stub_options.allow_tf32_matmul = options.tf32 == "on" ? 1 : 0;
  if (!options.sim_cache_dir.empty()) stub_options.sim_cache_dir = options.sim_cache_dir.c_str();
  if (options.no_libraries) stub_options.use_libraries = 0;
  Clock::time_point start = Clock::now();
  if (dlcb_status status = dlcb_load_file(path.c_str(), &stub_options, &model_))
    return failure(status, dlcb_last_error(nullptr));
  if (dlcb_status status = dlcb_context_create(model_, &context_)) return failure(status, dlcb_last_error(nullptr));
  load_seconds_ = since(start);
  device_ = on_cuda ? "cuda" : "sim";
  if (!on_cuda) return ok();
  DLCB_ASSIGN(cuda_, CudaMemory::open(stub_options.device_index));
  return ok();
}

void Session::describe() {
  for (int i = 0; i < dlcb_input_count(model_); ++i) {
    Port port{dlcb_input_name(model_, i), from_dlpack(dlcb_input_dtype(model_, i)), {}};
    for (int axis = 0; axis < dlcb_input_rank(model_, i); ++axis)
      port.dims.emplace_back(dlcb_input_dim(model_, i, axis));
    inputs_.push_back(std::move(port));
  }
  for (int i = 0; i < dlcb_output_count(model_); ++i) {
    Port port{dlcb_output_name(model_, i), from_dlpack(dlcb_output_dtype(model_, i)), {}};
    for (int axis = 0; axis < dlcb_output_rank(model_, i); ++axis)
      port.dims.emplace_back(dlcb_output_dim(model_, i, axis));
    outputs_.push_back(std::move(port));
  }
}

void Session::find_examples() {
  std::shared_ptr<bundle::Bundle> bundle;
  if (bundle::Bundle::open(path_, &bundle)) return;  // it was there a moment ago; the message does without
  const Example example = example_call(bundle->program());
  for (uint32_t i = 0; i < inputs_.size(); ++i) {
    std::vector<std::string> sizes;
    for (int64_t d : example.dims[i]) sizes.push_back(std::to_string(d));
    const bool read = bundle->program().inputs()->Get(i)->host() && sizes.empty();
    inputs_[i].example = read ? std::to_string(example.values[i]) : "random[" + join(sizes, ",") + "]";
  }
}

Result<std::unique_ptr<Session>> Session::open(const std::string& path, const SessionOptions& options,
                                               std::string* note) {
  std::unique_ptr<Session> session(new Session);
  session->path_ = path;
  auto loaded = session->load(path, options, options.device != "sim");
  if (!loaded && options.device == "auto" && exit_code(loaded.error().kind) == ExitCode::Environment) {
    *note = "using the simulator: " + message(loaded.error());
    session = std::unique_ptr<Session>(new Session);
    session->path_ = path;
    loaded = session->load(path, options, /*on_cuda=*/false);
  }
  if (!loaded) return std::move(loaded.error());
  session->describe();
  return session;
}

Session::~Session() {
  dlcb_context_free(context_);
  dlcb_model_free(model_);
}

Status Session::invoke(Call& call) {
  call.reset_outputs(outputs_);
  dlcb_status status = dlcb_invoke(context_, call.inputs.data(), static_cast<int>(call.inputs.size()),
                                   call.outputs.data(), static_cast<int>(call.outputs.size()), nullptr);
  if (status != DLCB_OK) return failure(status, dlcb_last_error(context_));
  return ok();
}

Status Session::wait() { return cuda_ ? cuda_->synchronize() : ok(); }

Result<std::vector<Tensor>> Session::run(std::span<const Tensor> inputs) {
  Call call;
  for (const Tensor& tensor : inputs) call.input_shapes.push_back(tensor.dims);
  for (size_t i = 0; i < inputs.size(); ++i)
    call.add_input(inputs[i], const_cast<std::byte*>(inputs[i].bytes.data()), {kDLCPU, 0}, call.input_shapes[i]);
  DLCB_TRY(invoke(call));
  DLCB_TRY(wait());
  std::vector<Tensor> results;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    Tensor tensor = make_tensor(outputs_[i].dtype, call.output_shapes[i]);
    const auto* data = static_cast<const std::byte*>(call.outputs[i].data) + call.outputs[i].byte_offset;
    if (cuda_ && call.outputs[i].device.device_type == kDLCUDA) {
      DLCB_TRY(cuda_->download(tensor.bytes.data(), data, tensor.bytes.size()));
    } else if (!tensor.bytes.empty()) {
      std::memcpy(tensor.bytes.data(), data, tensor.bytes.size());
    }
    results.push_back(std::move(tensor));
  }
  return results;
}

Result<BenchResult> Session::bench(std::span<const Tensor> inputs, int warm_up, int calls) {
  Call call;
  for (const Tensor& tensor : inputs) call.input_shapes.push_back(tensor.dims);
  for (size_t i = 0; i < inputs.size(); ++i) {
    void* data = const_cast<std::byte*>(inputs[i].bytes.data());
    DLDevice place = {kDLCPU, 0};
    if (cuda_) {
      DLCB_ASSIGN(void* on_device, cuda_->allocate(inputs[i].bytes.size()));
      DLCB_TRY(cuda_->upload(on_device, data, inputs[i].bytes.size()));
      data = on_device;
      place = {kDLCUDA, cuda_->device_index()};
    }
    call.add_input(inputs[i], data, place, call.input_shapes[i]);
  }
  BenchResult result;
  Clock::time_point start = Clock::now();
  for (int i = 0; i < std::max(warm_up, 1); ++i) {
    DLCB_TRY(invoke(call));
    DLCB_TRY(wait());
    if (i == 0) result.first = since(start);
  }
  for (int i = 0; i < calls; ++i) {
    Clock::time_point begin = Clock::now();
    DLCB_TRY(invoke(call));
    DLCB_TRY(wait());
    result.calls.push_back(since(begin));
  }
  start = Clock::now();
  for (int i = 0; i < calls; ++i) DLCB_TRY(invoke(call));
  DLCB_TRY(wait());
  result.back_to_back = since(start) / calls;
  return result;
}

}  // namespace dlcb::cmd
