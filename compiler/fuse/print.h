// Steps as text, for --print-after=fuse and golden tests.
#pragma once
#include <span>
#include <string>

#include "fuse/region.h"

namespace dlcb::fuse {

std::string print(const graph::Graph& graph, std::span<const Step> steps);

}  // namespace dlcb::fuse
