// The host program's meaning: integer code that turns input dims into everything a launch needs. One interpreter serves
// the stub (per call) and the inspector (--eval, on a machine with no device). It cannot trap: division by zero gives
// 0, elements that an input does not have read as 0, and what does not fit 64 bits is lost: only a program that does
// not need it goes on.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "bundle_format/program_generated.h"

namespace dlcb::bundle {

// What segment code reads from outside. Spans are indexed by input or output number and owned by the caller.
struct HostArgs {
  std::span<const std::span<const int64_t>> input_dims;
  std::span<const int64_t> input_align, output_align;        // 1, 2, 4 ... 256 bytes
  std::span<const std::span<const int64_t>> input_elements;  // of inputs that the host program reads; others empty
};

// Largest power of two <= 256 that divides an address; 256 for null.
int64_t alignment_of(uint64_t address);

// One 64-bit pattern for each reg_types entry. A register is lost where an integer on the way to it left 64 bits; its
// pattern, in which that integer saturated, is good for messages alone. What does not depend on the integer is not
// lost: 0 times it, the other side of a select, `or` with something true.
class Registers {
 public:
  Registers() = default;
  explicit Registers(const fb::HostProgram& program);  // constants are loaded, the others are 0
  int64_t operator[](uint32_t r) const { return patterns_[r]; }
  bool lost(uint32_t r) const { return lost_[r]; }
  void set(uint32_t r, int64_t pattern, bool lost = false) {
    patterns_[r] = pattern;
    lost_[r] = lost;
  }

 private:
  std::vector<int64_t> patterns_;
  std::vector<bool> lost_;
};

// Runs one segment (0 <= segment < segment_starts.size()). The program must have passed verify_program.
void run_segment(const fb::HostProgram& program, uint32_t segment, const HostArgs& args, Registers& registers);

double as_double(int64_t bits);

// Operand and result types of an instruction. Immediates of Input*/OutputAlign are checked by the verifier.
enum class Operand : uint8_t { None, Immediate, I64, F64, Bool, Same };  // Same: the type of dst, I64 or Bool
struct Signature {
  const char* name;
  Operand dst, a, b, c;
};
// nullptr for a number that is no operation.
const Signature* signature_of(fb::Op op);

}  // namespace dlcb::bundle
