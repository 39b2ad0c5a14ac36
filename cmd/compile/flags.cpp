// dlcbc's flags; see flags.h.
#include "cmd/compile/flags.h"

#include <filesystem>
#include <system_error>

#include "cmd/common/program.h"

namespace dlcb::cmd {

void define_flags(CLI::App& app, CompileFlags& flags) {
  CompileOptions& o = flags.options;
  app.add_option("MODEL", o.model_path, "the ONNX model (with --start-at: textual IR)");
  app.add_option("-o,--output", o.output_path, "the bundle to write");
  auto* input = add_repeated(
      app, "--input", o.inputs,
      "NAME:DTYPE[DIMS], declares or overrides an input; DIMS are numbers, names (the same name is the same dim) "
      "or NAME=MIN..MAX; DTYPE may be left out; may be repeated");
  app.add_option("--target", o.targets, "GPU architectures to compile for, separated by commas: sm_90,...")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("-j,--threads", o.threads, "threads to use (default: one for each core)")->check(CLI::Range(1, 1024));
  auto* cache = app.add_option("--cache-dir", o.cache_dir,
                               "where compiled kernels are kept (default: ~/.cache/dlcb); a warning if they cannot be");
  app.add_flag("--no-cache", flags.no_cache, "neither read nor write the cache")->excludes(cache);
  app.add_flag("--tf32-matmul", o.tf32_matmul, "let fp32 matrix multiplications use TF32");
  app.add_flag("--stand-ins", o.stand_ins,
               "also generate a kernel for every matrix multiplication and convolution, so that the bundle runs where "
               "cuBLASLt or cuDNN is missing");
  app.add_flag("--full-effort", o.full_effort,
               "compile all kernels with NVRTC's full effort, also those that hardly gain: slower to compile");
  app.add_option("--split-from", o.split_from,
                 "reduced elements from which a reduction with few outputs is spread over blocks (default: 2048; along "
                 "rows 8 times as many; 0: never)")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 31));
  app.add_flag("--strip", o.strip_sources, "leave the kernels' sources out (the simulator cannot run such a bundle)");
  app.add_flag("-q,--quiet", flags.quiet, "no progress line and no summary");
  app.add_flag("--json", flags.json, "print the summary as JSON");

  const std::string group = "Passes";
  app.add_flag("--list-passes", flags.list_passes, "print every pass, in order, and exit")->group(group);
  add_repeated(app, "--print-after", o.print_after, "print the text form after this pass; may be repeated")
      ->group(group);
  app.add_flag("--print-after-all", o.print_after_all, "print it after every pass")->group(group);
  app.add_option("--stop-after", o.stop_after, "stop after this pass; no bundle is written, also with -o")
      ->group(group);
  app.add_option("--start-at", o.start_at, "read MODEL as the text form before this pass")
      ->excludes(input)  // the text declares its inputs
      ->group(group);
  app.add_flag("--verify-each", o.verify_each, "verify after every pass")->group(group);
  app.add_flag("--trace-rewrites", flags.trace_rewrites, "print every change to the graph to standard error")
      ->group(group);
  app.add_flag("--time-passes", o.time_passes, "show the time of every pass")->group(group);
  app.add_option("--dump-dir", o.dump_dir,
                 "write the text form after every pass into this folder, and the weights that --start-at then needs")
      ->group(group);
}

Status check_flags(CompileFlags& flags) {
  CompileOptions& o = flags.options;
  o.use_cache = !flags.no_cache;
  if (flags.list_passes) return ok();
  if (o.model_path.empty()) return usage("no model given; try dlcbc --help");
  if (o.output_path.empty() && o.stop_after.empty()) return usage("no output given: add -o OUT.dlcb");
  std::error_code ignored;
  if (!o.output_path.empty() && std::filesystem::equivalent(o.output_path, o.model_path, ignored))
    return usage("the output would overwrite the model");
  return ok();
}

}  // namespace dlcb::cmd
