// Tables of a program: tensors, guards, buffers, entries. Host code is in verify_host.cpp, steps in verify_steps.cpp.
#include "bundle_format/verify.h"

#include <algorithm>
#include <cctype>

#include "bundle_format/limits.h"

namespace dlcb::bundle {
namespace {

constexpr uint8_t kDTypes = 13;  // of compiler/base/dtype.h
constexpr uint32_t kMaxThreads = 1024;

bool identifier(const flatbuffers::String* s) {
  if (!s || s->size() == 0 || s->size() > 200 || std::isdigit(static_cast<unsigned char>(*s->c_str()))) return false;
  return std::all_of(s->begin(), s->end(),
                     [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; });
}

std::string at(const char* what, uint32_t index) { return std::string(what) + " " + std::to_string(index); }

Error verify_tensors(const flatbuffers::Vector<flatbuffers::Offset<fb::TensorInfo>>* tensors, const char* what,
                     bool input, const RegisterTable& registers) {
  for (uint32_t i = 0; i < size_or_zero(tensors); ++i) {
    const fb::TensorInfo& t = *tensors->Get(i);
    if (!t.name()) return damaged(at(what, i) + " has no name");
    if (t.dtype() >= kDTypes) return damaged(at(what, i) + " has an unknown element type");
    if (t.host() && t.dtype() < 4) return damaged(at(what, i) + " is read by the host but is not an integer tensor");
    if (size_or_zero(t.dims()) > kMaxRank) return damaged(at(what, i) + " has too many dims");
    for (uint32_t d = 0; d < size_or_zero(t.dims()); ++d) {
      const uint32_t reg = t.dims()->Get(d)->reg();
      const std::string user = at(what, i) + " dim " + std::to_string(d);
      DLCB_BUNDLE_TRY(check_register(registers, reg, fb::RegType::I64, input ? 0 : kNever - 1, user));
    }
  }
  return {};
}

Error verify_entries(const fb::Program& p) {
  for (uint32_t i = 0; i < size_or_zero(p.entries()); ++i) {
    const fb::Entry& e = *p.entries()->Get(i);
    if (!identifier(e.name())) return damaged(at("kernel entry", i) + " has a name that is no C identifier");
    if (e.module_() >= p.modules()) return damaged(at("kernel entry", i) + " is in a module that does not exist");
    if (e.max_threads() < 1 || e.max_threads() > kMaxThreads)
      return damaged(at("kernel entry", i) + " has an impossible max_threads");
    for (uint32_t k = 0; k < size_or_zero(e.params()); ++k)
      if (static_cast<fb::ArgKind>(e.params()->Get(k)) > fb::ArgKind::MAX)
        return damaged(at("kernel entry", i) + " has a parameter of an unknown kind");
  }
  for (uint32_t i = 0; i < size_or_zero(p.targets()); ++i)
    if (!identifier(p.targets()->Get(i))) return damaged(at("target", i) + " has an illegal name");
  if (const auto* file = p.external_weights()) {
    const std::string name = file->str();
    if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos ||
        name.find('\0') != std::string::npos)
      return damaged("the name of its external weights is not a plain file name");
  }
  return {};
}

Error verify_tables(const fb::Program& p, const RegisterTable& registers) {
  DLCB_BUNDLE_TRY(verify_tensors(p.inputs(), "input", true, registers));
  DLCB_BUNDLE_TRY(verify_tensors(p.outputs(), "output", false, registers));
  for (uint32_t i = 0; i < size_or_zero(p.symbols()); ++i)
    DLCB_BUNDLE_TRY(
        check_register(registers, p.symbols()->Get(i)->reg(), fb::RegType::I64, kNever - 1, at("symbol", i)));
  return verify_entries(p);
}

Error verify_buffer(const fb::Program& p, const RegisterTable& registers, uint32_t i, std::vector<uint32_t>* outputs) {
  const fb::Buffer& b = *p.buffers()->Get(i);
  const std::string user = at("buffer", i);
  if (b.dtype() >= kDTypes) return damaged(user + " has an unknown element type");
  switch (b.kind()) {
    case fb::BufferKind::Input:
      if (b.index() >= size_or_zero(p.inputs())) return damaged(user + " is of an input that does not exist");
      return {};
    case fb::BufferKind::Output:
      if (b.index() >= size_or_zero(p.outputs())) return damaged(user + " is of an output that does not exist");
      ++(*outputs)[b.index()];
      return check_register(registers, b.bytes_reg(), fb::RegType::I64, kNever - 1, user);
    case fb::BufferKind::Weight:
      if (b.offset() % 16 != 0 || b.size() > p.weight_bytes() || b.offset() > p.weight_bytes() - b.size())
        return damaged(user + " lies outside the weights");
      return {};
    case fb::BufferKind::Arena:
    case fb::BufferKind::Workspace:
      if (b.first_step() > b.last_step() || b.last_step() >= size_or_zero(p.steps()))
        return damaged(user + " has an impossible lifetime");
      return check_register(registers, b.bytes_reg(), fb::RegType::I64, b.first_step(), user);
  }
  return damaged(user + " is of an unknown kind");
}

}  // namespace

std::string source_name(uint32_t module) { return "kernels/" + std::to_string(module) + ".cu"; }

std::string cubin_name(uint32_t module, std::string_view target) {
  return "kernels/" + std::string(target) + "/" + std::to_string(module) + ".cubin";
}

Error check_register(const RegisterTable& registers, uint32_t reg, fb::RegType type, uint32_t step,
                     const std::string& user) {
  if (reg >= registers.types.size())
    return damaged(user + " uses register " + std::to_string(reg) + ", which does not exist");
  if (registers.types[reg] != type)
    return damaged(user + " uses register " + std::to_string(reg) + ", which is not " + fb::EnumNameRegType(type));
  if (registers.ready[reg] > step)
    return damaged(user + " uses register " + std::to_string(reg) + " before it is written");
  return {};
}

Error verify_guards(const fb::Program& p, const RegisterTable& registers) {
  for (uint32_t i = 0; i < size_or_zero(p.guards()); ++i) {
    const fb::Guard& g = *p.guards()->Get(i);
    const std::string user = at("guard", i);
    if (g.segment() >= registers.segment_ready.size())
      return damaged(user + " is checked after a segment that does not exist");
    const uint32_t ready = registers.segment_ready[g.segment()];
    DLCB_BUNDLE_TRY(check_register(registers, g.reg(), fb::RegType::Bool, ready, user));
    for (uint32_t s = 0; s < size_or_zero(g.shown()); ++s)
      DLCB_BUNDLE_TRY(check_register(registers, g.shown()->Get(s)->reg(), fb::RegType::I64, ready, user));
    if (g.input() < -1 || g.input() >= static_cast<int64_t>(size_or_zero(p.inputs())) || g.axis() < -1 || g.kind() > 3)
      return damaged(user + " is malformed");
    if (g.input() >= 0 &&
        g.axis() >= static_cast<int64_t>(size_or_zero(p.inputs()->Get(static_cast<uint32_t>(g.input()))->dims())))
      return damaged(user + " blames an axis that its input does not have");
  }
  return {};
}

Error verify_buffers(const fb::Program& p, const RegisterTable& registers) {
  std::vector<uint32_t> outputs(size_or_zero(p.outputs()), 0);
  for (uint32_t i = 0; i < size_or_zero(p.buffers()); ++i) DLCB_BUNDLE_TRY(verify_buffer(p, registers, i, &outputs));
  for (uint32_t i = 0; i < outputs.size(); ++i)
    if (outputs[i] != 1)
      return damaged(at("output", i) + " has " + std::to_string(outputs[i]) + " buffers instead of one");
  return {};
}

Error verify_program(std::span<const uint8_t> bytes, const fb::Program** out) {
  flatbuffers::Verifier verifier(bytes.data(), bytes.size(), 64, 100'000'000);
  if (bytes.size() < 16 || !fb::VerifyProgramBuffer(verifier)) return damaged("its program is not well-formed");
  const fb::Program& p = *fb::GetProgram(bytes.data());
  RegisterTable registers;
  DLCB_BUNDLE_TRY(verify_host(p, &registers));
  DLCB_BUNDLE_TRY(verify_tables(p, registers));
  DLCB_BUNDLE_TRY(verify_guards(p, registers));
  DLCB_BUNDLE_TRY(verify_buffers(p, registers));
  DLCB_BUNDLE_TRY(verify_steps(p, registers));
  *out = &p;
  return {};
}

Error verify_modules(const fb::Program& p, const std::function<bool(std::string_view)>& has_entry) {
  const bool sources = p.modules() > 0 && has_entry(source_name(0));
  if (p.modules() > 0 && !sources && size_or_zero(p.targets()) == 0) return damaged("it holds no code for its kernels");
  for (uint32_t m = 0; m < p.modules(); ++m) {
    if (has_entry(source_name(m)) != sources) return damaged("some of its kernel sources are missing");
    for (uint32_t t = 0; t < size_or_zero(p.targets()); ++t) {
      const std::string name = cubin_name(m, p.targets()->Get(t)->string_view());
      if (!has_entry(name)) return damaged("entry '" + name + "' is missing");
    }
  }
  return {};
}

}  // namespace dlcb::bundle
