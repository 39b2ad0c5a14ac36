#include "graph/weights_file.h"

#include <filesystem>
#include <system_error>

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
  if (!file_ && written_) written_ = open();
  owners_.push_back(constant.owner);
  if (written_) written_ = append(constant.bytes);
  size_ += (constant.bytes.size() + kAlignment - 1) / kAlignment * kAlignment;
  return at->second;
}

Status WeightsFile::open() {
  std::error_code ignored;  // opening fails where the folder could not be made
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);
  DLCB_ASSIGN(file_, AtomicFile::create(path_));
  return ok();
}

Status WeightsFile::append(std::span<const std::byte> bytes) {
  constexpr char kZeros[kAlignment] = {};
  DLCB_TRY(file_->write(bytes.data(), bytes.size()));
  return file_->write(kZeros, (kAlignment - bytes.size() % kAlignment) % kAlignment);
}

Status WeightsFile::flush() {
  if (written_ && file_) written_ = file_->publish();
  if (!written_) return written_.error();
  return ok();
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
