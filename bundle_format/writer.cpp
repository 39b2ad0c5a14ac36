// See writer.h. The header of an entry holds the CRC of its data, so it is written last.
#include "bundle_format/writer.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace dlcb::bundle {
namespace {

constexpr size_t kPart = size_t{1} << 20;  // still in the cache when its CRC is computed

constexpr std::array<uint8_t, 65536> kZeros{};

// Calls f(bytes) for consecutive parts of an entry.
template <class F>
Error for_each_part(std::span<const Piece> pieces, F f) {
  for (const Piece& piece : pieces) {
    for (size_t at = 0; at < piece.bytes.size(); at += kPart)
      DLCB_BUNDLE_TRY(f(piece.bytes.subspan(at, std::min(kPart, piece.bytes.size() - at))));
    for (uint64_t left = piece.zeros_after; left > 0;) {
      const size_t n = static_cast<size_t>(std::min<uint64_t>(left, kZeros.size()));
      DLCB_BUNDLE_TRY(f(std::span<const uint8_t>(kZeros.data(), n)));
      left -= n;
    }
  }
  return {};
}

}  // namespace

Error FileSink::write_at(uint64_t offset, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return {Fault::CannotWrite, n < 0 ? std::strerror(errno) : "nothing could be written"};
    bytes = bytes.subspan(static_cast<size_t>(n));
    offset += static_cast<uint64_t>(n);
  }
  return {};
}

Error MemorySink::write_at(uint64_t offset, std::span<const uint8_t> part) {
  if (bytes.size() < offset + part.size()) bytes.resize(offset + part.size());
  std::copy(part.begin(), part.end(), bytes.begin() + static_cast<ptrdiff_t>(offset));
  return {};
}

Error BundleWriter::add(std::string name, std::span<const uint8_t> bytes) {
  const Piece piece{bytes};
  return add(std::move(name), std::span<const Piece>(&piece, 1));
}

Error BundleWriter::add(std::string name, std::string_view text) {
  return add(std::move(name), std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
}

Error BundleWriter::add(std::string name, std::span<const Piece> pieces) {
  const bool taken = std::any_of(entries_.begin(), entries_.end(), [&](const ZipEntry& e) { return e.name == name; });
  if (!legal_name(name) || taken || (entries_.empty() && name != "manifest.json"))
    return {Fault::CannotWrite, "entry '" + name + "' cannot be written here"};
  ZipEntry entry;
  entry.name = std::move(name);
  entry.header_offset = offset_;
  for (const Piece& piece : pieces) entry.size += piece.bytes.size() + piece.zeros_after;
  entry.data_offset = offset_ + local_header_size(entry);

  uint64_t at = entry.data_offset;
  DLCB_BUNDLE_TRY(for_each_part(pieces, [&](std::span<const uint8_t> part) {
    entry.crc = crc32(entry.crc, part);
    const uint64_t start = at;
    at += part.size();
    return sink_.write_at(start, part);
  }));
  DLCB_BUNDLE_TRY(sink_.write_at(entry.header_offset, local_header(entry)));
  offset_ = at;
  entries_.push_back(std::move(entry));
  return {};
}

Error BundleWriter::finish() {
  if (entries_.empty()) return {Fault::CannotWrite, "a bundle needs its manifest"};
  return sink_.write_at(offset_, directory(entries_, offset_));
}

}  // namespace dlcb::bundle
