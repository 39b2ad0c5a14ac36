// The views of dlcb-inspect. Each is made once as JSON; what a terminal shows is rendered from that, so that the two
// cannot disagree. No view needs a GPU or a CUDA library.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "bundle_format/eval.h"
#include "bundle_format/reader.h"

namespace dlcb::cmd {

using Json = nlohmann::ordered_json;

// Dims and registers under given values of the symbols.
struct Evaluation {
  std::vector<std::vector<int64_t>> input_dims;
  bundle::Registers registers;
  std::vector<bool> known;              // by register: false if it depends on what a kernel computes
  std::optional<uint32_t> failed;       // the first guard that does not hold; nothing would be launched
  uint64_t arena_bytes = 0;             // peak, if every size is known
  std::vector<uint64_t> arena_offsets;  // by arena or workspace buffer, in buffer order
  bool arena_known = false;
};

// `bindings` is "N=4,W=320": every symbol, and the elements of inputs that the host program reads ("rate=16000"). Data
// pointers are taken to be 256-byte aligned. BadFlag for unknown or missing names.
Result<Evaluation> evaluate(const fb::Program& program, const std::string& bindings);

Json summary_view(const bundle::Bundle& bundle, const std::string& path);
Json dims_view(const bundle::Bundle& bundle);
Json guards_view(const bundle::Bundle& bundle);
Json kernels_view(const bundle::Bundle& bundle);
Result<Json> source_view(const bundle::Bundle& bundle, const std::string& kernel);
Json host_view(const bundle::Bundle& bundle);
Json thunks_view(const bundle::Bundle& bundle, const Evaluation* at);  // `at` may be null in these two
Json memory_view(const bundle::Bundle& bundle, const Evaluation* at);
Json evaluation_view(const bundle::Bundle& bundle, const Evaluation& at);

std::string summary_text(const Json& view);
std::string dims_text(const Json& view);
std::string guards_text(const Json& view);
std::string kernels_text(const Json& view);
std::string source_text(const Json& view);
std::string host_text(const Json& view);
std::string thunks_text(const Json& view);
std::string memory_text(const Json& view);
std::string evaluation_text(const Json& view);

}  // namespace dlcb::cmd
