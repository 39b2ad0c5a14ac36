// The text form after passes, one file each, and beside them the graph's large constants, so that any pass can be run
// again alone with --start-at. Serves --dump-dir and the report of an internal error.
#pragma once
#include <string>
#include <string_view>

#include "graph/weights_file.h"

namespace dlcb {

class Dump {
 public:
  // An empty folder: nothing is written. It is made if it is not there.
  Dump(std::string folder, std::string weights_name);

  bool wanted() const { return !folder_.empty(); }
  Status text(const std::string& file, std::string_view text);
  Status graph(const std::string& file, const graph::Graph& graph);

 private:
  std::string folder_;
  graph::WeightsFile weights_;
};

}  // namespace dlcb
