// How parts of a program are written in all views.
#pragma once
#include <string>

#include "bundle_format/program_generated.h"

namespace dlcb::cmd {

std::string text_of(const flatbuffers::String* text);  // "" for null
std::string dtype_text(uint8_t dtype);
// "f32[N, 3, H, W]"
std::string type_text(const fb::TensorInfo& tensor);
// "%5 conv1" (buffer number and name)
std::string buffer_text(const fb::Program& program, uint32_t buffer);
// "Conv '/enc/conv0', Relu '/enc/relu0'"; at most `limit` of them, then "and 3 more".
std::string origins_text(const flatbuffers::Vector<flatbuffers::Offset<fb::Origin>>* origins, size_t limit = 4);
std::string region_text(const fb::Program& program, uint32_t region);

// Names registers: constants by their value, dims by their text ("N", "2*W") where it is short, others "r12".
class RegisterNames {
 public:
  explicit RegisterNames(const fb::Program& program);
  std::string operator()(uint32_t reg) const;
  // As above, but always "r12" with the meaning behind it: "r12 (N)"; for listings of the code.
  std::string numbered(uint32_t reg) const;
  // Where the register gets its value: the meaning in full.
  std::string defined(uint32_t reg) const;

 private:
  bool has_short(uint32_t reg) const;
  std::string constant(uint32_t reg) const;
  const fb::Program& program_;
  std::vector<std::string> meaning_;
};

}  // namespace dlcb::cmd
