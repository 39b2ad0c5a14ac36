// How element types, constants and scalar functions are spelled in kernel text. Halves live in registers as float and
// in memory as u16; bool is u8 in memory; everything else is the same in both.
#pragma once
#include <string>
#include <string_view>

#include "ops/scalar.h"

namespace dlcb::kernel {

std::string_view register_type(DType t);
std::string_view memory_type(DType t);
std::string from_memory(DType t, const std::string& text);  // memory bits -> register value
std::string to_memory(DType t, const std::string& text);

std::string float_text(DType t, double v);
std::string integer_text(DType t, int64_t v);
std::string cast_text(DType from, DType to, const std::string& a);
// `a` and `b` are names or literals: they may be repeated. `t` is the operands' type.
std::string unary_text(ops::Fn fn, DType t, const std::string& a);
std::string binary_text(ops::Fn fn, DType t, const std::string& a, const std::string& b);

std::string guarded(const std::string& condition, const std::string& statement);

std::string reduce_identity(ops::ReduceFn fn, DType t);
std::string reduce_text(ops::ReduceFn fn, DType t, const std::string& a, const std::string& b);

}  // namespace dlcb::kernel
