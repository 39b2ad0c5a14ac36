// Writes a bundle: hundreds of megabytes of weights go straight from where they lie (usually the mapped model file) to
// the file. The bytes depend on the entries and their order alone.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bundle_format/error.h"
#include "bundle_format/zip.h"

namespace dlcb::bundle {

// Where the bytes go. Offsets are not ascending: a header is written after its data.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual Error write_at(uint64_t offset, std::span<const uint8_t> bytes) = 0;
};

// A file open for writing; the caller owns, closes and names it (compiler/emit writes beside the target and renames).
class FileSink : public Sink {
 public:
  explicit FileSink(int fd) : fd_(fd) {}
  Error write_at(uint64_t offset, std::span<const uint8_t> bytes) override;

 private:
  int fd_;
};

class MemorySink : public Sink {
 public:
  Error write_at(uint64_t offset, std::span<const uint8_t> bytes) override;
  std::vector<uint8_t> bytes;
};

// A part of an entry: bytes that outlive the call, then zeros.
struct Piece {
  std::span<const uint8_t> bytes;
  uint64_t zeros_after = 0;
};

// Entries are written in the order of the calls; the first must be manifest.json. After an error the file is useless.
class BundleWriter {
 public:
  explicit BundleWriter(Sink& sink) : sink_(sink) {}
  Error add(std::string name, std::span<const uint8_t> bytes);
  Error add(std::string name, std::string_view text);
  Error add(std::string name, std::span<const Piece> pieces);
  Error finish();  // writes the directory

  std::span<const ZipEntry> entries() const { return entries_; }

 private:
  Sink& sink_;
  std::vector<ZipEntry> entries_;
  uint64_t offset_ = 0;
};

}  // namespace dlcb::bundle
