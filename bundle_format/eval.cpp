// See eval.h.
#include "bundle_format/eval.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace dlcb::bundle {
namespace {

using enum Operand;
constexpr Signature kSignatures[] = {
    {"input_dim", I64, Immediate, Immediate, None},
    {"input_align", I64, Immediate, None, None},
    {"input_elem", I64, Immediate, Immediate, None},
    {"output_align", I64, Immediate, None, None},
    {"add", I64, I64, I64, None},
    {"sub", I64, I64, I64, None},
    {"mul", I64, I64, I64, None},
    {"floordiv", I64, I64, I64, None},
    {"mod", I64, I64, I64, None},
    {"min", I64, I64, I64, None},
    {"max", I64, I64, I64, None},
    {"eq", Bool, I64, I64, None},
    {"lt", Bool, I64, I64, None},
    {"le", Bool, I64, I64, None},
    {"and", Bool, Bool, Bool, None},
    {"or", Bool, Bool, Bool, None},
    {"not", Bool, Bool, None, None},
    {"select", Same, Bool, Same, Same},
    {"magic_mul", I64, I64, None, None},
    {"magic_shift", I64, I64, None, None},
    {"floor_scale", I64, I64, F64, None},
    {"ceil_scale", I64, I64, F64, None},
    {"bool_to_int", I64, Bool, None, None},
};
static_assert(std::size(kSignatures) == static_cast<size_t>(fb::Op::MAX) + 1);

int64_t wrap(uint64_t v) { return static_cast<int64_t>(v); }
uint64_t u(int64_t v) { return static_cast<uint64_t>(v); }

int64_t floor_mod(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  const int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

// Division of 0 <= n < 2^31 by d as (umulhi32(n, mul) + n) >> shift, with shift = ceil(log2 d) and
// mul = floor(2^32 (2^shift - d) / d) + 1 (Granlund and Montgomery, 1994). Divisors outside [1, 2^31) give 0.
struct Magic {
  int64_t mul = 0, shift = 0;
};
Magic magic_of(int64_t d) {
  if (d < 1 || d >= (int64_t{1} << 31)) return {};
  Magic m;
  while ((int64_t{1} << m.shift) < d) ++m.shift;
  m.mul = wrap((uint64_t{1} << 32) * ((uint64_t{1} << m.shift) - u(d)) / u(d) + 1);
  return m;
}

// A size times a scale as the model computes it: in f32 where the scale is an f32 number.
double scaled(int64_t a, double scale) {
  const auto single = static_cast<float>(scale);
  if (static_cast<double>(single) != scale) return static_cast<double>(a) * scale;
  return static_cast<double>(static_cast<float>(a) * single);
}

int64_t element(const HostArgs& args, uint32_t input, uint32_t index) {
  if (input >= args.input_elements.size() || index >= args.input_elements[input].size()) return 0;
  return args.input_elements[input][index];
}

int64_t outside(const fb::Instr& in, const HostArgs& args) {
  switch (in.op()) {
    case fb::Op::InputDim:
      return args.input_dims[in.a()][in.b()];
    case fb::Op::InputAlign:
      return args.input_align[in.a()];
    case fb::Op::InputElem:
      return element(args, in.a(), in.b());
    default:
      return args.output_align[in.a()];
  }
}

// The result of an instruction, saturated where it is lost.
struct Outcome {
  int64_t value;
  bool lost = false;
};

Outcome beyond(bool negative) { return {negative ? INT64_MIN : INT64_MAX, true}; }

Outcome add(int64_t a, int64_t b) {
  int64_t r = 0;
  return __builtin_add_overflow(a, b, &r) ? beyond(a < 0) : Outcome{r};
}

Outcome subtract(int64_t a, int64_t b) {
  int64_t r = 0;
  return __builtin_sub_overflow(a, b, &r) ? beyond(a < 0) : Outcome{r};
}

Outcome multiply(int64_t a, int64_t b) {
  int64_t r = 0;
  return __builtin_mul_overflow(a, b, &r) ? beyond((a < 0) != (b < 0)) : Outcome{r};
}

Outcome floor_div(int64_t a, int64_t b) {
  if (b == 0) return {0};
  if (a == INT64_MIN && b == -1) return beyond(false);
  const int64_t q = a / b;
  return {q - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0)};
}

Outcome to_int(double v) {  // NaN gives 0
  if (std::isnan(v)) return {0};
  if (v >= 9223372036854775808.0) return beyond(false);
  if (v < -9223372036854775808.0) return beyond(true);
  return {static_cast<int64_t>(v)};
}

// Of operands that are not lost, or whose loss does not matter.
Outcome compute(const fb::Instr& in, const Registers& r) {
  const int64_t a = r[in.a()];
  switch (in.op()) {
    case fb::Op::Not:
      return {!a};
    case fb::Op::MagicMul:
      return {magic_of(a).mul};
    case fb::Op::MagicShift:
      return {magic_of(a).shift};
    case fb::Op::BoolToInt:
      return {a != 0};
    default:
      break;
  }
  const int64_t b = r[in.b()];
  switch (in.op()) {
    case fb::Op::Add:
      return add(a, b);
    case fb::Op::Sub:
      return subtract(a, b);
    case fb::Op::Mul:
      return multiply(a, b);
    case fb::Op::FloorDiv:
      return floor_div(a, b);
    case fb::Op::Mod:
      return {floor_mod(a, b)};
    case fb::Op::Min:
      return {std::min(a, b)};
    case fb::Op::Max:
      return {std::max(a, b)};
    case fb::Op::Eq:
      return {a == b};
    case fb::Op::Lt:
      return {a < b};
    case fb::Op::Le:
      return {a <= b};
    case fb::Op::And:
      return {a && b};
    case fb::Op::Or:
      return {a || b};
    case fb::Op::FloorScale:
      return to_int(std::floor(scaled(a, as_double(b))));
    case fb::Op::CeilScale:
      return to_int(std::ceil(scaled(a, as_double(b))));
    default:
      return {0};
  }
}

bool takes_one(fb::Op op) {
  return op == fb::Op::Not || op == fb::Op::MagicMul || op == fb::Op::MagicShift || op == fb::Op::BoolToInt;
}

// Whether an operand alone decides the result, so that the other may be lost.
bool decides(fb::Op op, int64_t a) {
  switch (op) {
    case fb::Op::Mul:
    case fb::Op::And:
      return a == 0;
    case fb::Op::Or:
      return a != 0;
    default:
      return false;
  }
}

Outcome evaluate(const fb::Instr& in, const Registers& r) {
  if (in.op() == fb::Op::Select) {
    const uint32_t taken = r[in.a()] ? in.b() : in.c();
    return {r[taken], r.lost(in.a()) || r.lost(taken)};
  }
  Outcome result = compute(in, r);
  const bool lost_a = r.lost(in.a()), lost_b = !takes_one(in.op()) && r.lost(in.b());
  if (!lost_a && !lost_b) return result;
  result.lost = (lost_a || !decides(in.op(), r[in.a()])) && (lost_b || !decides(in.op(), r[in.b()]));
  return result;
}

}  // namespace

const Signature* signature_of(fb::Op op) {
  const size_t i = static_cast<size_t>(op);
  return i < std::size(kSignatures) ? &kSignatures[i] : nullptr;
}

double as_double(int64_t bits) {
  double d;
  std::memcpy(&d, &bits, sizeof d);
  return d;
}

int64_t alignment_of(uint64_t address) {
  const uint64_t low = address & (0 - address);  // lowest set bit; 0 for null
  return low == 0 || low > 256 ? 256 : static_cast<int64_t>(low);
}

Registers::Registers(const fb::HostProgram& program)
    : patterns_(program.reg_types() ? program.reg_types()->size() : 0), lost_(patterns_.size()) {
  if (program.constants()) std::copy(program.constants()->begin(), program.constants()->end(), patterns_.begin());
}

void run_segment(const fb::HostProgram& program, uint32_t segment, const HostArgs& args, Registers& registers) {
  const auto& starts = *program.segment_starts();
  const uint32_t end = segment + 1 < starts.size() ? starts[segment + 1] : program.code()->size();
  for (uint32_t i = starts[segment]; i < end; ++i) {
    const fb::Instr& in = *program.code()->Get(i);
    const Outcome result = in.op() <= fb::Op::OutputAlign ? Outcome{outside(in, args)} : evaluate(in, registers);
    registers.set(in.dst(), result.value, result.lost);
  }
}

}  // namespace dlcb::bundle
