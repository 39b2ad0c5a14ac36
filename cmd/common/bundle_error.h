// A bundle that cannot be opened, as a diagnostic: the same from dlcb-inspect and dlcb-run.
#pragma once
#include <string>

#include "base/diagnostic.h"
#include "bundle_format/error.h"

namespace dlcb::cmd {

Diagnostic bundle_refused(const std::string& path, const bundle::Error& error);

}  // namespace dlcb::cmd
