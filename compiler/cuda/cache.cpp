#include "cuda/cache.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

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
  std::ifstream file(path(key), std::ios::binary);
  if (!file) return std::nullopt;
  std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  if (bytes.size() < kDigestSize) return std::nullopt;
  const std::string stored(bytes.data(), kDigestSize);
  bytes.erase(bytes.begin(), bytes.begin() + kDigestSize);
  if (digest(bytes.data(), bytes.size()) != stored) return std::nullopt;
  return bytes;
}

bool Cache::store(const std::string& key, const std::vector<char>& bytes) const {
  if (folder_.empty()) return true;
  std::error_code error;
  const std::string target = path(key);
  fs::create_directories(fs::path(target).parent_path(), error);
  if (error) return false;
  const std::string beside = target + "." + std::to_string(getpid()) + "." + key.substr(2, 6);
  {
    std::ofstream file(beside, std::ios::binary);
    file << digest(bytes.data(), bytes.size());
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    file.close();
    if (!file) {
      fs::remove(beside, error);
      return false;
    }
  }
  fs::rename(beside, target, error);
  const bool kept = !error;
  if (!kept) fs::remove(beside, error);
  return kept;
}

std::string default_cache_folder() {
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg && *xdg) return std::string(xdg) + "/dlcb/cubins";
  if (const char* home = std::getenv("HOME"); home && *home) return std::string(home) + "/.cache/dlcb/cubins";
  return "";
}

}  // namespace dlcb::cuda
