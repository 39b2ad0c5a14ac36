// The C ABI. Nothing but these functions is seen from outside, and no exception leaves them.
#include <cstring>
#include <new>

#include "runtime_stub/src/context.h"

using dlcb::rt::Context;
using dlcb::rt::Error;
using dlcb::rt::Model;

struct dlcb_model {
  std::shared_ptr<Model> model;
};
struct dlcb_context {
  Context context;
};

namespace {

thread_local std::string load_error;  // of this thread's last failing call that had no context

// Runs f, turns whatever comes out of it into a status and puts the message where dlcb_last_error finds it.
template <class F>
dlcb_status guarded(std::string* message, F f) noexcept {
  try {
    Error error = f();
    if (error) *message = std::move(error.message);
    return static_cast<dlcb_status>(error.status);
  } catch (const std::bad_alloc&) {
    message->clear();  // no memory for words either
    return DLCB_OUT_OF_MEMORY;
  } catch (const std::exception& e) {
    try {
      *message = std::string("internal error: ") + e.what();
    } catch (...) {
      message->clear();
    }
    return DLCB_INTERNAL;
  } catch (...) {
    message->clear();
    return DLCB_INTERNAL;
  }
}

// The caller's options, which may be those of an older version with fewer members.
Error read_options(const dlcb_options* given, dlcb_options* out) {
  dlcb_options_init(out);
  if (!given) return {};
  if (given->struct_size < offsetof(dlcb_options, use_graphs) || given->struct_size > sizeof(dlcb_options))
    return {DLCB_BAD_ARGUMENT, "options were not set up by dlcb_options_init of this version"};
  std::memcpy(out, given, given->struct_size);
  out->struct_size = sizeof(dlcb_options);
  return {};
}

Error from_bundle(dlcb::bundle::Error error, const std::string& name) {
  using dlcb::bundle::Fault;
  if (!error) return {};
  if (error.fault == Fault::CannotOpen) return {DLCB_BAD_ARGUMENT, "cannot open '" + name + "': " + error.message};
  if (error.fault == Fault::Version) return {DLCB_BAD_VERSION, std::move(error.message)};
  return {DLCB_BAD_BUNDLE, "'" + name + "' is not a usable bundle: " + error.message};
}

bool has(const dlcb_model* model, int index, bool input) {
  return model && index >= 0 &&
         static_cast<uint32_t>(index) < (input ? model->model->inputs() : model->model->outputs());
}

const dlcb::fb::TensorInfo* tensor(const dlcb_model* model, int index, bool input) {
  if (!has(model, index, input)) return nullptr;
  const auto& p = model->model->program();
  return (input ? p.inputs() : p.outputs())->Get(static_cast<uint32_t>(index));
}

const char* name_of(const dlcb_model* model, int index, bool input) {
  const auto* info = tensor(model, index, input);
  return info ? info->name()->c_str() : nullptr;
}

DLDataType dtype_of(const dlcb_model* model, int index, bool input) {
  const auto* info = tensor(model, index, input);
  return info ? dlcb::rt::to_dlpack(info->dtype()) : DLDataType{};
}

int rank_of(const dlcb_model* model, int index, bool input) {
  const auto* info = tensor(model, index, input);
  return info ? static_cast<int>(dlcb::bundle::size_or_zero(info->dims())) : -1;
}

const char* dim_of(const dlcb_model* model, int index, int axis, bool input) {
  if (axis < 0 || axis >= rank_of(model, index, input)) return nullptr;
  const auto i = static_cast<uint32_t>(index);
  return (input ? model->model->input_dims(i) : model->model->output_dims(i))[static_cast<size_t>(axis)].c_str();
}

}  // namespace

extern "C" {

void dlcb_options_init(dlcb_options* options) {
  if (!options) return;
  *options = {};
  options->struct_size = sizeof(dlcb_options);
  options->use_graphs = 1;
  options->graph_cache_entries = 32;
  options->allow_tf32_conv = -1;
  options->allow_tf32_matmul = -1;
  options->use_libraries = 1;
}

dlcb_status dlcb_load_file(const char* path, const dlcb_options* given, dlcb_model** out_model) {
  return guarded(&load_error, [&]() -> Error {
    if (!path || !out_model) return {DLCB_BAD_ARGUMENT, "path and out_model must not be null"};
    *out_model = nullptr;
    dlcb_options options;
    DLCB_RT_TRY(read_options(given, &options));
    std::shared_ptr<dlcb::bundle::Bundle> bundle;
    DLCB_RT_TRY(from_bundle(dlcb::bundle::Bundle::open(path, &bundle), path));
    auto result = std::make_unique<dlcb_model>();
    DLCB_RT_TRY(Model::load(std::move(bundle), options, &result->model));
    *out_model = result.release();
    return {};
  });
}

dlcb_status dlcb_load_memory(const void* data, size_t size, const dlcb_options* given, dlcb_model** out_model) {
  return guarded(&load_error, [&]() -> Error {
    if (!data || !out_model) return {DLCB_BAD_ARGUMENT, "data and out_model must not be null"};
    *out_model = nullptr;
    dlcb_options options;
    DLCB_RT_TRY(read_options(given, &options));
    std::shared_ptr<dlcb::bundle::Bundle> bundle;
    DLCB_RT_TRY(
        from_bundle(dlcb::bundle::Bundle::open_memory({static_cast<const uint8_t*>(data), size}, &bundle), "<memory>"));
    bundle->copy_entries();  // before the device opens, because it keeps pointers to kernel images
    auto result = std::make_unique<dlcb_model>();
    DLCB_RT_TRY(Model::load(bundle, options, &result->model));
    bundle->drop_weights();
    *out_model = result.release();
    return {};
  });
}

void dlcb_model_free(dlcb_model* model) { delete model; }

int dlcb_input_count(const dlcb_model* model) { return model ? static_cast<int>(model->model->inputs()) : -1; }
int dlcb_output_count(const dlcb_model* model) { return model ? static_cast<int>(model->model->outputs()) : -1; }
const char* dlcb_input_name(const dlcb_model* model, int index) { return name_of(model, index, true); }
const char* dlcb_output_name(const dlcb_model* model, int index) { return name_of(model, index, false); }
DLDataType dlcb_input_dtype(const dlcb_model* model, int index) { return dtype_of(model, index, true); }
DLDataType dlcb_output_dtype(const dlcb_model* model, int index) { return dtype_of(model, index, false); }
int dlcb_input_rank(const dlcb_model* model, int index) { return rank_of(model, index, true); }
int dlcb_output_rank(const dlcb_model* model, int index) { return rank_of(model, index, false); }
const char* dlcb_input_dim(const dlcb_model* model, int index, int axis) { return dim_of(model, index, axis, true); }
const char* dlcb_output_dim(const dlcb_model* model, int index, int axis) { return dim_of(model, index, axis, false); }
const char* dlcb_manifest(const dlcb_model* model) {
  return model ? model->model->bundle().manifest().data() : nullptr;
}

dlcb_status dlcb_context_create(dlcb_model* model, dlcb_context** out_context) {
  return guarded(&load_error, [&]() -> Error {
    if (!model || !out_context) return {DLCB_BAD_ARGUMENT, "model and out_context must not be null"};
    *out_context = nullptr;
    *out_context = new dlcb_context{Context(model->model)};
    return {};
  });
}

void dlcb_context_free(dlcb_context* context) {
  if (context) delete context;
}

dlcb_status dlcb_resolve(dlcb_context* context, const DLTensor* inputs, int n_inputs, int64_t* const* out_shapes,
                         size_t* out_workspace_bytes) {
  return guarded(context ? &context->context.last_error : &load_error, [&]() -> Error {
    if (!context || n_inputs < 0 || (!inputs && n_inputs > 0))
      return {DLCB_BAD_ARGUMENT, "context and inputs must not be null"};
    return context->context.resolve({inputs, static_cast<size_t>(n_inputs)}, out_shapes, out_workspace_bytes);
  });
}

dlcb_status dlcb_invoke(dlcb_context* context, const DLTensor* inputs, int n_inputs, DLTensor* outputs, int n_outputs,
                        void* stream) {
  return guarded(context ? &context->context.last_error : &load_error, [&]() -> Error {
    if (!context || n_inputs < 0 || n_outputs < 0 || (!inputs && n_inputs > 0) || (!outputs && n_outputs > 0))
      return {DLCB_BAD_ARGUMENT, "context, inputs and outputs must not be null"};
    return context->context.invoke({inputs, static_cast<size_t>(n_inputs)}, {outputs, static_cast<size_t>(n_outputs)},
                                   stream);
  });
}

const char* dlcb_last_error(const dlcb_context* context) {
  return context ? context->context.last_error.c_str() : load_error.c_str();
}

const char* dlcb_status_name(dlcb_status status) {
  switch (status) {
    case DLCB_OK:
      return "ok";
    case DLCB_BAD_ARGUMENT:
      return "bad argument";
    case DLCB_BAD_BUNDLE:
      return "bad bundle";
    case DLCB_BAD_VERSION:
      return "bad version";
    case DLCB_NO_TARGET:
      return "no code for this device";
    case DLCB_INPUT_REFUSED:
      return "input refused";
    case DLCB_OUT_OF_MEMORY:
      return "out of memory";
    case DLCB_MISSING_LIBRARY:
      return "missing library";
    case DLCB_DEVICE_ERROR:
      return "device error";
    case DLCB_INTERNAL:
      return "internal error";
  }
  return "unknown status";
}

const char* dlcb_version(void) { return DLCB_VERSION_TEXT; }

}  // extern "C"
