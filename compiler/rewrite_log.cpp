#include "rewrite_log.h"

namespace dlcb {

void RewriteLog::attach(graph::Graph& graph) {
  if (listener_) graph.on_rewrite = [this](const graph::Rewrite& rewrite) { add(rewrite); };
}

void RewriteLog::add(const graph::Rewrite& rewrite) {
  ++count_[rewrite.pattern];
  std::string text = std::string(pass_) + ": " + rewrite.pattern + "\n";
  for (const std::string& line : rewrite.before) text += "     " + line + "\n";
  for (const std::string& line : rewrite.after) text += "  -> " + line + "\n";
  listener_(text);
}

void RewriteLog::end() {
  if (count_.empty()) return;
  std::string text = std::string(pass_) + " made";
  for (const auto& [pattern, n] : count_)
    text += (text.ends_with("made") ? " " : ", ") + std::to_string(n) + " x " + pattern;
  listener_(text + "\n");
  count_.clear();
}

}  // namespace dlcb
