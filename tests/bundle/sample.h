// Programs and bundles made by hand, for tests of the reader and of the stub.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bundle_format/program_generated.h"
#include "bundle_format/version.h"

namespace dlcb::test {

using Bytes = std::vector<uint8_t>;
using Dims = std::vector<std::pair<uint32_t, std::string>>;  // register and text

// Appends to `program`, which stays open to edits until finish(). The first 64 registers are constants.
class ProgramBuilder {
 public:
  ProgramBuilder();

  uint32_t i64(int64_t value);
  uint32_t f64(double value);
  uint32_t flag(bool value);
  uint32_t reg(fb::RegType type);                                      // written by a Read
  uint32_t op(fb::Op op, uint32_t a, uint32_t b = 0, uint32_t c = 0);  // appends an instruction, returns its register
  uint32_t dim(uint32_t input, uint32_t axis) { return op(fb::Op::InputDim, input, axis); }
  void next_segment();

  uint32_t input(const std::string& name, uint8_t dtype, const Dims& dims, bool host = false);
  uint32_t output(const std::string& name, uint8_t dtype, const Dims& dims, uint32_t bytes_reg);  // returns its buffer
  void symbol(const std::string& name, uint32_t reg);
  uint32_t input_buffer(uint32_t input, uint8_t dtype = 0);
  uint32_t weight(uint64_t offset, uint64_t size);
  uint32_t arena(uint32_t bytes_reg, uint32_t first_step, uint32_t last_step, uint8_t dtype = 0);
  uint32_t entry(const std::string& name);
  fb::GuardT& guard(uint32_t reg, const std::string& text, uint32_t segment = 0);

  // One variant, grid (grid_x, 1, 1), 32 threads. Args: buffers first, then I64 registers.
  std::unique_ptr<fb::LaunchT> launch(uint32_t entry, uint32_t grid_x, const std::vector<uint32_t>& buffers,
                                      const std::vector<uint32_t>& values = {});
  template <class T>
  fb::StepT& step(T action, int32_t predicate = -1) {
    auto s = std::make_unique<fb::StepT>();
    s->action.Set(std::move(action));
    s->predicate = predicate;
    program.steps.push_back(std::move(s));
    return *program.steps.back();
  }

  Bytes finish() const;  // program.fb

  fb::ProgramT program;

 private:
  uint32_t constant(fb::RegType type, int64_t bits);
  uint32_t constants_ = 0;
};

// x: f32[N, 3], W: 64 bytes of weights, y: f32[N, 3]; one kernel, one arena buffer, guard N <= 8.
ProgramBuilder sample_program();
std::string manifest_text(int version = bundle::kFormatVersion);
// `source` for every module, a file that is no cubin for every target, weights 0 1 2 ...
Bytes make_bundle(const fb::ProgramT& program, const Bytes& program_bytes,
                  const std::string& manifest = manifest_text(), const std::string& source = "// kernel");
Bytes make_bundle(const ProgramBuilder& builder);
Bytes sample_bundle();

}  // namespace dlcb::test
