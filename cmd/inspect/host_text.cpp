// The host program as text: one instruction a line, constants and dims by their names.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "bundle_format/eval.h"
#include "bundle_format/verify.h"
#include "cmd/inspect/names.h"
#include "cmd/inspect/view.h"

namespace dlcb::cmd {
namespace {

using bundle::Operand;

const char* type_name(const fb::HostProgram& host, uint32_t reg) {
  switch (host.reg_types()->Get(reg)) {
    case fb::RegType::F64:
      return "f64";
    case fb::RegType::Bool:
      return "bool";
    default:
      return "i64";
  }
}

// "r12 (N): i64 = input_dim 0 ('x'), 1"
std::string instruction_text(const fb::Program& program, const RegisterNames& names, const fb::Instr& instruction) {
  const bundle::Signature* signature = bundle::signature_of(instruction.op());
  std::vector<std::string> operands;
  const std::pair<Operand, uint32_t> given[] = {
      {signature->a, instruction.a()}, {signature->b, instruction.b()}, {signature->c, instruction.c()}};
  for (const auto& [kind, value] : given) {
    if (kind == Operand::None) continue;
    operands.push_back(kind == Operand::Immediate ? fmt::format("{}", value) : names.numbered(value));
  }
  std::string comment;
  auto input_name = [](const auto* tensors, uint32_t index) {
    return tensors != nullptr && index < tensors->size() ? text_of(tensors->Get(index)->name()) : "";
  };
  switch (instruction.op()) {
    case fb::Op::InputDim:
    case fb::Op::InputAlign:
    case fb::Op::InputElem:
      comment = "  ; " + input_name(program.inputs(), instruction.a());
      break;
    case fb::Op::OutputAlign:
      comment = "  ; " + input_name(program.outputs(), instruction.a());
      break;
    default:
      break;
  }
  return fmt::format("{}: {} = {} {}{}", names.defined(instruction.dst()),
                     type_name(*program.host(), instruction.dst()), signature->name, join(operands, ", "), comment);
}

}  // namespace

Json host_view(const bundle::Bundle& bundle) {
  const fb::Program& program = bundle.program();
  const fb::HostProgram& host = *program.host();
  RegisterNames names(program);
  Json segments = Json::array();
  uint32_t size = host.code() == nullptr ? 0 : host.code()->size();
  uint32_t count = bundle::size_or_zero(host.segment_starts());
  for (uint32_t segment = 0; segment < count; ++segment) {
    uint32_t end = segment + 1 < count ? host.segment_starts()->Get(segment + 1) : size;
    Json code = Json::array();
    for (uint32_t i = host.segment_starts()->Get(segment); i < end; ++i)
      code.push_back(instruction_text(program, names, *host.code()->Get(i)));
    Json guards = Json::array();
    if (program.guards() != nullptr)
      for (const fb::Guard* guard : *program.guards())
        if (guard->segment() == segment)
          guards.push_back(fmt::format("check {}  ; {}", names.numbered(guard->reg()), text_of(guard->text())));
    segments.push_back({{"segment", segment}, {"code", code}, {"guards", guards}});
  }
  return {{"registers", bundle::size_or_zero(host.reg_types())},
          {"constants", bundle::size_or_zero(host.constants())},
          {"segments", segments}};
}

std::string host_text(const Json& view) {
  std::string text = fmt::format("{} registers, {} of them constants\n", view["registers"].get<uint32_t>(),
                                 view["constants"].get<uint32_t>());
  for (const Json& segment : view["segments"]) {
    text += fmt::format("segment {}:\n", segment["segment"].get<uint32_t>());
    for (const char* part : {"code", "guards"})
      for (const Json& line : segment[part]) text += "  " + line.get<std::string>() + "\n";
  }
  return text;
}

}  // namespace dlcb::cmd
