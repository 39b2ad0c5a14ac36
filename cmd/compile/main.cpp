// dlcbc: compiles a model into a bundle.
#include <cstdio>

#include "cmd/common/program.h"
#include "cmd/common/progress.h"
#include "cmd/compile/flags.h"
#include "cmd/compile/summary.h"

namespace dlcb::cmd {
namespace {

ExitCode list_passes() {
  for (const PassInfo& pass : passes())
    std::printf("%-24.*s %.*s\n", static_cast<int>(pass.name.size()), pass.name.data(),
                static_cast<int>(pass.purpose.size()), pass.purpose.data());
  return ExitCode::Ok;
}

ExitCode run(CompileFlags& flags, const Reporter& reporter) {
  if (auto checked = check_flags(flags); !checked) return reporter.error(checked.error());
  if (flags.list_passes) return list_passes();
  Progress progress(!flags.quiet && !reporter.json() && !flags.trace_rewrites);
  flags.options.on_progress = [&](std::string_view stage) { progress.stage(stage); };
  flags.options.on_print = print;
  if (flags.trace_rewrites)
    flags.options.on_rewrite = [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); };
  flags.options.fault_dir = ".";
  auto summary = compile(flags.options);
  progress.done();
  if (!summary) return reporter.error(summary.error());
  for (const std::string& warning : summary->warnings) reporter.warning(warning);
  if (!flags.quiet)
    for (const std::string& note : summary->notes) reporter.note(note);
  if (flags.json) {
    print(summary_json(*summary, flags.options));
  } else if (!flags.quiet) {
    print(summary_text(*summary, flags.options));
  }
  return ExitCode::Ok;
}

const ProgramInfo kInfo = {
    "dlcbc",
    "Compiles a deep-learning model into one .dlcb file that serves every shape the model can take. No GPU is needed.",
    "  dlcbc model.onnx -o model.dlcb\n"
    "  dlcbc model.onnx -o model.dlcb --input 'images:f32[N=1..64,3,H,W]'   # name or bound the dims\n"
    "  dlcbc model.onnx -o model.dlcb --target sm_80,sm_90                  # code for two architectures\n"
    "  dlcbc model.onnx --print-after=fuse --stop-after=fuse                # look at one pass\n"
    "Exit codes: 0 done, 2 usage or files, 3 model refused, 6 environment, 70 a fault of dlcbc (docs/errors.md)\n"};

}  // namespace
}  // namespace dlcb::cmd

int main(int argc, char** argv) {
  using namespace dlcb::cmd;
  return run_program(kInfo, argc, argv, define_flags, run);
}
