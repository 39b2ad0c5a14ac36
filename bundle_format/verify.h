// What a program must satisfy beyond being well-formed FlatBuffers: every index, register, type, order and range, so
// that the stub and the inspector need no check of their own. Each refusal is one sentence.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bundle_format/error.h"
#include "bundle_format/program_generated.h"

namespace dlcb::bundle {

// `bytes` must be 8-byte aligned. On success *out points into them.
Error verify_program(std::span<const uint8_t> bytes, const fb::Program** out);
// Every module has its code for every target, and all or none have their source.
Error verify_modules(const fb::Program& program, const std::function<bool(std::string_view)>& has_entry);

std::string source_name(uint32_t module);                          // kernels/3.cu
std::string cubin_name(uint32_t module, std::string_view target);  // kernels/sm_90/3.cubin

// The parts of verify_program.
constexpr uint32_t kNever = UINT32_MAX;
struct RegisterTable {
  std::vector<fb::RegType> types;
  std::vector<uint32_t> ready;          // the first step that may use the register; kNever: nothing writes it
  std::vector<uint32_t> segment_ready;  // the first step after each segment: 0, then one past the Read that starts it
};

Error verify_host(const fb::Program& program, RegisterTable* registers);
Error verify_guards(const fb::Program& program, const RegisterTable& registers);
Error verify_buffers(const fb::Program& program, const RegisterTable& registers);
Error verify_steps(const fb::Program& program, const RegisterTable& registers);

// Refuses unless `reg` exists, has this type and is ready at `step`; `user` starts the sentence ("guard 3").
Error check_register(const RegisterTable& registers, uint32_t reg, fb::RegType type, uint32_t step,
                     const std::string& user);

template <class T>
uint32_t size_or_zero(const T* vector) {
  return vector ? vector->size() : 0;
}

}  // namespace dlcb::bundle
