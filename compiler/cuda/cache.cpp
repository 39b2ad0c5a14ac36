#include "cuda/cache.h"

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/file.h"
#include "base/hash.h"

namespace dlcb::cuda {
namespace fs = std::filesystem;
namespace {
constexpr size_t kDigestSize = 32;  // hex text of the payload's hash, in front of the payload

std::string digest(const char* data, size_t size) { return hex(hash_bytes(data, size)); }
}  // namespace

std::string Cache::path(const std::string& key) const {
  return folder_ + "/" + key.substr(0, 2) + "/" + key + ".cubin";
}

std::optional<std::vector<char>> Cache::find(const std::string& key) const {
  if (folder_.empty()) return std::nullopt;
  const auto file = MappedFile::open(path(key));
  if (!file || file->size() < kDigestSize) return std::nullopt;
  const std::string_view stored = file->text().substr(0, kDigestSize), bytes = file->text().substr(kDigestSize);
  if (digest(bytes.data(), bytes.size()) != stored) return std::nullopt;
  return std::vector<char>(bytes.begin(), bytes.end());
}

bool Cache::store(const std::string& key, const std::vector<char>& bytes) const {
  if (folder_.empty()) return true;
  std::error_code error;
  const std::string target = path(key);
  fs::create_directories(fs::path(target).parent_path(), error);
  if (error) return false;
  auto file = AtomicFile::create(target);
  return file && file->write(digest(bytes.data(), bytes.size())) && file->write(bytes.data(), bytes.size()) &&
         file->commit();
}

std::string default_cache_folder() {
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg && *xdg) return std::string(xdg) + "/dlcb/cubins";
  if (const char* home = std::getenv("HOME"); home && *home) return std::string(home) + "/.cache/dlcb/cubins";
  return "";
}

}  // namespace dlcb::cuda
