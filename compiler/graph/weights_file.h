// Large constants beside the text of a graph. One file may serve the texts of several passes: a constant that lies in
// the same memory as before is stored once.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "base/file.h"
#include "graph/graph.h"

namespace dlcb::graph {

class WeightsFile {
 public:
  // `name` is what the text says; the file is made in `folder`, and that if need be, when the first constant comes. It
  // takes the place of an older one, which whoever has mapped it keeps.
  WeightsFile(std::string folder, std::string name);
  WeightsFile(const WeightsFile&) = delete;
  WeightsFile& operator=(const WeightsFile&) = delete;

  // For print(); lives no longer than this object.
  WeightsOut out();
  // CannotWrite if something could not be stored. What was stored is then on disk, and more may follow.
  Status flush();

 private:
  uint64_t place(const Constant& constant);
  Status open();
  Status append(std::span<const std::byte> bytes);

  std::string path_, name_;
  std::optional<AtomicFile> file_;
  Status written_ = ok();  // place() cannot fail; flush() says what did
  uint64_t size_ = 0;
  std::map<std::pair<const std::byte*, size_t>, uint64_t> placed_;
  std::vector<std::shared_ptr<const void>> owners_;  // memory that is named in `placed_` must not be used anew
};

// For parse(): maps the file that the text names, in the folder where the text is.
OpenWeights weights_beside(const std::string& text_path);

}  // namespace dlcb::graph
