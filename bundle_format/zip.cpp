// See zip.h. Field layouts are those of PKWARE's APPNOTE 6.3; only what a stored archive needs is produced or accepted.
#include "bundle_format/zip.h"

#include <libdeflate.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <unordered_set>

#include "bundle_format/version.h"

namespace dlcb::bundle {
namespace {

constexpr uint32_t kLocalMagic = 0x04034b50, kCentralMagic = 0x02014b50, kEndMagic = 0x06054b50;
constexpr uint32_t kEnd64Magic = 0x06064b50, kLocator64Magic = 0x07064b50;
constexpr uint16_t kPlainVersion = 20, kZip64Version = 45;
constexpr uint16_t kZip64Field = 0x0001,
                   kAlignField = 0xd935;                 // 0xd935: u16 alignment, then zeros (as Android's zipalign)
constexpr uint16_t kFixedTime = 0, kFixedDate = 0x0021;  // 1980-01-01 00:00
constexpr size_t kLocalSize = 30, kCentralSize = 46, kEndSize = 22, kEnd64Size = 56, kLocator64Size = 20;
constexpr size_t kAlignFieldMin = 6;

struct Bytes {
  std::vector<uint8_t> data;
  template <class T>
  void put(T value) {
    for (size_t i = 0; i < sizeof(T); ++i)
      data.push_back(static_cast<uint8_t>(static_cast<uint64_t>(value) >> (8 * i)));
  }
  void text(std::string_view text) { data.insert(data.end(), text.begin(), text.end()); }
};

template <class T>
T get(std::span<const uint8_t> bytes, uint64_t offset) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value |= static_cast<T>(static_cast<T>(bytes[offset + i]) << (8 * i));
  return value;
}

uint32_t clamp32(uint64_t value, uint64_t zip64_from) {
  return value >= zip64_from ? 0xffffffffu : static_cast<uint32_t>(value);
}

// The extra field's length: enough for the alignment field, and as much more as puts the data on its boundary.
size_t align_field_size(uint64_t header_offset, size_t before) {
  const uint64_t start = header_offset + before + kAlignFieldMin;
  return kAlignFieldMin + static_cast<size_t>((kDataAlignment - start % kDataAlignment) % kDataAlignment);
}

size_t bytes_before_align_field(const ZipEntry& entry, uint64_t zip64_from) {
  return kLocalSize + entry.name.size() + (entry.size >= zip64_from ? 20 : 0);
}

void put_common(Bytes& b, const ZipEntry& entry, uint64_t zip64_from, bool zip64) {
  b.put(zip64 ? kZip64Version : kPlainVersion);
  b.put(uint16_t{0});  // flags
  b.put(uint16_t{0});  // method: stored
  b.put(kFixedTime);
  b.put(kFixedDate);
  b.put(entry.crc);
  b.put(clamp32(entry.size, zip64_from));  // compressed
  b.put(clamp32(entry.size, zip64_from));
  b.put(static_cast<uint16_t>(entry.name.size()));
}

void put_central(Bytes& b, const ZipEntry& entry, uint64_t zip64_from) {
  const bool big = entry.size >= zip64_from, far = entry.header_offset >= zip64_from;
  const int fields = (big ? 2 : 0) + (far ? 1 : 0);
  b.put(kCentralMagic);
  b.put(fields ? kZip64Version : kPlainVersion);  // made by
  put_common(b, entry, zip64_from, fields != 0);
  b.put(static_cast<uint16_t>(fields ? 4 + 8 * fields : 0));  // extra
  b.put(uint16_t{0});                                         // comment
  b.put(uint16_t{0});                                         // disk
  b.put(uint16_t{0});                                         // internal attributes
  b.put(uint32_t{0});                                         // external attributes
  b.put(clamp32(entry.header_offset, zip64_from));
  b.text(entry.name);
  if (!fields) return;
  b.put(kZip64Field);
  b.put(static_cast<uint16_t>(8 * fields));
  if (big) b.put(entry.size), b.put(entry.size);
  if (far) b.put(entry.header_offset);
}

struct End {
  uint64_t count, size, offset;  // of the central directory
};

// Finds the central directory. What is read here is believed only until the rebuilt directory has been compared.
Error find_directory(std::span<const uint8_t> file, End* out) {
  if (file.size() < kEndSize || get<uint32_t>(file, file.size() - kEndSize) != kEndMagic)
    return damaged("it does not end with a zip directory (truncated, or not a bundle)");
  const uint64_t end = file.size() - kEndSize;
  *out = {get<uint16_t>(file, end + 10), get<uint32_t>(file, end + 12), get<uint32_t>(file, end + 16)};
  const bool zip64 = end >= kEnd64Size + kLocator64Size &&
                     get<uint32_t>(file, end - kLocator64Size) == kLocator64Magic &&
                     get<uint32_t>(file, end - kLocator64Size - kEnd64Size) == kEnd64Magic;
  if (zip64) {
    const uint64_t at = end - kLocator64Size - kEnd64Size;
    *out = {get<uint64_t>(file, at + 32), get<uint64_t>(file, at + 40), get<uint64_t>(file, at + 48)};
  }
  if (out->offset > end || out->size > end - out->offset || out->count > out->size / kCentralSize)
    return damaged("its zip directory lies outside the file");
  return {};
}

Error parse_central(std::span<const uint8_t> file, uint64_t* at, uint64_t limit, ZipEntry* out) {
  if (limit - *at < kCentralSize || get<uint32_t>(file, *at) != kCentralMagic)
    return damaged("its zip directory is malformed");
  const uint64_t name_size = get<uint16_t>(file, *at + 28), extra_size = get<uint16_t>(file, *at + 30);
  if (limit - *at - kCentralSize < name_size + extra_size) return damaged("its zip directory is malformed");
  out->crc = get<uint32_t>(file, *at + 16);
  out->size = get<uint32_t>(file, *at + 24);
  out->header_offset = get<uint32_t>(file, *at + 42);
  const uint64_t name_at = *at + kCentralSize, extra_at = name_at + name_size;
  out->name.assign(reinterpret_cast<const char*>(file.data()) + name_at, name_size);
  if (!legal_name(out->name)) return damaged("it holds an entry with an illegal name");
  uint64_t field = extra_at + 4;
  auto take = [&](uint64_t* value) {
    if (*value != 0xffffffff || field + 8 > extra_at + extra_size) return;
    *value = get<uint64_t>(file, field);
    field += 8;
  };
  if (extra_size >= 4 && get<uint16_t>(file, extra_at) == kZip64Field) {
    if (out->size == 0xffffffff && extra_size >= 20) out->size = get<uint64_t>(file, field), field += 16;
    take(&out->header_offset);
  }
  *at = extra_at + extra_size;
  return {};
}

bool equal_at(std::span<const uint8_t> file, uint64_t offset, std::span<const uint8_t> expected) {
  return offset <= file.size() && expected.size() <= file.size() - offset &&
         std::memcmp(file.data() + offset, expected.data(), expected.size()) == 0;
}

}  // namespace

uint32_t crc32(uint32_t crc, std::span<const uint8_t> data) { return libdeflate_crc32(crc, data.data(), data.size()); }

bool legal_name(std::string_view name) {
  if (name.empty() || name.size() > 255 || name.front() == '/' || name.back() == '/') return false;
  if (std::any_of(name.begin(), name.end(), [](char c) { return c <= ' ' || c > '~' || c == '\\'; })) return false;
  return ("/" + std::string(name) + "/").find("/../") == std::string::npos;
}

size_t local_header_size(const ZipEntry& entry, uint64_t zip64_from) {
  const size_t before = bytes_before_align_field(entry, zip64_from);
  return before + align_field_size(entry.header_offset, before);
}

std::vector<uint8_t> local_header(const ZipEntry& entry, uint64_t zip64_from) {
  const bool zip64 = entry.size >= zip64_from;
  const size_t total = local_header_size(entry, zip64_from), before = bytes_before_align_field(entry, zip64_from);
  Bytes b;
  b.put(kLocalMagic);
  put_common(b, entry, zip64_from, zip64);
  b.put(static_cast<uint16_t>(total - kLocalSize - entry.name.size()));
  b.text(entry.name);
  if (zip64) b.put(kZip64Field), b.put(uint16_t{16}), b.put(entry.size), b.put(entry.size);
  b.put(kAlignField);
  b.put(static_cast<uint16_t>(total - before - 4));
  b.put(static_cast<uint16_t>(kDataAlignment));
  b.data.resize(total);
  return std::move(b.data);
}

std::vector<uint8_t> directory(std::span<const ZipEntry> entries, uint64_t directory_offset, uint64_t zip64_from) {
  Bytes b;
  for (const ZipEntry& entry : entries) put_central(b, entry, zip64_from);
  const uint64_t size = b.data.size(), count = entries.size();
  if (count >= 0xffff || size >= zip64_from || directory_offset >= zip64_from) {
    b.put(kEnd64Magic);
    b.put(uint64_t{kEnd64Size - 12});
    b.put(kZip64Version), b.put(kZip64Version);
    b.put(uint32_t{0}), b.put(uint32_t{0});
    b.put(count), b.put(count), b.put(size), b.put(directory_offset);
    b.put(kLocator64Magic);
    b.put(uint32_t{0});
    b.put(directory_offset + size);
    b.put(uint32_t{1});
  }
  b.put(kEndMagic);
  b.put(uint16_t{0}), b.put(uint16_t{0});
  const uint16_t count16 = static_cast<uint16_t>(std::min<uint64_t>(count, 0xffff));
  b.put(count16), b.put(count16);
  b.put(clamp32(size, zip64_from)), b.put(clamp32(directory_offset, zip64_from));
  b.put(uint16_t{0});  // comment
  return std::move(b.data);
}

Error parse_zip(std::span<const uint8_t> file, std::vector<ZipEntry>* out, uint64_t zip64_from) {
  End end{};
  DLCB_BUNDLE_TRY(find_directory(file, &end));
  std::vector<ZipEntry> entries(end.count);
  std::unordered_set<std::string_view> names;
  uint64_t at = end.offset, expected_offset = 0;
  for (ZipEntry& entry : entries) {
    DLCB_BUNDLE_TRY(parse_central(file, &at, end.offset + end.size, &entry));
    if (!names.insert(entry.name).second) return damaged("entry '" + entry.name + "' occurs twice");
    if (entry.header_offset != expected_offset)
      return damaged("entry '" + entry.name + "' is not where the one before it ends");
    const std::vector<uint8_t> header = local_header(entry, zip64_from);
    if (!equal_at(file, entry.header_offset, header))
      return damaged("the header of entry '" + entry.name + "' is damaged");
    entry.data_offset = entry.header_offset + header.size();
    if (entry.size > end.offset || entry.data_offset > end.offset - entry.size)
      return damaged("entry '" + entry.name + "' runs past the end");
    expected_offset = entry.data_offset + entry.size;
  }
  if (expected_offset != end.offset) return damaged("there are bytes between the last entry and the zip directory");
  const std::vector<uint8_t> rebuilt = directory(entries, end.offset, zip64_from);
  if (rebuilt.size() != file.size() - end.offset || !equal_at(file, end.offset, rebuilt))
    return damaged("its zip directory is damaged");
  *out = std::move(entries);
  return {};
}

Error parse_first_entry(std::span<const uint8_t> file, ZipEntry* out) {
  if (file.size() < kLocalSize || get<uint32_t>(file, 0) != kLocalMagic) return damaged("it is not a zip archive");
  const uint64_t name_size = get<uint16_t>(file, 26), extra_size = get<uint16_t>(file, 28);
  out->crc = get<uint32_t>(file, 14);
  out->size = get<uint32_t>(file, 22);
  out->data_offset = kLocalSize + name_size + extra_size;
  if (get<uint16_t>(file, 8) != 0 || out->data_offset > file.size() || out->size > file.size() - out->data_offset)
    return damaged("its first entry is damaged or truncated");
  out->name.assign(reinterpret_cast<const char*>(file.data()) + kLocalSize, name_size);
  return {};
}

}  // namespace dlcb::bundle
