#include "plan/host_program.h"

#include <algorithm>
#include <bit>

namespace dlcb::plan {

using fb::Op;
using fb::RegType;
using sym::Expr;
using sym::Kind;

namespace {
// While constants are still being collected their registers are numbered from here; such a program is thrown away.
constexpr Reg kUnknownConstant = 0x40000000;
}  // namespace

HostProgram::HostProgram(const sym::Store& store, std::vector<int64_t> constants)
    : store_(store), constant_values_(std::move(constants)) {
  reserved_ = constant_values_.size() / 2;
  for (size_t i = 0; i < reserved_; ++i) {
    const auto type = static_cast<RegType>(constant_values_[2 * i]);
    constant_types_.push_back(type);
    constant_regs_[{type, constant_values_[2 * i + 1]}] = static_cast<Reg>(i);
  }
  segments_.emplace_back();
}

Reg HostProgram::new_register(RegType type) {
  types_.push_back(type);
  return static_cast<Reg>(reserved_ + types_.size() - 1);
}

Reg HostProgram::emit(uint32_t segment, Op op, RegType type, uint32_t a, uint32_t b, uint32_t c) {
  while (segments_.size() <= segment) segments_.emplace_back();
  const Reg dst = new_register(type);
  segments_[segment].emplace_back(op, dst, a, b, c);
  return dst;
}

Reg HostProgram::typed_constant(RegType type, int64_t bits) {
  auto [it, inserted] =
      constant_regs_.try_emplace({type, bits}, kUnknownConstant + static_cast<Reg>(constant_regs_.size()));
  if (inserted) {
    constant_values_.push_back(static_cast<int64_t>(type));
    constant_values_.push_back(bits);
  }
  return it->second;
}

Reg HostProgram::constant(int64_t value) { return typed_constant(RegType::I64, value); }

void HostProgram::define_input_dim(Expr symbol, uint32_t input, uint32_t axis) {
  symbols_[symbol.id] = {emit(0, Op::InputDim, RegType::I64, input, axis), 0};
}

void HostProgram::define_alignment(Expr symbol, Op op, uint32_t index) {
  symbols_[symbol.id] = {emit(0, op, RegType::I64, index), 0};
}

void HostProgram::define_input_element(Expr symbol, uint32_t input, uint32_t element) {
  symbols_[symbol.id] = {emit(0, Op::InputElem, RegType::I64, input, element), 0};
}

Reg HostProgram::define_read(Expr symbol, uint32_t segment) {
  while (segments_.size() <= segment) segments_.emplace_back();
  const Reg reg = new_register(RegType::I64);
  symbols_[symbol.id] = {reg, segment};
  return reg;
}

uint32_t HostProgram::segment_of(Expr e) const {
  uint32_t segment = 0;
  for (Expr s : store_.symbols(e)) {
    auto it = symbols_.find(s.id);
    DLCB_CHECK(it != symbols_.end(), "host program: no source for symbol " + std::string(store_.symbol_name(s)));
    segment = std::max(segment, it->second.segment);
  }
  return segment;
}

bool HostProgram::is_boolean(Expr e) const {
  switch (store_.kind(e)) {
    case Kind::Eq:
    case Kind::Le:
    case Kind::Lt:
    case Kind::And:
    case Kind::Or:
    case Kind::Not:
      return true;
    default:
      return false;
  }
}

Reg HostProgram::integer(Expr e) {
  if (auto value = store_.as_const(e)) return constant(*value);
  const Reg reg = lower(e);
  if (!is_boolean(e)) return reg;
  auto it = as_int_.find(e.id);
  if (it == as_int_.end()) it = as_int_.emplace(e.id, emit(segment_of(e), Op::BoolToInt, RegType::I64, reg)).first;
  return it->second;
}

Reg HostProgram::boolean(Expr e) {
  if (is_boolean(e)) return lower(e);
  auto it = as_bool_.find(e.id);
  if (it != as_bool_.end()) return it->second;
  const Reg value = integer(e);
  const uint32_t segment = segment_of(e);
  const Reg zero = emit(segment, Op::Eq, RegType::Bool, value, constant(0));
  return as_bool_[e.id] = emit(segment, Op::Not, RegType::Bool, zero);
}

Reg HostProgram::lower(Expr e) {
  if (auto it = lowered_.find(e.id); it != lowered_.end()) return it->second;
  const Reg reg = lower_uncached(e, segment_of(e));
  lowered_[e.id] = reg;
  return reg;
}

Reg HostProgram::lower_sum(Expr e, uint32_t segment) {
  const std::vector<Expr> terms(store_.operands(e).begin(), store_.operands(e).end());
  const std::vector<int64_t> factors(store_.coefficients(e).begin(), store_.coefficients(e).end());
  Reg total = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    Reg term = integer(terms[i]);
    if (factors[i] != 1) term = emit(segment, Op::Mul, RegType::I64, term, constant(factors[i]));
    total = i == 0 ? term : emit(segment, Op::Add, RegType::I64, total, term);
  }
  const int64_t added = store_.sum_constant(e);
  return added == 0 ? total : emit(segment, Op::Add, RegType::I64, total, constant(added));
}

Reg HostProgram::lower_chain(Expr e, Op op, uint32_t segment, bool boolean_operands) {
  const std::vector<Expr> operands(store_.operands(e).begin(), store_.operands(e).end());
  Reg total = 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Reg operand = boolean_operands ? boolean(operands[i]) : integer(operands[i]);
    total = i == 0 ? operand : emit(segment, op, boolean_operands ? RegType::Bool : RegType::I64, total, operand);
  }
  return total;
}

Reg HostProgram::lower_uncached(Expr e, uint32_t segment) {
  const std::vector<Expr> ops(store_.operands(e).begin(), store_.operands(e).end());
  auto binary = [&](Op op, RegType type) {
    const Reg a = integer(ops[0]), b = integer(ops[1]);
    return emit(segment, op, type, a, b);
  };
  switch (store_.kind(e)) {
    case Kind::Const:
      return constant(*store_.as_const(e));
    case Kind::Symbol:
      return symbols_.at(e.id).reg;
    case Kind::Sum:
      return lower_sum(e, segment);
    case Kind::Product:
      return lower_chain(e, Op::Mul, segment, false);
    case Kind::FloorDiv:
      return binary(Op::FloorDiv, RegType::I64);
    case Kind::Mod:
      return binary(Op::Mod, RegType::I64);
    case Kind::Min:
      return lower_chain(e, Op::Min, segment, false);
    case Kind::Max:
      return lower_chain(e, Op::Max, segment, false);
    case Kind::Eq:
      return binary(Op::Eq, RegType::Bool);
    case Kind::Le:
      return binary(Op::Le, RegType::Bool);
    case Kind::Lt:
      return binary(Op::Lt, RegType::Bool);
    case Kind::And:
      return lower_chain(e, Op::And, segment, true);
    case Kind::Or:
      return lower_chain(e, Op::Or, segment, true);
    case Kind::Not:
      return emit(segment, Op::Not, RegType::Bool, boolean(ops[0]));
    case Kind::Select: {
      const Reg cond = boolean(ops[0]), a = integer(ops[1]), b = integer(ops[2]);
      return emit(segment, Op::Select, RegType::I64, cond, a, b);
    }
    case Kind::FloorScale:
    case Kind::CeilScale: {
      const Reg a = integer(ops[0]), scale = typed_constant(RegType::F64, std::bit_cast<int64_t>(store_.scale(e)));
      return emit(segment, store_.kind(e) == Kind::FloorScale ? Op::FloorScale : Op::CeilScale, RegType::I64, a, scale);
    }
  }
  DLCB_CHECK(false, "host program: unknown expression kind");
}

Reg HostProgram::magic_mul(Expr divisor) {
  auto it = mul_.find(divisor.id);
  if (it == mul_.end()) {
    const Reg d = integer(divisor);
    it = mul_.emplace(divisor.id, emit(segment_of(divisor), Op::MagicMul, RegType::I64, d)).first;
  }
  return it->second;
}

Reg HostProgram::magic_shift(Expr divisor) {
  auto it = shift_.find(divisor.id);
  if (it == shift_.end()) {
    const Reg d = integer(divisor);
    it = shift_.emplace(divisor.id, emit(segment_of(divisor), Op::MagicShift, RegType::I64, d)).first;
  }
  return it->second;
}

std::unique_ptr<fb::HostProgramT> HostProgram::finish() {
  auto program = std::make_unique<fb::HostProgramT>();
  program->reg_types = constant_types_;
  program->reg_types.insert(program->reg_types.end(), types_.begin(), types_.end());
  for (size_t i = 0; i < reserved_; ++i) program->constants.push_back(constant_values_[2 * i + 1]);
  for (const auto& segment : segments_) {
    program->segment_starts.push_back(static_cast<uint32_t>(program->code.size()));
    program->code.insert(program->code.end(), segment.begin(), segment.end());
  }
  return program;
}

}  // namespace dlcb::plan
