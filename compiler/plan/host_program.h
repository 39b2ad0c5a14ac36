// Lowers integer expressions to the host program: straight-line typed bytecode (bundle_format/program.fbs) that the
// stub runs before anything is launched. Equal expressions share a register; an expression goes to the first segment in
// which all its symbols are known.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bundle_format/program_generated.h"
#include "sym/expr.h"

namespace dlcb::plan {

using Reg = uint32_t;

class HostProgram {
 public:
  // Constants, given as type and bits in turn, take the first registers, so they must be known before anything is
  // numbered: build once with none, take constants(), and build again with them.
  HostProgram(const sym::Store& store, std::vector<int64_t> constants);

  // Where a symbol comes from. Every symbol of a lowered expression must have been defined.
  void define_input_dim(sym::Expr symbol, uint32_t input, uint32_t axis);
  void define_alignment(sym::Expr symbol, fb::Op op, uint32_t index);
  void define_input_element(sym::Expr symbol, uint32_t input, uint32_t element);
  // A register that a Read step writes; what depends on it is computed in `segment`.
  Reg define_read(sym::Expr symbol, uint32_t segment);

  Reg integer(sym::Expr e);  // i64
  Reg boolean(sym::Expr e);  // bool
  Reg constant(int64_t value);
  Reg magic_mul(sym::Expr divisor);
  Reg magic_shift(sym::Expr divisor);
  // The first segment after which the expression's registers are written.
  uint32_t segment_of(sym::Expr e) const;

  const std::vector<int64_t>& constants() const { return constant_values_; }
  std::unique_ptr<fb::HostProgramT> finish();

 private:
  struct Source {
    Reg reg;
    uint32_t segment;
  };
  Reg lower(sym::Expr e);
  Reg lower_uncached(sym::Expr e, uint32_t segment);
  Reg lower_sum(sym::Expr e, uint32_t segment);
  Reg lower_chain(sym::Expr e, fb::Op op, uint32_t segment, bool boolean_operands);
  Reg emit(uint32_t segment, fb::Op op, fb::RegType type, uint32_t a = 0, uint32_t b = 0, uint32_t c = 0);
  Reg new_register(fb::RegType type);
  Reg typed_constant(fb::RegType type, int64_t bits);
  bool is_boolean(sym::Expr e) const;

  const sym::Store& store_;
  std::vector<int64_t> constant_values_;
  std::vector<fb::RegType> constant_types_;
  std::map<std::pair<fb::RegType, int64_t>, Reg> constant_regs_;  // by type and bits
  std::vector<fb::RegType> types_;                                // of the registers after the constants
  size_t reserved_;                                               // constants known from the start
  std::vector<std::vector<fb::Instr>> segments_;
  std::unordered_map<uint32_t, Source> symbols_;
  std::unordered_map<uint32_t, Reg> lowered_, as_int_, as_bool_, mul_, shift_;
};

}  // namespace dlcb::plan
