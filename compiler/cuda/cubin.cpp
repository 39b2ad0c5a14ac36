// ELF64 with NVIDIA's .nv.info attributes; formats observed from ptxas 13.0 and checked against its -v output.
#include "cuda/cubin.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string_view>

namespace dlcb::cuda {

namespace {

// Every read is checked: a bad offset gives a zeroed value or an empty span, never a wild read.
class Bytes {
 public:
  explicit Bytes(std::span<const std::byte> all) : all_(all) {}
  template <class T>
  T at(uint64_t offset) const {
    T value{};
    if (offset <= all_.size() && sizeof(T) <= all_.size() - offset)
      std::memcpy(&value, all_.data() + offset, sizeof(T));
    return value;
  }
  std::span<const std::byte> part(uint64_t offset, uint64_t size) const {
    if (offset > all_.size() || size > all_.size() - offset) return {};
    return all_.subspan(offset, size);
  }
  size_t size() const { return all_.size(); }
  std::string_view text(uint64_t offset) const {
    if (offset >= all_.size()) return {};
    auto rest = all_.subspan(offset);
    auto end = std::ranges::find(rest, std::byte{0});
    return {reinterpret_cast<const char*>(rest.data()), static_cast<size_t>(end - rest.begin())};
  }

 private:
  std::span<const std::byte> all_;
};

enum Attribute : uint8_t { kMaxThreads = 0x05, kFrameSize = 0x11, kRegCount = 0x2f };
constexpr uint8_t kSizedValue = 4;      // a 16-bit length, then the bytes; all other formats are 4 bytes in all
constexpr uint8_t kEntrySymbol = 0x10;  // in st_other
constexpr uint32_t kReservedShared = 1024;
constexpr int kInstructionBytes = 16;
constexpr uint16_t kCallOpcodes[] = {0x943, 0x944, 0x345, 0x343,
                                     0x344};  // CALL in its forms, low 12 bits of an instruction

template <class See>
void each_attribute(std::span<const std::byte> info, const See& see) {
  Bytes bytes(info);
  for (uint64_t at = 0; at + 4 <= info.size();) {
    const auto format = bytes.at<uint8_t>(at), attribute = bytes.at<uint8_t>(at + 1);
    const auto size = bytes.at<uint16_t>(at + 2);
    if (format == kSizedValue) see(attribute, Bytes(bytes.part(at + 4, size)));
    at += format == kSizedValue ? 4u + size : 4u;
  }
}

bool has_call(std::span<const std::byte> code) {
  for (size_t at = 0; at + kInstructionBytes <= code.size(); at += kInstructionBytes) {
    uint16_t low;
    std::memcpy(&low, code.data() + at, sizeof low);
    if (std::ranges::find(kCallOpcodes, low & 0xfff) != std::end(kCallOpcodes)) return true;
  }
  return false;
}

struct Section {
  Elf64_Shdr header;
  std::string_view name;
  std::span<const std::byte> content;
};

Diagnostic refuse(const std::string& why) {
  return diag(DiagKind::KernelCompilation, {"its output is no cubin: " + why});
}

// The ELF file's sections, and what is gathered from them kernel by kernel.
class Reader {
 public:
  Status open(std::span<const std::byte> cubin);
  void read_code();
  void read_attributes();
  void read_shared_memory();
  std::vector<KernelInfo> entries();

 private:
  // Calls see(kernel, section) for the sections "<prefix><kernel>" of known kernels.
  template <class See>
  void each_of(std::string_view prefix, const See& see) {
    for (const Section& s : sections_) {
      if (!s.name.starts_with(prefix)) continue;
      const auto kernel = kernels_.find(s.name.substr(prefix.size()));
      if (kernel != kernels_.end()) see(kernel->second, s);
    }
  }
  KernelInfo* by_symbol(uint32_t index) {
    const auto symbol = symbols_.at<Elf64_Sym>(uint64_t{index} * sizeof(Elf64_Sym));
    const auto found = kernels_.find(symbol_names_.text(symbol.st_name));
    return found == kernels_.end() ? nullptr : &found->second;
  }

  std::vector<Section> sections_;
  Bytes symbols_{{}}, symbol_names_{{}};
  std::map<std::string, KernelInfo, std::less<>> kernels_;
};

Status Reader::open(std::span<const std::byte> cubin) {
  const Bytes file(cubin);
  const auto header = file.at<Elf64_Ehdr>(0);
  if (cubin.size() < sizeof header || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return refuse("not an ELF file");
  if (header.e_shentsize != sizeof(Elf64_Shdr)) return refuse("section headers of unknown size");
  const auto names = file.at<Elf64_Shdr>(header.e_shoff + uint64_t{header.e_shstrndx} * sizeof(Elf64_Shdr));
  const Bytes name_table(file.part(names.sh_offset, names.sh_size));
  for (uint64_t i = 0; i < header.e_shnum; i++) {
    Section s;
    s.header = file.at<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr));
    s.name = name_table.text(s.header.sh_name);
    if (s.header.sh_type != SHT_NOBITS) s.content = file.part(s.header.sh_offset, s.header.sh_size);
    if (s.name == ".symtab") symbols_ = Bytes(s.content);
    if (s.name == ".strtab") symbol_names_ = Bytes(s.content);
    sections_.push_back(s);
  }
  return ok();
}

void Reader::read_code() {
  for (const Section& s : sections_) {
    if (!s.name.starts_with(".text.")) continue;
    KernelInfo& k = kernels_[std::string(s.name.substr(6))];
    k.instructions = static_cast<uint32_t>(s.header.sh_size / kInstructionBytes);
    k.has_calls = has_call(s.content);
  }
}

// Attributes are in one section for all kernels or in one of the kernel's own.
void Reader::read_attributes() {
  for (const Section& s : sections_) {
    if (s.name != ".nv.info") continue;
    each_attribute(s.content, [&](uint8_t attribute, const Bytes& value) {
      KernelInfo* k = by_symbol(value.at<uint32_t>(0));
      if (k && attribute == kRegCount) k->registers = value.at<uint32_t>(4);
      if (k && attribute == kFrameSize) k->stack_bytes = value.at<uint32_t>(4);
    });
  }
  each_of(".nv.info.", [](KernelInfo& k, const Section& s) {
    each_attribute(s.content, [&](uint8_t attribute, const Bytes& value) {
      if (attribute == kMaxThreads) k.max_threads = value.at<uint32_t>(0);
    });
  });
}

// sm_90 and later count 1 KB that the system reserves into .nv.shared and have a section for it.
void Reader::read_shared_memory() {
  const bool reserves =
      std::ranges::any_of(sections_, [](const Section& s) { return s.name.starts_with(".nv.shared.reserved"); });
  each_of(".nv.shared.", [&](KernelInfo& k, const Section& s) {
    const auto size = static_cast<uint32_t>(s.header.sh_size);
    k.shared_bytes = reserves && size >= kReservedShared ? size - kReservedShared : size;
  });
}

// Helpers that kernels call may have a section of their own: only entry symbols count.
std::vector<KernelInfo> Reader::entries() {
  std::set<std::string, std::less<>> names;
  for (uint64_t i = 0; (i + 1) * sizeof(Elf64_Sym) <= symbols_.size(); i++) {
    const auto symbol = symbols_.at<Elf64_Sym>(i * sizeof(Elf64_Sym));
    if (symbol.st_other & kEntrySymbol) names.emplace(symbol_names_.text(symbol.st_name));
  }
  std::vector<KernelInfo> result;
  for (auto& [name, k] : kernels_) {
    if (!names.contains(name)) continue;
    k.name = name;
    result.push_back(std::move(k));
  }
  return result;
}

}  // namespace

Result<std::vector<KernelInfo>> read_cubin(std::span<const std::byte> cubin) {
  Reader reader;
  DLCB_TRY(reader.open(cubin));
  reader.read_code();
  reader.read_attributes();
  reader.read_shared_memory();
  return reader.entries();
}

}  // namespace dlcb::cuda
