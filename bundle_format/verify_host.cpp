// The host program: operand ranges and types, single assignment, definition before use, segment order.
#include <string>

#include "bundle_format/eval.h"
#include "bundle_format/verify.h"

namespace dlcb::bundle {
namespace {

// Where each segment starts: after which Read. Also marks what Reads write: usable once the next segment has started.
Error collect_reads(const fb::Program& p, RegisterTable* t) {
  const uint32_t segments = p.host()->segment_starts()->size();
  t->segment_ready = {0};
  std::vector<uint32_t> pending;
  for (uint32_t s = 0; s < size_or_zero(p.steps()); ++s) {
    const fb::Read* read = p.steps()->Get(s)->action_as_Read();
    if (!read) continue;
    const std::string user = "step " + std::to_string(s);
    if (read->dst() >= t->types.size() || t->types[read->dst()] != fb::RegType::I64)
      return damaged(user + " reads into a register that is not I64");
    pending.push_back(read->dst());
    if (read->next_segment() == 0) continue;
    if (read->next_segment() != t->segment_ready.size()) return damaged(user + " starts a segment out of order");
    t->segment_ready.push_back(s + 1);
    for (uint32_t reg : pending) {
      if (t->ready[reg] != kNever) return damaged(user + " reads into a register that is written elsewhere");
      t->ready[reg] = s + 1;
    }
    pending.clear();
  }
  if (!pending.empty()) return damaged("a value is read from the device but no segment follows");
  if (t->segment_ready.size() != segments) return damaged("a segment of the host program is never started");
  return {};
}

Error check_immediates(const fb::Program& p, const fb::Instr& in, const std::string& user) {
  if (in.op() > fb::Op::OutputAlign) return {};
  const auto* tensors = in.op() == fb::Op::OutputAlign ? p.outputs() : p.inputs();
  if (in.a() >= size_or_zero(tensors)) return damaged(user + " names a tensor that does not exist");
  const fb::TensorInfo& tensor = *tensors->Get(in.a());
  if (in.op() == fb::Op::InputDim && in.b() >= size_or_zero(tensor.dims()))
    return damaged(user + " names a dim that does not exist");
  if (in.op() != fb::Op::InputElem) return {};
  if (!tensor.host()) return damaged(user + " reads an input that is not marked as read by the host");
  if (in.b() >= (1u << 20)) return damaged(user + " reads an element too far into its input");
  return {};
}

Error check_operand(const RegisterTable& t, Operand kind, uint32_t reg, fb::RegType dst, uint32_t ready,
                    const std::string& user) {
  switch (kind) {
    case Operand::None:
    case Operand::Immediate:
      return {};
    case Operand::I64:
      return check_register(t, reg, fb::RegType::I64, ready, user);
    case Operand::F64:
      return check_register(t, reg, fb::RegType::F64, ready, user);
    case Operand::Bool:
      return check_register(t, reg, fb::RegType::Bool, ready, user);
    case Operand::Same:
      return check_register(t, reg, dst, ready, user);
  }
  return {};
}

Error check_instruction(const fb::Program& p, uint32_t i, uint32_t ready, RegisterTable* t) {
  const fb::Instr& in = *p.host()->code()->Get(i);
  const std::string user = "instruction " + std::to_string(i);
  const Signature* signature = signature_of(in.op());
  if (!signature) return damaged(user + " is of an unknown operation");
  if (in.dst() >= t->types.size()) return damaged(user + " writes a register that does not exist");
  const fb::RegType dst = t->types[in.dst()];
  const bool fits = signature->dst == Operand::I64    ? dst == fb::RegType::I64
                    : signature->dst == Operand::Bool ? dst == fb::RegType::Bool
                                                      : dst != fb::RegType::F64;
  if (!fits) return damaged(user + " writes a register of another type");
  if (t->ready[in.dst()] != kNever) return damaged(user + " writes a register that is written elsewhere");
  DLCB_BUNDLE_TRY(check_immediates(p, in, user));
  DLCB_BUNDLE_TRY(check_operand(*t, signature->a, in.a(), dst, ready, user));
  DLCB_BUNDLE_TRY(check_operand(*t, signature->b, in.b(), dst, ready, user));
  DLCB_BUNDLE_TRY(check_operand(*t, signature->c, in.c(), dst, ready, user));
  t->ready[in.dst()] = ready;
  return {};
}

Error load_types(const fb::HostProgram& host, RegisterTable* t) {
  const uint32_t constants = size_or_zero(host.constants());
  // FlatBuffers' verifier checks the alignment of a vector's length only.
  if (constants > 0 && reinterpret_cast<uintptr_t>(host.constants()->Data()) % alignof(int64_t) != 0)
    return damaged("its program is not well-formed");
  if (constants > size_or_zero(host.reg_types())) return damaged("the host program has more constants than registers");
  for (uint32_t r = 0; r < size_or_zero(host.reg_types()); ++r) {
    const auto type = static_cast<fb::RegType>(host.reg_types()->Get(r));
    if (type > fb::RegType::MAX) return damaged("register " + std::to_string(r) + " has an unknown type");
    if (r < constants && type == fb::RegType::Bool && (host.constants()->Get(r) & ~int64_t{1}) != 0)
      return damaged("register " + std::to_string(r) + " is a bool that is neither 0 nor 1");
    t->types.push_back(type);
    t->ready.push_back(r < constants ? 0 : kNever);
  }
  return {};
}

}  // namespace

Error verify_host(const fb::Program& p, RegisterTable* t) {
  const fb::HostProgram* host = p.host();
  if (!host || size_or_zero(host->segment_starts()) == 0) return damaged("it has no host program");
  DLCB_BUNDLE_TRY(load_types(*host, t));
  DLCB_BUNDLE_TRY(collect_reads(p, t));
  const auto& starts = *host->segment_starts();
  const uint32_t code = size_or_zero(host->code());
  if (starts[0] != 0) return damaged("segment 0 does not start at instruction 0");
  for (uint32_t k = 0; k < starts.size(); ++k) {
    const uint32_t end = k + 1 < starts.size() ? starts[k + 1] : code;
    if (starts[k] > end || end > code) return damaged("the segments of the host program are out of order");
    for (uint32_t i = starts[k]; i < end; ++i) DLCB_BUNDLE_TRY(check_instruction(p, i, t->segment_ready[k], t));
  }
  return {};
}

}  // namespace dlcb::bundle
