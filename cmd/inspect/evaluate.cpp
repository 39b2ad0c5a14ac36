// --eval: runs the host program for given dims, as the stub would, and says what would happen.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <map>
#include <nlohmann/json.hpp>

#include "base/limits.h"
#include "base/text.h"
#include "bundle_format/eval.h"
#include "bundle_format/packing.h"
#include "bundle_format/verify.h"
#include "cmd/common/units.h"
#include "cmd/inspect/names.h"
#include "cmd/inspect/view.h"

namespace dlcb::cmd {
namespace {

using bundle::size_or_zero;
using Bindings = std::map<std::string, int64_t>;

Diagnostic bad(std::string text) { return diag(DiagKind::BadFlag, {"--eval: " + std::move(text)}); }

// What the model calls a symbol: texts have names that are not identifiers in backquotes.
std::string plain_name(const std::string& text) {
  return text.starts_with('`') ? unescaped(std::string_view(text).substr(1, text.size() - 2)) : text;
}

// Names that may be bound: symbols that are part of an input's dims, and inputs whose elements the host program reads.
std::vector<std::string> names_of(const fb::Program& program) {
  std::vector<std::string> names;
  if (program.symbols() != nullptr)
    for (const fb::Dim* symbol : *program.symbols()) names.push_back(plain_name(text_of(symbol->text())));
  if (program.inputs() != nullptr)
    for (const fb::TensorInfo* input : *program.inputs())
      if (input->host()) names.push_back(text_of(input->name()));
  return names;
}

Result<Bindings> parse_bindings(const std::string& text, const std::vector<std::string>& names) {
  Bindings bindings;
  if (trim(text).empty()) return bindings;
  for (const std::string& part : split(text, ',')) {
    size_t equals = part.rfind('=');
    if (equals == std::string::npos) return bad(quote(part) + " is not NAME=VALUE");
    std::string name(trim(std::string_view(part).substr(0, equals)));
    std::string_view number = trim(std::string_view(part).substr(equals + 1));
    int64_t value = 0;
    auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (error != std::errc() || end != number.data() + number.size())
      return bad(quote(std::string(number)) + " is not an integer");
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      std::string hint = names.empty() ? " (this bundle has none)" : "; known: " + join(names, ", ");
      if (auto near = closest(name, names)) hint = " (did you mean " + quote(*near) + "?)";
      return bad("unknown dim " + quote(name) + hint);
    }
    bindings[name] = value;
  }
  return bindings;
}

// Sets the dims that are symbols. What other dims must be follows from these: the host program says it.
Status bind_symbols(const fb::Program& program, const Bindings& bindings, Evaluation& at) {
  std::map<uint32_t, std::string> symbols;  // by register
  for (uint32_t i = 0; i < size_or_zero(program.symbols()); ++i)
    symbols[program.symbols()->Get(i)->reg()] = plain_name(text_of(program.symbols()->Get(i)->text()));
  for (uint32_t i = 0; i < size_or_zero(program.inputs()); ++i) {
    const fb::TensorInfo* input = program.inputs()->Get(i);
    std::vector<int64_t>& dims = at.input_dims.emplace_back(size_or_zero(input->dims()));
    for (uint32_t axis = 0; axis < dims.size(); ++axis) {
      auto symbol = symbols.find(input->dims()->Get(axis)->reg());
      if (symbol == symbols.end()) continue;
      auto value = bindings.find(symbol->second);
      if (value == bindings.end())
        return bad("no value for dim " + quote(symbol->second) + " of input " + quote(text_of(input->name())));
      dims[axis] = value->second;
    }
    if (input->host() && !bindings.contains(text_of(input->name())))
      return bad("no value for the elements of input " + quote(text_of(input->name())));
  }
  return ok();
}

// Sets all dims to what their registers say.
Status settle_dims(const fb::Program& program, Evaluation& at) {
  for (uint32_t i = 0; i < size_or_zero(program.inputs()); ++i) {
    const fb::TensorInfo* input = program.inputs()->Get(i);
    for (uint32_t axis = 0; axis < size_or_zero(input->dims()); ++axis) {
      const fb::Dim* dim = input->dims()->Get(axis);
      const int64_t value = at.input_dims[i][axis] = at.registers[dim->reg()];
      if (at.registers.lost(dim->reg()) || value < 0 || value > kLargestDim)
        return bad(fmt::format("dim '{}' of input {} has no legal value", text_of(dim->text()),
                               quote(text_of(input->name()))));
    }
  }
  return ok();
}

void run_first_segment(const fb::Program& program, const Bindings& bindings, Evaluation& at) {
  const fb::HostProgram& host = *program.host();
  size_t inputs = size_or_zero(program.inputs()), registers = size_or_zero(host.reg_types());
  std::vector<std::span<const int64_t>> dims(at.input_dims.begin(), at.input_dims.end());
  std::vector<std::vector<int64_t>> elements(inputs);
  for (size_t i = 0; i < inputs; ++i) {
    const fb::TensorInfo* input = program.inputs()->Get(static_cast<uint32_t>(i));
    auto bound = bindings.find(text_of(input->name()));
    if (!input->host() || bound == bindings.end()) continue;
    int64_t count = 1;
    for (int64_t dim : at.input_dims[i]) count = std::min<int64_t>(count * dim, 1024);
    elements[i].assign(static_cast<size_t>(count), bound->second);
  }
  std::vector<std::span<const int64_t>> element_spans(elements.begin(), elements.end());
  std::vector<int64_t> input_align(inputs, 256), output_align(size_or_zero(program.outputs()), 256);
  at.registers = bundle::Registers(host);
  at.known.assign(registers, false);
  std::fill_n(at.known.begin(), size_or_zero(host.constants()), true);
  if (size_or_zero(host.segment_starts()) == 0) return;
  bundle::run_segment(host, 0, {dims, input_align, output_align, element_spans}, at.registers);
  uint32_t code = host.code() == nullptr ? 0 : host.code()->size();
  uint32_t end = host.segment_starts()->size() > 1 ? host.segment_starts()->Get(1) : code;
  for (uint32_t i = host.segment_starts()->Get(0); i < end; ++i) at.known[host.code()->Get(i)->dst()] = true;
}

void find_failed_guard(const fb::Program& program, Evaluation& at) {
  for (uint32_t i = 0; i < size_or_zero(program.guards()) && !at.failed; ++i) {
    uint32_t reg = program.guards()->Get(i)->reg();
    if (at.known[reg] && (at.registers.lost(reg) || at.registers[reg] == 0)) at.failed = i;
  }
}

void pack_arena(const fb::Program& program, Evaluation& at) {
  std::vector<bundle::Life> lives;
  at.arena_known = !at.failed;
  for (uint32_t i = 0; i < size_or_zero(program.buffers()); ++i) {
    const fb::Buffer* buffer = program.buffers()->Get(i);
    if (buffer->kind() != fb::BufferKind::Arena && buffer->kind() != fb::BufferKind::Workspace) continue;
    at.arena_known &= at.known[buffer->bytes_reg()];
    lives.push_back(
        {static_cast<uint64_t>(at.registers[buffer->bytes_reg()]), buffer->first_step(), buffer->last_step()});
  }
  if (!at.arena_known) return;
  bundle::Packing packing = bundle::pack(lives);
  at.arena_known = !packing.overflow;
  at.arena_offsets = packing.offsets;
  at.arena_bytes = packing.peak;
}

Json value_json(const Evaluation& at, uint32_t reg) {
  return at.registers.lost(reg) ? Json("more than 64 bits hold") : Json(at.registers[reg]);
}

Json shape_json(const fb::TensorInfo& tensor, const std::vector<int64_t>* given, const Evaluation& at) {
  Json shape = Json::array();
  for (uint32_t axis = 0; axis < size_or_zero(tensor.dims()); ++axis) {
    uint32_t reg = tensor.dims()->Get(axis)->reg();
    if (given != nullptr) {
      shape.push_back((*given)[axis]);
    } else {
      shape.push_back(at.known[reg] ? value_json(at, reg) : Json("?"));
    }
  }
  return {{"name", text_of(tensor.name())}, {"dtype", dtype_text(tensor.dtype())}, {"shape", shape}};
}

Json refusal_json(const fb::Program& program, const Evaluation& at) {
  const fb::Guard* guard = program.guards()->Get(*at.failed);
  Json shown = Json::array();
  if (guard->shown() != nullptr)
    for (const fb::Shown* item : *guard->shown())
      shown.push_back({{"text", text_of(item->text())}, {"value", value_json(at, item->reg())}});
  Json refusal = {{"guard", text_of(guard->text())},
                  {"why", text_of(guard->why())},
                  {"from", origins_text(guard->origins())},
                  {"shown", shown}};
  if (guard->input() >= 0) {
    refusal["input"] = text_of(program.inputs()->Get(static_cast<uint32_t>(guard->input()))->name());
    refusal["axis"] = guard->axis();
  }
  return refusal;
}

}  // namespace

Result<Evaluation> evaluate(const fb::Program& program, const std::string& text) {
  DLCB_ASSIGN(Bindings bindings, parse_bindings(text, names_of(program)));
  Evaluation at;
  DLCB_TRY(bind_symbols(program, bindings, at));
  run_first_segment(program, bindings, at);
  DLCB_TRY(settle_dims(program, at));
  run_first_segment(program, bindings, at);
  find_failed_guard(program, at);
  pack_arena(program, at);
  return at;
}

Json evaluation_view(const bundle::Bundle& bundle, const Evaluation& at) {
  const fb::Program& program = bundle.program();
  Json inputs = Json::array(), outputs = Json::array();
  for (uint32_t i = 0; i < size_or_zero(program.inputs()); ++i)
    inputs.push_back(shape_json(*program.inputs()->Get(i), &at.input_dims[i], at));
  Json view = {{"accepted", !at.failed}, {"inputs", inputs}};
  if (at.failed) {
    view["refused"] = refusal_json(program, at);
    return view;
  }
  for (uint32_t i = 0; i < size_or_zero(program.outputs()); ++i)
    outputs.push_back(shape_json(*program.outputs()->Get(i), nullptr, at));
  view["outputs"] = outputs;
  view["weight_bytes"] = program.weight_bytes();
  if (at.arena_known) view["arena_bytes"] = at.arena_bytes;
  view["steps"] = thunks_view(bundle, &at)["steps"];
  return view;
}

std::string evaluation_text(const Json& view) {
  std::string text;
  auto shapes = [&](const Json& tensors, const char* label) {
    for (const Json& tensor : tensors) {
      std::vector<std::string> dims;
      for (const Json& dim : tensor["shape"]) dims.push_back(dim.is_string() ? dim.get<std::string>() : dim.dump());
      text += fmt::format("{:8} {}: {}[{}]\n", label, tensor["name"].get<std::string>(),
                          tensor["dtype"].get<std::string>(), join(dims, ", "));
    }
  };
  shapes(view["inputs"], "input");
  if (view.contains("refused")) {
    const Json& refused = view["refused"];
    text += "refused  " + refused["guard"].get<std::string>() + "\n";
    for (const Json& item : refused["shown"])
      text += fmt::format("           {} is {}\n", item["text"].get<std::string>(),
                          item["value"].is_string() ? item["value"].get<std::string>() : item["value"].dump());
    if (std::string why = refused["why"]; !why.empty()) text += "           " + why + "\n";
    if (std::string from = refused["from"]; !from.empty()) text += "           from " + from + "\n";
    return text;
  }
  shapes(view["outputs"], "output");
  text += "weights  " + bytes_text(view["weight_bytes"]) + "\n";
  text += "arena    " +
          (view.contains("arena_bytes") ? bytes_text(view["arena_bytes"]) : std::string("known only while running")) +
          "\n";
  return text + thunks_text(view);
}

}  // namespace dlcb::cmd
