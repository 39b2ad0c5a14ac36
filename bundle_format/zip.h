// The zip container, as a function of its entries: given names, sizes and CRCs there is exactly one legal archive. The
// writer produces it; the reader rebuilds every header from what it read and compares bytes, so nothing in an archive's
// structure can be damaged or forged without being noticed, and no field is ever interpreted in two places.
//
//   for each entry:  local header | name | zip64 sizes if needed | alignment field | data (stored, 256-byte aligned)
//   central directory, one header for each entry in the same order | zip64 end records if needed | end record
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bundle_format/error.h"

namespace dlcb::bundle {

struct ZipEntry {
  std::string name;
  uint64_t size = 0;
  uint32_t crc = 0;
  uint64_t header_offset = 0;
  uint64_t data_offset = 0;  // header_offset + local_header(...).size()
};

// Sizes and offsets from here on are written in zip64 fields. A parameter only so that tests need no 4 GB file.
constexpr uint64_t kZip64From = 0xffffffff;

// The bytes before an entry's data: uses name, size, crc and header_offset.
std::vector<uint8_t> local_header(const ZipEntry& entry, uint64_t zip64_from = kZip64From);
size_t local_header_size(const ZipEntry& entry, uint64_t zip64_from = kZip64From);
// Everything after the last entry's data.
std::vector<uint8_t> directory(std::span<const ZipEntry> entries, uint64_t directory_offset,
                               uint64_t zip64_from = kZip64From);

// Entries of an archive held in memory, in file order; verifies that the archive is the one legal form (data CRCs
// apart).
Error parse_zip(std::span<const uint8_t> file, std::vector<ZipEntry>* out, uint64_t zip64_from = kZip64From);
// The first entry alone, from its local header: all that is read of a bundle of an unknown version.
Error parse_first_entry(std::span<const uint8_t> file, ZipEntry* out);
// True for names that may be entries: relative, no "..", printable ASCII without backslash, at most 255 bytes.
bool legal_name(std::string_view name);

uint32_t crc32(uint32_t crc, std::span<const uint8_t> data);

}  // namespace dlcb::bundle
