// Names of parts of a program; see names.h.
#include "cmd/inspect/names.h"

#include <fmt/format.h>

#include "base/dtype.h"
#include "base/text.h"
#include "bundle_format/eval.h"

namespace dlcb::cmd {

std::string text_of(const flatbuffers::String* text) { return text == nullptr ? "" : text->str(); }

std::string dtype_text(uint8_t dtype) { return std::string(name_of(static_cast<DType>(dtype))); }

std::string type_text(const fb::TensorInfo& tensor) {
  std::vector<std::string> dims;
  if (tensor.dims() != nullptr)
    for (const fb::Dim* dim : *tensor.dims()) dims.push_back(text_of(dim->text()));
  return fmt::format("{}[{}]", dtype_text(tensor.dtype()), join(dims, ", "));
}

std::string buffer_text(const fb::Program& program, uint32_t buffer) {
  std::string name = text_of(program.buffers()->Get(buffer)->name());
  return name.empty() ? fmt::format("%{}", buffer) : fmt::format("%{} {}", buffer, name);
}

std::string origins_text(const flatbuffers::Vector<flatbuffers::Offset<fb::Origin>>* origins, size_t limit) {
  if (origins == nullptr) return "";
  std::vector<std::string> parts;
  for (const fb::Origin* origin : *origins) {
    if (parts.size() == limit) {
      parts.push_back(fmt::format("and {} more", origins->size() - limit));
      break;
    }
    std::string part = text_of(origin->op());
    if (std::string node = text_of(origin->node()); !node.empty()) part += (part.empty() ? "" : " ") + quote(node);
    if (std::string detail = text_of(origin->detail()); !detail.empty()) part += " (" + detail + ")";
    parts.push_back(std::move(part));
  }
  return join(parts, ", ");
}

std::string region_text(const fb::Program& program, uint32_t region) {
  if (program.regions() == nullptr || region >= program.regions()->size()) return "";
  return text_of(program.regions()->Get(region)->name());
}

RegisterNames::RegisterNames(const fb::Program& program) : program_(program) {
  meaning_.resize(program.host()->reg_types() == nullptr ? 0 : program.host()->reg_types()->size());
  auto name = [&](const fb::Dim* dim) {
    if (dim->reg() < meaning_.size() && meaning_[dim->reg()].empty()) meaning_[dim->reg()] = text_of(dim->text());
  };
  if (program.symbols() != nullptr)
    for (const fb::Dim* dim : *program.symbols()) name(dim);
  for (const auto* tensors : {program.inputs(), program.outputs()}) {
    if (tensors == nullptr) continue;
    for (const fb::TensorInfo* tensor : *tensors)
      if (tensor->dims() != nullptr)
        for (const fb::Dim* dim : *tensor->dims()) name(dim);
  }
}

std::string RegisterNames::constant(uint32_t reg) const {
  const auto* constants = program_.host()->constants();
  if (constants == nullptr || reg >= constants->size()) return "";
  int64_t bits = constants->Get(reg);
  switch (program_.host()->reg_types()->Get(reg)) {
    case fb::RegType::F64:
      return fmt::format("{}", bundle::as_double(bits));
    case fb::RegType::Bool:
      return bits != 0 ? "true" : "false";
    default:
      return fmt::format("{}", bits);
  }
}

std::string RegisterNames::operator()(uint32_t reg) const {
  if (std::string value = constant(reg); !value.empty()) return value;
  return has_short(reg) ? meaning_[reg] : fmt::format("r{}", reg);
}

std::string RegisterNames::numbered(uint32_t reg) const {
  if (std::string value = constant(reg); !value.empty()) return value;
  return has_short(reg) ? fmt::format("r{} ({})", reg, meaning_[reg]) : fmt::format("r{}", reg);
}

std::string RegisterNames::defined(uint32_t reg) const {
  return meaning_[reg].empty() ? fmt::format("r{}", reg) : fmt::format("r{} ({})", reg, meaning_[reg]);
}

bool RegisterNames::has_short(uint32_t reg) const {
  constexpr size_t kShort = 40;
  return !meaning_[reg].empty() && meaning_[reg].size() <= kShort;
}

}  // namespace dlcb::cmd
