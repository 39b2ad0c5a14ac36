// Buffers: what lives where and when, and for given dims how much memory a call needs.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "bundle_format/verify.h"
#include "cmd/common/units.h"
#include "cmd/inspect/names.h"
#include "cmd/inspect/view.h"

namespace dlcb::cmd {

Json memory_view(const bundle::Bundle& bundle, const Evaluation* at) {
  const fb::Program& program = bundle.program();
  RegisterNames names(program);
  Json buffers = Json::array();
  size_t packed = 0;
  for (uint32_t i = 0; i < bundle::size_or_zero(program.buffers()); ++i) {
    const fb::Buffer* buffer = program.buffers()->Get(i);
    bool in_arena = buffer->kind() == fb::BufferKind::Arena || buffer->kind() == fb::BufferKind::Workspace;
    Json json = {{"buffer", i},
                 {"kind", fb::EnumNameBufferKind(buffer->kind())},
                 {"name", text_of(buffer->name())},
                 {"dtype", dtype_text(buffer->dtype())}};
    if (buffer->kind() == fb::BufferKind::Weight) {
      json["offset"] = buffer->offset();
      json["bytes"] = buffer->size();
    } else if (in_arena || buffer->kind() == fb::BufferKind::Output) {
      bool known = at != nullptr && at->known[buffer->bytes_reg()];
      json["bytes"] = known ? Json(at->registers[buffer->bytes_reg()]) : Json(names(buffer->bytes_reg()));
    }
    if (in_arena) {
      json["first_step"] = buffer->first_step();
      json["last_step"] = buffer->last_step();
      if (at != nullptr && at->arena_known) json["offset"] = at->arena_offsets[packed];
      ++packed;
    }
    buffers.push_back(std::move(json));
  }
  Json view = {{"weight_bytes", program.weight_bytes()}, {"buffers", buffers}};
  if (at != nullptr && at->arena_known) view["arena_bytes"] = at->arena_bytes;
  return view;
}

std::string memory_text(const Json& view) {
  std::string text = "weights  " + bytes_text(view["weight_bytes"]) + "\n";
  if (view.contains("arena_bytes")) text += "arena    " + bytes_text(view["arena_bytes"]) + " at its peak\n";
  auto number = [](const Json& json, const char* key) {
    if (!json.contains(key)) return std::string();
    return json[key].is_string() ? json[key].get<std::string>() : json[key].dump();
  };
  text += fmt::format("{:>6} {:9} {:5} {:>12} {:>12} {:>11}  {}\n", "buffer", "kind", "type", "offset", "bytes",
                      "steps", "name");
  for (const Json& buffer : view["buffers"]) {
    std::string steps;
    if (buffer.contains("first_step"))
      steps = fmt::format("{}..{}", buffer["first_step"].get<uint32_t>(), buffer["last_step"].get<uint32_t>());
    text += fmt::format("{:>6} {:9} {:5} {:>12} {:>12} {:>11}  {}\n", buffer["buffer"].get<uint32_t>(),
                        buffer["kind"].get<std::string>(), buffer["dtype"].get<std::string>(), number(buffer, "offset"),
                        number(buffer, "bytes"), steps, buffer["name"].get<std::string>());
  }
  return text;
}

}  // namespace dlcb::cmd
