// What each scalar function computes on concrete numbers. Constant folding, the CPU reference and kernel tests share
// this one definition. Floats travel as double and are rounded to their dtype after each operation, integers as int64
// wrapped to their width; u64 travels as the int64 with the same bits.
#pragma once
#include <cstdint>
#include <string_view>

#include "base/dtype.h"
#include "ops/scalar.h"

namespace dlcb::ops {

constexpr int kUnaryFns = static_cast<int>(Fn::Add);  // Fn values below are unary
constexpr bool is_unary(Fn fn) { return static_cast<int>(fn) < kUnaryFns; }
std::string_view name_of(Fn fn);        // "rsqrt", "bit_and"
std::string_view name_of(ReduceFn fn);  // "sum"
// True when fn has a meaning for the type (exp: floats; bit_and: integers and bool; ...).
bool accepts(Fn fn, DType t);
// The type of the result for operands of type t: Bool for comparisons and predicates, else t.
DType result_type(Fn fn, DType t);

double round_to(DType t, double v);           // t a float type; to nearest even
int64_t wrap_to(DType t, int64_t v);          // t an integer type or Bool
int64_t float_to_integer(DType t, double v);  // toward zero, saturating; NaN gives 0
double integer_to_float(DType from, int64_t v, DType to);

// Operands of type t (a float, or an integer or Bool); the result is of result_type(fn, t), a Bool as 0 or 1.
double apply_f(Fn fn, DType t, double a, double b = 0);
int64_t apply_i(Fn fn, DType t, int64_t a, int64_t b = 0);
// Predicates and comparisons of floats.
bool apply_test(Fn fn, double a, double b = 0);

double reduce_identity_f(ReduceFn fn);
int64_t reduce_identity_i(ReduceFn fn, DType t);
int64_t lowest_integer(DType t);
int64_t highest_integer(DType t);
Fn combine_fn(ReduceFn fn);  // Add, Mul, Min, Max

// Conversions between storage bits and double; exact for f16 and bf16.
double half_to_double(uint16_t bits);
uint16_t double_to_half(double v);
double bfloat_to_double(uint16_t bits);
uint16_t double_to_bfloat(double v);

}  // namespace dlcb::ops
