// --trace-rewrites: every change to the graph as text, under the pass that makes it, and how often each kind happened.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "graph/graph.h"

namespace dlcb {

class RewriteLog {
 public:
  // An empty listener: nothing is traced.
  explicit RewriteLog(std::function<void(std::string_view text)> listener) : listener_(std::move(listener)) {}

  // Hears of every rewrite of the graph from now on; the log must outlive these.
  void attach(graph::Graph& graph);
  // Later rewrites are those of this pass, until its end is announced.
  void begin(std::string_view pass) { pass_ = pass; }
  void end();

 private:
  void add(const graph::Rewrite& rewrite);

  std::function<void(std::string_view text)> listener_;
  std::string_view pass_;
  std::map<std::string, int> count_;  // by pattern, of this pass
};

}  // namespace dlcb
