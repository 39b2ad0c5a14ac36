// dlcbc's flags.
#pragma once
#include <CLI/CLI.hpp>
#include <string>

#include "base/result.h"
#include "compiler/pipeline.h"

namespace dlcb::cmd {

struct CompileFlags {
  CompileOptions options;
  bool quiet = false;
  bool json = false;  // the summary
  bool list_passes = false;
  bool no_cache = false;
  bool trace_rewrites = false;
};

void define_flags(CLI::App& app, CompileFlags& flags);
// What the parser cannot know: a missing output, an output that would overwrite the model.
Status check_flags(CompileFlags& flags);

}  // namespace dlcb::cmd
