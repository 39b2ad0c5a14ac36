// Steps: what each uses exists, has the right type and is alive when the step runs.
#include <string>

#include "bundle_format/verify.h"

namespace dlcb::bundle {
namespace {

// Checks the operands of one step; methods return the first complaint.
class StepChecker {
 public:
  StepChecker(const fb::Program& p, const RegisterTable& registers, uint32_t step)
      : p_(p), registers_(registers), step_(step), user_("step " + std::to_string(step)) {}

  Error check() {
    const fb::Step& step = *p_.steps()->Get(step_);
    if (step.predicate() < -1) return refuse("has an impossible predicate");
    if (step.predicate() >= 0) DLCB_BUNDLE_TRY(reg(static_cast<uint32_t>(step.predicate()), fb::RegType::Bool));
    if (step.fallback()) DLCB_BUNDLE_TRY(launch(*step.fallback()));
    if (!step.action()) return refuse("does nothing");
    switch (step.action_type()) {
      case fb::Action::Launch:
        return launch(*step.action_as_Launch());
      case fb::Action::Matmul:
        return matmul(*step.action_as_Matmul());
      case fb::Action::Conv:
        return conv(*step.action_as_Conv());
      case fb::Action::Read:
        return read(*step.action_as_Read());
      case fb::Action::Copy:
        return copy(*step.action_as_Copy());
      default:
        return refuse("is of an unknown kind");
    }
  }

 private:
  Error refuse(const std::string& what) const { return damaged(user_ + " " + what); }
  Error reg(uint32_t r, fb::RegType type = fb::RegType::I64) const {
    return check_register(registers_, r, type, step_, user_);
  }
  Error regs(std::initializer_list<uint32_t> list) const {
    for (uint32_t r : list) DLCB_BUNDLE_TRY(reg(r));
    return {};
  }

  Error buffer(uint32_t index, bool written = false) const {
    if (index >= size_or_zero(p_.buffers())) return refuse("uses a buffer that does not exist");
    const fb::Buffer& b = *p_.buffers()->Get(index);
    const bool placed = b.kind() == fb::BufferKind::Arena || b.kind() == fb::BufferKind::Workspace;
    if (placed && (step_ < b.first_step() || step_ > b.last_step()))
      return refuse("uses a buffer outside its lifetime");
    if (b.kind() == fb::BufferKind::Output) {  // its memory is bound once its dims are known
      DLCB_BUNDLE_TRY(reg(b.bytes_reg()));
      const auto* dims = p_.outputs()->Get(b.index())->dims();
      for (uint32_t d = 0; d < size_or_zero(dims); ++d) DLCB_BUNDLE_TRY(reg(dims->Get(d)->reg()));
    }
    if (written && (b.kind() == fb::BufferKind::Input || b.kind() == fb::BufferKind::Weight))
      return refuse("writes an input or a weight");
    return {};
  }
  Error optional_buffer(int32_t index) const {
    if (index < -1) return refuse("uses a buffer that does not exist");
    return index < 0 ? Error{} : buffer(static_cast<uint32_t>(index));
  }
  Error region(uint32_t index) const {
    return index > 0 && index >= size_or_zero(p_.regions()) ? refuse("belongs to a region that does not exist")
                                                            : Error{};
  }
  Error dtype(uint8_t t) const { return t > 12 ? refuse("has an unknown element type") : Error{}; }

  Error variant(const fb::Variant& v) const {
    DLCB_BUNDLE_TRY(reg(v.when(), fb::RegType::Bool));
    if (v.entry() >= size_or_zero(p_.entries())) return refuse("launches an entry that does not exist");
    if (size_or_zero(v.grid()) != 3 || size_or_zero(v.block()) != 3)
      return refuse("has a grid or block that is not three registers");
    for (uint32_t i = 0; i < 3; ++i) DLCB_BUNDLE_TRY(regs({v.grid()->Get(i), v.block()->Get(i)}));
    DLCB_BUNDLE_TRY(reg(v.shared_bytes()));
    return arguments(v);
  }

  Error arguments(const fb::Variant& v) const {
    const auto* params = p_.entries()->Get(v.entry())->params();
    if (size_or_zero(v.args()) != size_or_zero(params))
      return refuse("passes " + std::to_string(size_or_zero(v.args())) + " arguments to a kernel of " +
                    std::to_string(size_or_zero(params)) + " parameters");
    for (uint32_t i = 0; i < size_or_zero(v.args()); ++i) {
      const fb::Arg& arg = *v.args()->Get(i);
      if (arg.kind() != static_cast<fb::ArgKind>(params->Get(i)))
        return refuse("passes argument " + std::to_string(i) + " of another kind than its kernel's parameter");
      switch (arg.kind()) {
        case fb::ArgKind::BufferPtr:
          DLCB_BUNDLE_TRY(buffer(arg.ref()));
          break;
        case fb::ArgKind::I32:
        case fb::ArgKind::U32:
        case fb::ArgKind::I64: {
          const bool is_bool = arg.ref() < registers_.types.size() && registers_.types[arg.ref()] == fb::RegType::Bool;
          DLCB_BUNDLE_TRY(reg(arg.ref(), is_bool ? fb::RegType::Bool : fb::RegType::I64));
          break;
        }
      }
    }
    return {};
  }

  Error launch(const fb::Launch& l) const {
    if (size_or_zero(l.variants()) == 0) return refuse("has no variant to launch");
    for (uint32_t i = 0; i < l.variants()->size(); ++i) DLCB_BUNDLE_TRY(variant(*l.variants()->Get(i)));
    return region(l.region());
  }

  Error matmul(const fb::Matmul& m) const {
    DLCB_BUNDLE_TRY(buffer(m.a()));
    DLCB_BUNDLE_TRY(buffer(m.b()));
    DLCB_BUNDLE_TRY(buffer(m.c(), true));
    DLCB_BUNDLE_TRY(optional_buffer(m.bias()));
    DLCB_BUNDLE_TRY(optional_buffer(m.residual()));
    DLCB_BUNDLE_TRY(
        regs({m.m(), m.n(), m.k(), m.batch(), m.lda(), m.ldb(), m.ldc(), m.stride_a(), m.stride_b(), m.stride_c()}));
    if (m.activation() > fb::Activation::MAX) return refuse("has an unknown activation");
    DLCB_BUNDLE_TRY(dtype(m.dtype()));
    return region(m.region());
  }

  Error conv(const fb::Conv& c) const {
    DLCB_BUNDLE_TRY(buffer(c.x()));
    DLCB_BUNDLE_TRY(buffer(c.w()));
    DLCB_BUNDLE_TRY(buffer(c.y(), true));
    DLCB_BUNDLE_TRY(optional_buffer(c.bias()));
    DLCB_BUNDLE_TRY(optional_buffer(c.residual()));
    DLCB_BUNDLE_TRY(regs({c.n(), c.h(), c.wd(), c.c(), c.k(), c.p(), c.q()}));
    if (size_or_zero(c.pad()) != 4 || size_or_zero(c.stride()) != 2 || size_or_zero(c.dilation()) != 2)
      return refuse("does not have four pads, two strides and two dilations");
    bool sane = c.r() > 0 && c.s() > 0 && c.groups() > 0;
    for (int32_t pad : *c.pad()) sane = sane && pad >= 0;
    for (uint32_t i = 0; i < 2; ++i) sane = sane && c.stride()->Get(i) > 0 && c.dilation()->Get(i) > 0;
    if (!sane) return refuse("is a convolution with an impossible window");
    if (c.activation() > fb::Activation::MAX) return refuse("has an unknown activation");
    DLCB_BUNDLE_TRY(dtype(c.dtype()));
    return region(c.region());
  }

  Error read(const fb::Read& r) const {
    DLCB_BUNDLE_TRY(buffer(r.buffer()));
    return r.index() >= (1u << 30) ? refuse("reads an element too far into its buffer")
                                   : Error{};  // dst: collect_reads
  }

  Error copy(const fb::Copy& c) const {
    DLCB_BUNDLE_TRY(buffer(c.from()));
    DLCB_BUNDLE_TRY(buffer(c.to(), true));
    return reg(c.bytes());
  }

  const fb::Program& p_;
  const RegisterTable& registers_;
  uint32_t step_;
  std::string user_;
};

}  // namespace

Error verify_steps(const fb::Program& p, const RegisterTable& registers) {
  for (uint32_t s = 0; s < size_or_zero(p.steps()); ++s) DLCB_BUNDLE_TRY(StepChecker(p, registers, s).check());
  return {};
}

}  // namespace dlcb::bundle
