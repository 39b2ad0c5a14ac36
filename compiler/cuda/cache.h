// Compiled programs on disk, named by a hash of everything that decides their bytes (source, options, compiler
// version), so an entry never becomes stale. Entries are written beside and renamed; a damaged one reads as a miss.
// Safe between processes.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace dlcb::cuda {

class Cache {
 public:
  // An empty folder name: no caching. The folder is made on the first store.
  explicit Cache(std::string folder) : folder_(std::move(folder)) {}
  std::optional<std::vector<char>> find(const std::string& key) const;
  // False if it could not be kept, which a cache may do.
  bool store(const std::string& key, const std::vector<char>& bytes) const;
  const std::string& folder() const { return folder_; }

 private:
  std::string path(const std::string& key) const;
  std::string folder_;
};

// $XDG_CACHE_HOME/dlcb/cubins, else ~/.cache/dlcb/cubins; empty when neither variable is set.
std::string default_cache_folder();

}  // namespace dlcb::cuda
