// What dlcbc says after a successful compilation.
#pragma once
#include <string>

#include "compiler/pipeline.h"

namespace dlcb::cmd {

std::string summary_text(const CompileSummary& summary, const CompileOptions& options);
std::string summary_json(const CompileSummary& summary, const CompileOptions& options);  // one line

}  // namespace dlcb::cmd
