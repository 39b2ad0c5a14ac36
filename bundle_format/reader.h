// Opens a bundle. The file is treated as hostile: container, CRC of every entry, manifest, FlatBuffers structure and
// the program's meaning are verified once, here; whoever holds a Bundle may index by what it says without further
// checks.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bundle_format/error.h"
#include "bundle_format/program_generated.h"
#include "bundle_format/zip.h"

namespace dlcb::bundle {

// A read-only file mapping, unmapped on destruction. Move-only.
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept { *this = std::move(other); }
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();
  static Error open(const std::string& path, Mapping* out);
  std::span<const uint8_t> bytes() const { return {data_, size_}; }

 private:
  const uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

// Immutable; may be shared between threads. Replacing the file by renaming another over it is harmless; overwriting it
// in place while a Bundle maps it is not.
class Bundle {
 public:
  static Error open(const std::string& path, std::shared_ptr<Bundle>* out);
  // Refers to `bytes` until copy_entries() and drop_weights() have been called.
  static Error open_memory(std::span<const uint8_t> bytes, std::shared_ptr<Bundle>* out);

  const fb::Program& program() const { return *program_; }
  std::string_view manifest() const { return manifest_; }  // zero-terminated
  std::span<const ZipEntry> entries() const { return entries_; }
  // An entry's data, 256-byte aligned when opened from a file; empty if there is none of that name.
  std::span<const uint8_t> entry(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  std::span<const uint8_t> source(uint32_t module) const;  // CUDA C++
  std::span<const uint8_t> cubin(uint32_t module, std::string_view target) const;
  std::span<const uint8_t> weights() const { return weights_; }  // program().weight_bytes() bytes
  bool from_memory() const { return mapping_.bytes().empty(); }
  // Whole archive, for the inspector's byte dump.
  std::span<const uint8_t> file() const { return file_; }

  // Copies every entry but weights.bin, which must no longer be asked for by name. Kernel images then live with the
  // Bundle.
  void copy_entries();
  // Once the weights are on the device; weights() is empty afterwards.
  void drop_weights() { weights_ = {}; }

 private:
  Error load(std::span<const uint8_t> file, const std::string& path);
  Error load_weights(const std::string& path);
  const ZipEntry* find(std::string_view name) const;

  Mapping mapping_, external_;
  std::span<const uint8_t> file_, weights_;
  std::vector<ZipEntry> entries_;
  std::vector<uint32_t> by_name_;             // indices into entries_, sorted by name
  std::vector<std::vector<uint8_t>> copies_;  // after copy_entries, one for each entry
  std::string manifest_;
  std::vector<uint64_t> program_bytes_;  // program.fb, copied so that it is aligned and cannot change once verified
  const fb::Program* program_ = nullptr;
};

// The manifest's text and format version, whatever the version: what can be said of any bundle.
Error read_manifest(std::span<const uint8_t> file, std::string* text, int* version);
Error read_manifest(const std::string& path, std::string* text, int* version);

}  // namespace dlcb::bundle
