// See target.h.
#include "target.h"

#include <cstdlib>
#include <cstring>

namespace dlcb::rt {
namespace {

struct Target {
  int major = -1, minor = -1;
  char suffix = 0;
};

Target parse(const std::string& text) {
  if (text.rfind("sm_", 0) != 0) return {};
  char* end = nullptr;
  const long version = std::strtol(text.c_str() + 3, &end, 10);
  if (version < 10 || (*end && (end[1] || !std::strchr("af", *end)))) return {};
  return {int(version / 10), int(version % 10), *end};
}

}  // namespace

int choose_target(const std::vector<std::string>& targets, int major, int minor) {
  int best = -1, best_score = -1;
  for (size_t i = 0; i < targets.size(); ++i) {
    const Target t = parse(targets[i]);
    if (t.major != major || t.minor > minor || (t.suffix == 'a' && t.minor != minor)) continue;
    const int score = t.minor * 2 + (t.suffix ? 1 : 0);  // features of the very device before the common ones
    if (score > best_score) {
      best_score = score;
      best = int(i);
    }
  }
  return best;
}

}  // namespace dlcb::rt
