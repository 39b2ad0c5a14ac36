// Finds results that depend on the order in which threads and blocks run, which a missing barrier makes them: the
// launch runs twice over the same input memory, forwards and then with blocks and threads descending, and everything it
// may write must come out equal. "May write" is every allocation of ours that an argument points into: each is saved
// before the first run, hashed by page after it, and put back for the second. Memory the caller supplied is outside the
// check (its extent is unknown); a kernel that updates such memory in place would be reported falsely. Chosen by
// DLCB_SIM_RACE_CHECK=1.
#pragma once
#include <functional>
#include <span>
#include <string>

#include "memory.h"

namespace dlcb::sim {

bool race_check_wanted();
// `run(reversed)` executes the launch. Returns its error, or one that names the first differing page.
rt::Error race_check(const Memory& memory, std::span<const uint64_t> args, const std::string& kernel,
                     const std::function<rt::Error(bool reversed)>& run);

}  // namespace dlcb::sim
