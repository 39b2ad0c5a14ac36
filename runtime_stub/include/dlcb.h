// The C interface of a .dlcb bundle. No exception, abort or print ever crosses it; every failing call returns a status and
// leaves a message that names the input, axis, value, constraint and model node.
//
//   dlcb_model* model;   dlcb_context* ctx;
//   dlcb_load_file("m.dlcb", NULL, &model);  dlcb_context_create(model, &ctx);
//   dlcb_invoke(ctx, inputs, n_inputs, outputs, n_outputs, stream);
//
// Threads: a dlcb_model is immutable after loading and may be shared; a dlcb_context serves one thread at a time.
#ifndef DLCB_H_
#define DLCB_H_
#include <stddef.h>
#include <stdint.h>

#include "dlcb_dlpack.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dlcb_model dlcb_model;
typedef struct dlcb_context dlcb_context;

typedef enum dlcb_status {
  DLCB_OK = 0,
  DLCB_BAD_ARGUMENT = 1,    // null pointer, wrong count, a file, folder, memory or option that cannot be used
  DLCB_BAD_BUNDLE = 2,      // not a bundle, damaged
  DLCB_BAD_VERSION = 3,     // written by another format version
  DLCB_NO_TARGET = 4,       // no code for this device
  DLCB_INPUT_REFUSED = 5,   // dtype, rank, dim or guard
  DLCB_OUT_OF_MEMORY = 6,
  DLCB_MISSING_LIBRARY = 7, // libcuda, cuBLASLt, cuDNN, the simulator
  DLCB_DEVICE_ERROR = 8,
  DLCB_INTERNAL = 9
} dlcb_status;

typedef enum dlcb_device { DLCB_CUDA = 0, DLCB_SIM = 1 } dlcb_device;

// Called for device memory; `stream` is the stream of the call. Return NULL to refuse.
typedef struct dlcb_allocator {
  void* user;
  void* (*allocate)(void* user, size_t bytes, void* stream);
  void (*free)(void* user, void* pointer, void* stream);
} dlcb_allocator;

typedef struct dlcb_options {
  size_t struct_size;          // sizeof(dlcb_options), for compatibility
  dlcb_device device;
  int device_index;            // CUDA ordinal
  int use_graphs;              // 1 (default): launches of a shape seen before are replayed as one CUDA graph
  int graph_cache_entries;     // default 32 shapes for each context, least recently used first out
  int allow_tf32_conv;         // default -1: as compiled; 0 no, 1 yes
  int allow_tf32_matmul;       // default -1
  const dlcb_allocator* allocator;  // default NULL: cuMemAlloc; must outlive the model
  const char* sim_cache_dir;   // where the simulator keeps host-compiled kernels; NULL: $XDG_CACHE_HOME/dlcb or ~/.cache/dlcb
  int use_libraries;           // 1 (default); 0: cuBLASLt and cuDNN are never called, the bundle's stand-in kernels run
} dlcb_options;

void dlcb_options_init(dlcb_options* options);

dlcb_status dlcb_load_file(const char* path, const dlcb_options* options, dlcb_model** out_model);
// `data` is copied where needed and may be freed on return.
dlcb_status dlcb_load_memory(const void* data, size_t size, const dlcb_options* options, dlcb_model** out_model);
void dlcb_model_free(dlcb_model* model);  // after its contexts; NULL is fine

int dlcb_input_count(const dlcb_model* model);
int dlcb_output_count(const dlcb_model* model);
// Strings live as long as the model.
const char* dlcb_input_name(const dlcb_model* model, int index);
const char* dlcb_output_name(const dlcb_model* model, int index);
DLDataType dlcb_input_dtype(const dlcb_model* model, int index);
DLDataType dlcb_output_dtype(const dlcb_model* model, int index);
int dlcb_input_rank(const dlcb_model* model, int index);
int dlcb_output_rank(const dlcb_model* model, int index);
const char* dlcb_input_dim(const dlcb_model* model, int index, int axis);    // "N", "3", "2*W"
const char* dlcb_output_dim(const dlcb_model* model, int index, int axis);
// The whole description (inputs, outputs, guards, kernels) as JSON: the bundle's manifest.
const char* dlcb_manifest(const dlcb_model* model);

dlcb_status dlcb_context_create(dlcb_model* model, dlcb_context** out_context);
void dlcb_context_free(dlcb_context* context);

// Resolves dims and checks every guard for these inputs; writes output shapes. out_shapes[i] must hold
// dlcb_output_rank(i) entries; out_workspace_bytes may be NULL. inputs' data pointers may be NULL unless the host program
// reads them. A dim that is known only once the model has run (NonZero) is written as -1. DLCB_INPUT_REFUSED: nothing was run.
dlcb_status dlcb_resolve(dlcb_context* context, const DLTensor* inputs, int n_inputs, int64_t* const* out_shapes, size_t* out_workspace_bytes);

// Runs the model on `stream` (a CUstream, NULL: the default stream; ignored by the simulator). Inputs may be on the device,
// or on the host (then they are copied). Each output either has data != NULL and the right dtype and shape (device or
// host memory, contiguous), or data == NULL: then the context owns the memory, valid until the next invoke, and fills in
// data, dtype, device and shape (outputs[i].shape must hold the rank's entries); passing such a tensor again as an output
// asks for the same anew, and as an input of the next invoke it may be used. Outputs must overlap neither inputs nor each other, and
// tensors begin at multiples of their element's size. Asynchronous
// unless a host tensor is involved. A context uses one stream at a time: a call with another stream first waits for the
// work of the previous one, which must still exist.
dlcb_status dlcb_invoke(dlcb_context* context, const DLTensor* inputs, int n_inputs, DLTensor* outputs, int n_outputs, void* stream);

// The message of the last failing call on this context, or (context == NULL) of this thread's last failing load.
const char* dlcb_last_error(const dlcb_context* context);
const char* dlcb_status_name(dlcb_status status);
const char* dlcb_version(void);

#ifdef __cplusplus
}
#endif
#endif  // DLCB_H_
