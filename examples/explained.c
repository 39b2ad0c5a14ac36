/* The same interface step by step, for any model:
 *
 *   explained model.dlcb cuda|sim NAME=2x3x224x224 ...
 *
 * Every input is zeros of the shape given for its name (NAME= alone: a scalar). Prints the model's inputs and outputs,
 * what the call will need, and the first values of every output. */
#include <dlcb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TENSORS = 32, MAX_RANK = 16 };

/* Status codes tell kinds of failure apart; the message names the input, axis, value, constraint and model node. A
 * failing load has no context yet: its message is kept for the thread, under NULL. */
static int fail(dlcb_status status, const dlcb_context* context) {
  fprintf(stderr, "%s: %s\n", dlcb_status_name(status), dlcb_last_error(context));
  return 1;
}

static size_t element_count(const DLTensor* t) {
  size_t n = 1;
  for (int d = 0; d < t->ndim; ++d) n *= (size_t)t->shape[d];
  return n;
}

/* A dim is text: "3" if it is fixed, a name if it is free, an expression of names if it follows from them. */
static void describe(const dlcb_model* model) {
  for (int i = 0; i < dlcb_input_count(model); ++i) {
    printf("input %s:", dlcb_input_name(model, i));
    for (int d = 0; d < dlcb_input_rank(model, i); ++d) printf(" %s", dlcb_input_dim(model, i, d));
    printf("\n");
  }
  for (int i = 0; i < dlcb_output_count(model); ++i) {
    printf("output %s:", dlcb_output_name(model, i));
    for (int d = 0; d < dlcb_output_rank(model, i); ++d) printf(" %s", dlcb_output_dim(model, i, d));
    printf("\n");
  }
}

/* Finds "NAME=2x3" among the arguments and fills in a tensor of zeros in host memory. */
static int make_input(const dlcb_model* model, int index, int argc, char** argv, DLTensor* tensor, int64_t* shape) {
  const char* name = dlcb_input_name(model, index);
  const size_t length = strlen(name);
  for (int a = 3; a < argc; ++a) {
    if (strncmp(argv[a], name, length) != 0 || argv[a][length] != '=') continue;
    char* rest = argv[a] + length + 1;
    memset(tensor, 0, sizeof *tensor);
    while (*rest && tensor->ndim < MAX_RANK) {
      char* end = rest;
      shape[tensor->ndim++] = strtoll(rest, &end, 10);
      if (end == rest) return 0;
      rest = *end == 'x' ? end + 1 : end;
    }
    tensor->shape = shape;
    tensor->dtype = dlcb_input_dtype(model, index);
    tensor->device.device_type = kDLCPU; /* for the simulator; copied to the GPU otherwise */
    tensor->data = calloc(element_count(tensor) + 1, tensor->dtype.bits / 8);
    return tensor->data != NULL;
  }
  fprintf(stderr, "no shape was given for input %s\n", name);
  return 0;
}

static void print_output(const char* name, const DLTensor* t) {
  printf("%s:", name);
  for (int d = 0; d < t->ndim; ++d) printf(" %lld", (long long)t->shape[d]);
  if (t->dtype.code == kDLFloat && t->dtype.bits == 32) {
    const float* values = (const float*)((const char*)t->data + t->byte_offset);
    printf(" = %g ...", element_count(t) > 0 ? values[0] : 0.0f);
  }
  printf("\n");
}

static int run(dlcb_model* model, dlcb_context* context, int argc, char** argv, DLTensor* inputs, DLTensor* outputs) {
  const int n_inputs = dlcb_input_count(model), n_outputs = dlcb_output_count(model);
  int64_t input_shapes[MAX_TENSORS][MAX_RANK], output_shapes[MAX_TENSORS][MAX_RANK];
  int64_t* shapes[MAX_TENSORS];
  size_t workspace = 0;
  int ours[MAX_TENSORS];
  dlcb_status status;
  for (int i = 0; i < n_inputs; ++i)
    if (!make_input(model, i, argc, argv, &inputs[i], input_shapes[i])) return 1;

  /* Asking first is optional: it checks the shapes, runs nothing, and says how large outputs and workspace will be. */
  for (int i = 0; i < n_outputs; ++i) shapes[i] = output_shapes[i];
  status = dlcb_resolve(context, inputs, n_inputs, shapes, &workspace);
  if (status != DLCB_OK) return fail(status, context);
  printf("workspace: %zu bytes\n", workspace);

  /* Outputs in host memory of ours. With data == NULL the context would provide (device) memory, valid until the next
   * call. A dim of -1 is known only after the run: then the context has to provide. */
  for (int i = 0; i < n_outputs; ++i) {
    int known = 1;
    outputs[i].ndim = dlcb_output_rank(model, i);
    outputs[i].shape = output_shapes[i];
    outputs[i].dtype = dlcb_output_dtype(model, i);
    outputs[i].device.device_type = kDLCPU;
    for (int d = 0; d < outputs[i].ndim; ++d) known = known && output_shapes[i][d] >= 0;
    ours[i] = known;
    if (known) outputs[i].data = calloc(element_count(&outputs[i]) + 1, outputs[i].dtype.bits / 8);
  }

  /* Runs on the given stream, here the default one. Because host memory is involved, the results are there on return.
   */
  status = dlcb_invoke(context, inputs, n_inputs, outputs, n_outputs, NULL);
  for (int i = 0; i < n_outputs; ++i) {
    if (status == DLCB_OK && outputs[i].device.device_type == kDLCPU)
      print_output(dlcb_output_name(model, i), &outputs[i]);
    if (!ours[i]) outputs[i].data = NULL; /* the context's: not for us to free */
  }
  return status == DLCB_OK ? 0 : fail(status, context);
}

static int run_and_free(dlcb_model* model, dlcb_context* context, int argc, char** argv) {
  DLTensor inputs[MAX_TENSORS], outputs[MAX_TENSORS];
  int result;
  memset(inputs, 0, sizeof inputs);
  memset(outputs, 0, sizeof outputs);
  if (dlcb_input_count(model) > MAX_TENSORS || dlcb_output_count(model) > MAX_TENSORS) return 1;
  result = run(model, context, argc, argv, inputs, outputs);
  for (int i = 0; i < MAX_TENSORS; ++i) {
    free(inputs[i].data);
    free(outputs[i].data);
  }
  return result;
}

int main(int argc, char** argv) {
  dlcb_options options;
  dlcb_model* model = NULL;
  dlcb_context* context = NULL;
  dlcb_status status;
  int result;
  if (argc < 3) {
    fprintf(stderr, "usage: %s model.dlcb cuda|sim NAME=2x3 ...\n", argv[0]);
    return 2;
  }

  /* Always start from the defaults: members added later then have sensible values. */
  dlcb_options_init(&options);
  options.device = strcmp(argv[2], "sim") == 0 ? DLCB_SIM : DLCB_CUDA;

  /* Loading verifies the file, loads its kernels and uploads the weights. The model may then be shared between threads.
   */
  status = dlcb_load_file(argv[1], &options, &model);
  if (status != DLCB_OK) return fail(status, NULL);
  describe(model);

  /* A context holds the working memory of one caller at a time: one for each thread that runs the model. */
  status = dlcb_context_create(model, &context);
  if (status != DLCB_OK) return fail(status, NULL);
  result = run_and_free(model, context, argc, argv);
  dlcb_context_free(context);
  dlcb_model_free(model);
  return result;
}
