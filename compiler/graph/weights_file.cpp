#include "graph/weights_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/file.h"

namespace dlcb::graph {
namespace {
constexpr uint64_t kAlignment = 64;
}

WeightsFile::WeightsFile(std::string folder, std::string name)
    : path_((std::filesystem::path(folder) / name).string()), name_(std::move(name)) {}

WeightsOut WeightsFile::out() {
  return {name_, [this](const Constant& constant) { return place(constant); }};
}

uint64_t WeightsFile::place(const Constant& constant) {
  const auto [at, fresh] = placed_.try_emplace({constant.bytes.data(), constant.bytes.size()}, size_);
  if (!fresh) return at->second;
  if (!file_.is_open()) {
    std::error_code ignored;  // opening fails where the folder could not be made
    std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);
    file_.open(path_, std::ios::binary | std::ios::trunc);
  }
  owners_.push_back(constant.owner);
  file_.write(reinterpret_cast<const char*>(constant.bytes.data()),
              static_cast<std::streamsize>(constant.bytes.size()));
  const uint64_t padding = (kAlignment - constant.bytes.size() % kAlignment) % kAlignment;
  constexpr char kZeros[kAlignment] = {};
  file_.write(kZeros, static_cast<std::streamsize>(padding));
  size_ += constant.bytes.size() + padding;
  return at->second;
}

Status WeightsFile::flush() {
  if (placed_.empty()) return ok();
  errno = 0;
  if (file_.flush()) return ok();
  return diag(DiagKind::CannotWrite, {path_, errno != 0 ? std::strerror(errno) : "write failed"});
}

OpenWeights weights_beside(const std::string& text_path) {
  return [folder = std::filesystem::path(text_path).parent_path()](const std::string& name) -> Result<Constant> {
    if (std::filesystem::path(name).filename() != name) {
      return diag(DiagKind::MalformedModel, {"the text's weights must lie beside it"});
    }
    DLCB_ASSIGN(MappedFile mapped, MappedFile::open((folder / name).string()));
    const auto owner = std::make_shared<const MappedFile>(std::move(mapped));
    return Constant{owner->bytes(), owner};
  };
}

}  // namespace dlcb::graph
