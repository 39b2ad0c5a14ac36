// See reader.h. Cheap and telling checks come first: manifest, version, container, CRCs, then the program.
#include "bundle_format/reader.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>

#include "bundle_format/verify.h"
#include "bundle_format/version.h"

namespace dlcb::bundle {
namespace {

constexpr uint64_t kProgramLimit = uint64_t{1} << 30;  // FlatBuffers addresses with 31 bits
constexpr uint64_t kManifestLimit = uint64_t{1} << 28;

std::span<const uint8_t> data_of(std::span<const uint8_t> file, const ZipEntry& entry) {
  return file.subspan(entry.data_offset, entry.size);
}

Error check_version(int version) {
  if (version == kFormatVersion) return {};
  return {Fault::Version, "bundle version " + std::to_string(version) +
                              " cannot be read by this build, which reads version " + std::to_string(kFormatVersion)};
}

}  // namespace

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

Mapping::~Mapping() {
  if (data_) ::munmap(const_cast<uint8_t*>(data_), size_);
}

Error Mapping::open(const std::string& path, Mapping* out) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe without writer must not hang
  if (fd < 0) return {Fault::CannotOpen, std::strerror(errno)};
  struct stat info {};
  Error error;
  if (::fstat(fd, &info) != 0) {
    error = {Fault::CannotOpen, std::strerror(errno)};
  } else if (!S_ISREG(info.st_mode)) {
    error = {Fault::CannotOpen, "it is not a regular file"};
  } else if (info.st_size > 0) {
    void* data = ::mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) {
      error = {Fault::CannotOpen, std::strerror(errno)};
    } else {
      Mapping mapping;
      mapping.data_ = static_cast<const uint8_t*>(data);
      mapping.size_ = static_cast<size_t>(info.st_size);
      *out = std::move(mapping);
    }
  }
  ::close(fd);
  return error;
}

Error read_manifest(std::span<const uint8_t> file, std::string* text, int* version) {
  if (file.empty()) return damaged("it is empty");
  ZipEntry first;
  DLCB_BUNDLE_TRY(parse_first_entry(file, &first));
  if (first.name != "manifest.json") return damaged("it is a zip archive, but its first entry is not manifest.json");
  if (first.size > kManifestLimit || crc32(0, data_of(file, first)) != first.crc)
    return damaged("its manifest is damaged");
  text->assign(reinterpret_cast<const char*>(file.data()) + first.data_offset, first.size);
  const nlohmann::json json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return damaged("its manifest is not a JSON object");
  const auto format = json.find("format"), number = json.find("format_version");
  if (format == json.end() || *format != "dlcb") return damaged("its manifest does not say \"format\": \"dlcb\"");
  if (number == json.end() || !number->is_number_integer()) return damaged("its manifest states no format_version");
  const int64_t wide = number->get<int64_t>();
  *version = wide < 0 || wide > 1'000'000 ? -1 : static_cast<int>(wide);
  return {};
}

Error read_manifest(const std::string& path, std::string* text, int* version) {
  Mapping mapping;
  DLCB_BUNDLE_TRY(Mapping::open(path, &mapping));
  return read_manifest(mapping.bytes(), text, version);
}

Error Bundle::open(const std::string& path, std::shared_ptr<Bundle>* out) {
  auto bundle = std::make_shared<Bundle>();
  DLCB_BUNDLE_TRY(Mapping::open(path, &bundle->mapping_));
  DLCB_BUNDLE_TRY(bundle->load(bundle->mapping_.bytes(), path));
  *out = std::move(bundle);
  return {};
}

Error Bundle::open_memory(std::span<const uint8_t> bytes, std::shared_ptr<Bundle>* out) {
  auto bundle = std::make_shared<Bundle>();
  DLCB_BUNDLE_TRY(bundle->load(bytes, ""));
  *out = std::move(bundle);
  return {};
}

Error Bundle::load(std::span<const uint8_t> file, const std::string& path) {
  file_ = file;
  int version = 0;
  DLCB_BUNDLE_TRY(read_manifest(file, &manifest_, &version));
  DLCB_BUNDLE_TRY(check_version(version));
  DLCB_BUNDLE_TRY(parse_zip(file, &entries_));
  by_name_.resize(entries_.size());
  std::iota(by_name_.begin(), by_name_.end(), 0);
  std::sort(by_name_.begin(), by_name_.end(),
            [&](uint32_t a, uint32_t b) { return entries_[a].name < entries_[b].name; });
  for (const ZipEntry& entry : entries_)
    if (crc32(0, data_of(file, entry)) != entry.crc)
      return damaged("the data of entry '" + entry.name + "' is damaged");

  const std::span<const uint8_t> program = entry("program.fb");
  if (program.empty()) return damaged("it holds no program.fb");
  if (program.size() > kProgramLimit) return damaged("its program is too large");
  program_bytes_.resize((program.size() + 7) / 8);
  std::memcpy(program_bytes_.data(), program.data(), program.size());
  const std::span<const uint8_t> copy(reinterpret_cast<const uint8_t*>(program_bytes_.data()), program.size());
  DLCB_BUNDLE_TRY(verify_program(copy, &program_));
  DLCB_BUNDLE_TRY(verify_modules(*program_, [this](std::string_view name) { return has(name); }));
  return load_weights(path);
}

Error Bundle::load_weights(const std::string& path) {
  weights_ = entry("weights.bin");
  if (const auto* name = program_->external_weights()) {
    if (has("weights.bin")) return damaged("it holds weights and names an external file too");
    if (path.empty()) return damaged("its weights are in another file, so it can only be loaded from a path");
    const std::string file = path.substr(0, path.rfind('/') + 1) + name->str();  // npos + 1 is 0: no folder
    if (Error error = Mapping::open(file, &external_))
      return {error.fault, "its weights '" + file + "': " + error.message};
    weights_ = external_.bytes();
    if (weights_.size() != program_->weight_bytes() || crc32(0, weights_) != program_->external_weights_crc())
      return damaged("the weights '" + file + "' are not those it was written with");
  }
  if (weights_.size() != program_->weight_bytes()) return damaged("weights.bin has another size than its program says");
  return {};
}

const ZipEntry* Bundle::find(std::string_view name) const {
  const auto at = std::lower_bound(by_name_.begin(), by_name_.end(), name,
                                   [&](uint32_t i, std::string_view wanted) { return entries_[i].name < wanted; });
  return at == by_name_.end() || entries_[*at].name != name ? nullptr : &entries_[*at];
}

std::span<const uint8_t> Bundle::entry(std::string_view name) const {
  const ZipEntry* found = find(name);
  if (!found) return {};
  if (!copies_.empty()) return copies_[static_cast<size_t>(found - entries_.data())];
  return data_of(file_, *found);
}

std::span<const uint8_t> Bundle::source(uint32_t module) const { return entry(source_name(module)); }

std::span<const uint8_t> Bundle::cubin(uint32_t module, std::string_view target) const {
  return entry(cubin_name(module, target));
}

void Bundle::copy_entries() {
  std::vector<std::vector<uint8_t>> copies(entries_.size());
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].name == "weights.bin") continue;
    const std::span<const uint8_t> data = data_of(file_, entries_[i]);
    copies[i].assign(data.begin(), data.end());
  }
  copies_ = std::move(copies);
  file_ = {};
}

}  // namespace dlcb::bundle
