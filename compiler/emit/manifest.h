// manifest.json: what a person or a script wants to know of a bundle without reading program.fb.
#pragma once
#include <string>

#include "emit/emit.h"

namespace dlcb::emit {

std::string manifest_json(const EmitInput& input);

}  // namespace dlcb::emit
