/* dlcb.h is C: this file is compiled as C11, and checks what can be checked without a device. */
#include <string.h>

#include "dlcb.h"

#define EXPECT(condition)              \
  do {                                 \
    if (!(condition)) return __LINE__; \
  } while (0)

/* Returns 0, or the line of the first failure. */
int c_api_without_device(const char* bad_path) {
  dlcb_options options;
  dlcb_model* model = NULL;
  dlcb_context* context = NULL;
  dlcb_options_init(&options);
  dlcb_options_init(NULL);
  EXPECT(options.struct_size == sizeof(dlcb_options));
  EXPECT(options.use_graphs == 1 && options.graph_cache_entries == 32);
  EXPECT(options.allow_tf32_conv == -1 && options.allow_tf32_matmul == -1);

  EXPECT(dlcb_load_file(NULL, NULL, &model) == DLCB_BAD_ARGUMENT);
  EXPECT(dlcb_load_file("/nonexistent.dlcb", NULL, &model) == DLCB_BAD_ARGUMENT && model == NULL);
  EXPECT(strcmp(dlcb_last_error(NULL), "cannot open '/nonexistent.dlcb': No such file or directory") == 0);
  EXPECT(dlcb_load_file(bad_path, NULL, &model) == DLCB_BAD_BUNDLE);
  EXPECT(strstr(dlcb_last_error(NULL), "is not a usable bundle: it is not a zip archive") != NULL);
  EXPECT(dlcb_load_memory("x", 1, NULL, &model) == DLCB_BAD_BUNDLE);
  options.struct_size = 3;
  EXPECT(dlcb_load_memory("x", 1, &options, &model) == DLCB_BAD_ARGUMENT);

  EXPECT(dlcb_context_create(NULL, &context) == DLCB_BAD_ARGUMENT);
  EXPECT(dlcb_invoke(NULL, NULL, 0, NULL, 0, NULL) == DLCB_BAD_ARGUMENT);
  EXPECT(dlcb_resolve(NULL, NULL, 0, NULL, NULL) == DLCB_BAD_ARGUMENT);
  EXPECT(dlcb_input_count(NULL) == -1 && dlcb_output_rank(NULL, 0) == -1);
  EXPECT(dlcb_input_name(NULL, 0) == NULL && dlcb_manifest(NULL) == NULL);
  EXPECT(dlcb_input_dim(NULL, 0, 0) == NULL);
  dlcb_model_free(NULL);
  dlcb_context_free(NULL);
  EXPECT(strcmp(dlcb_status_name(DLCB_INPUT_REFUSED), "input refused") == 0);
  EXPECT(dlcb_version()[0] != 0);
  return 0;
}
