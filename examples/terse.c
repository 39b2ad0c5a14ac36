/* The shortest useful program: one f32 input of the given shape, all ones, through the first output.
 *   terse model.dlcb 1 3 224 224 */
#include <dlcb.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  dlcb_options options;
  dlcb_model* model;
  dlcb_context* context;
  if (argc < 2 || argc > 10) return 2;
  dlcb_options_init(&options);
  if (getenv("DLCB_SIM")) options.device = DLCB_SIM;
  if (dlcb_load_file(argv[1], &options, &model) || dlcb_context_create(model, &context)) {
    fprintf(stderr, "%s\n", dlcb_last_error(NULL));
    return 1;
  }

  int64_t shape[8], out_shape[8] = {0};
  size_t count = 1;
  for (int d = 0; d < argc - 2; ++d) count *= (size_t)(shape[d] = atoll(argv[d + 2]));
  float* data = malloc((count ? count : 1) * sizeof(float));
  for (size_t i = 0; data && i < count; ++i) data[i] = 1;

  DLTensor x = {data, {kDLCPU, 0}, argc - 2, {kDLFloat, 32, 1}, shape, NULL, 0};
  DLTensor y = {0};
  y.shape = out_shape;
  const int status = dlcb_invoke(context, &x, 1, &y, 1, NULL);
  if (status)
    fprintf(stderr, "%s\n", dlcb_last_error(context));
  else
    for (int d = 0; d < y.ndim; ++d) printf("%lld%c", (long long)out_shape[d], d + 1 < y.ndim ? ' ' : '\n');
  free(data);
  dlcb_context_free(context);
  dlcb_model_free(model);
  return status != DLCB_OK;
}
