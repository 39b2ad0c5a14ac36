// The whole compilation, from a model file to a bundle, as one call: what the programs in cmd/ and the tests use. Only
// pipeline.cpp sees every folder of the compiler; the passes themselves are listed in pipeline.def.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dlcb {

struct CompileOptions {
  std::string model_path;
  std::string output_path;           // written atomically; empty: nothing is written
  std::vector<std::string> inputs;   // NAME:DTYPE[DIMS] as typed (import/declared_input.h)
  std::vector<std::string> targets;  // "sm_90", ...; empty: the default set
  int threads = 0;                   // 0: one for each core
  std::string cache_dir;             // empty: $XDG_CACHE_HOME/dlcb or ~/.cache/dlcb
  bool use_cache = true;
  bool tf32_matmul = false;
  bool stand_ins = false;    // a generated kernel beside every library call, so that the bundle runs without libraries
  bool full_effort = false;  // NVRTC's, for all kernels: slower to compile
  int64_t split_from = -1;   // see kernel::GenerateOptions; negative: its default
  bool strip_sources = false;  // leave kernel sources out of the bundle (the simulator then cannot run it)

  // Passes by their name in passes().
  std::vector<std::string> print_after;
  bool print_after_all = false;
  std::string stop_after;  // nothing is written then
  std::string start_at;    // model_path is then textual IR
  bool verify_each = false;
  bool time_passes = false;  // every pass is a stage of the summary, not only the large ones
  std::string dump_dir;      // the text form after every pass, one file each, and large constants beside them
  std::string fault_dir;     // where the graph on which a pass of ours failed is kept; empty: nowhere

  std::function<void(std::string_view stage)> on_progress;  // a stage begins; called on the caller's thread
  std::function<void(std::string_view text)> on_print;      // --print-after text, whole lines
  std::function<void(std::string_view text)> on_rewrite;    // every change to the graph, whole lines; empty: untraced
};

struct StageTime {
  std::string name;
  double seconds = 0;
};

// What a user wants to know of a finished compilation. Text lines are ready to be shown.
struct CompileSummary {
  std::vector<std::string> inputs;   // "images: f32[N, 3, H, W]"
  std::vector<std::string> outputs;  // "logits: f32[N, 1000]"
  std::vector<std::string>
      guards;                      // "(H + 31)//32*2 == (H + 15)//16, from Add '/fpn/add'": what is checked at run time
  std::vector<std::string> notes;  // worth telling, not errors
  std::vector<std::string> warnings;  // something that was asked for was not done; the bundle is sound
  std::vector<std::string> targets;   // "sm_90", ...
  std::vector<StageTime> stages;      // in order
  double total_seconds = 0;
  int nodes = 0;           // operators of the imported model
  int kernels = 0;         // launches of generated code in the launch order
  int entry_points = 0;    // distinct compiled functions, after deduplication
  int library_calls = 0;   // matrix multiplications and convolutions
  int cached_modules = 0;  // of `modules`, found in the cache and not compiled
  int modules = 0;
  uint64_t weight_bytes = 0, code_bytes = 0, bundle_bytes = 0;
};

struct PassInfo {
  std::string_view name, purpose;
};
// Every pass in the order in which it runs.
std::span<const PassInfo> passes();

// An InternalError with what is needed to reproduce it. compile() throws it instead of InternalError.
struct CompileFault : InternalError {
  std::string pass;
  std::string restart;  // `pass`, or the last one before it that can be started from text
  std::string ir_path;  // the text to start it from; empty if there was no graph yet or it could not be written
};

// Errors in the model or the options are the result's Diagnostic, and no output file is left; throws CompileFault.
Result<CompileSummary> compile(const CompileOptions& options);

}  // namespace dlcb
