// What shapes may be passed and what is checked: the summary, --dims and --guards.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "bundle_format/verify.h"
#include "cmd/common/units.h"
#include "cmd/inspect/names.h"
#include "cmd/inspect/view.h"

namespace dlcb::cmd {
namespace {

using bundle::size_or_zero;

std::string str(const Json& json) { return json.get<std::string>(); }

Json tensors_json(const flatbuffers::Vector<flatbuffers::Offset<fb::TensorInfo>>* tensors) {
  Json list = Json::array();
  if (tensors == nullptr) return list;
  for (const fb::TensorInfo* tensor : *tensors) {
    Json dims = Json::array();
    if (tensor->dims() != nullptr)
      for (const fb::Dim* dim : *tensor->dims()) dims.push_back(text_of(dim->text()));
    list.push_back({{"name", text_of(tensor->name())},
                    {"type", type_text(*tensor)},
                    {"dtype", dtype_text(tensor->dtype())},
                    {"dims", dims},
                    {"elements_read_by_host", tensor->host()}});
  }
  return list;
}

// Counts of steps by kind; a Matmul or Conv is a library call.
Json counts_json(const fb::Program& program) {
  uint32_t launches = 0, matmuls = 0, convolutions = 0, others = 0;
  if (program.steps() != nullptr)
    for (const fb::Step* step : *program.steps()) {
      switch (step->action_type()) {
        case fb::Action::Launch:
          ++launches;
          break;
        case fb::Action::Matmul:
          ++matmuls;
          break;
        case fb::Action::Conv:
          ++convolutions;
          break;
        default:
          ++others;
      }
    }
  return {{"kernel_launches", launches},
          {"matmuls", matmuls},
          {"convolutions", convolutions},
          {"other_steps", others},
          {"entry_points", size_or_zero(program.entries())}};
}

uint64_t code_bytes(const bundle::Bundle& bundle, std::string_view suffix) {
  uint64_t total = 0;
  for (const bundle::ZipEntry& entry : bundle.entries())
    if (std::string_view(entry.name).ends_with(suffix)) total += entry.size;
  return total;
}

const char* guard_kind(uint8_t kind) {
  constexpr const char* kKinds[] = {"model", "range", "literal", "size limit"};
  return kind < 4 ? kKinds[kind] : "other";
}

std::string tensor_lines(const Json& tensors, const char* label) {
  std::string text;
  for (const Json& tensor : tensors)
    text += fmt::format("{:8} {}: {}{}\n", label, str(tensor["name"]), str(tensor["type"]),
                        tensor["elements_read_by_host"].get<bool>() ? "  (elements are read by the host program)" : "");
  return text;
}

}  // namespace

Json summary_view(const bundle::Bundle& bundle, const std::string& path) {
  const fb::Program& program = bundle.program();
  Json targets = Json::array();
  if (program.targets() != nullptr)
    for (const auto* target : *program.targets()) targets.push_back(target->str());
  Json manifest = Json::parse(bundle.manifest(), nullptr, false);
  Json producer = manifest.is_object() && manifest.contains("producer") ? manifest["producer"] : Json();
  return {{"file", path},
          {"bundle_bytes", bundle.file().size()},
          {"producer", producer},
          {"targets", targets},
          {"inputs", tensors_json(program.inputs())},
          {"outputs", tensors_json(program.outputs())},
          {"guards", size_or_zero(program.guards())},
          {"steps", counts_json(program)},
          {"weight_bytes", program.weight_bytes()},
          {"external_weights", text_of(program.external_weights())},
          {"code_bytes", code_bytes(bundle, ".cubin")},
          {"source_bytes", code_bytes(bundle, ".cu")},
          {"uses_cublas", program.uses_cublas()},
          {"uses_cudnn", program.uses_cudnn()}};
}

std::string summary_text(const Json& view) {
  const Json& steps = view["steps"];
  std::vector<std::string> targets, libraries;
  for (const Json& target : view["targets"]) targets.push_back(str(target));
  if (view["uses_cublas"].get<bool>()) libraries.push_back("cuBLASLt");
  if (view["uses_cudnn"].get<bool>()) libraries.push_back("cuDNN");
  std::string text = fmt::format("{}: {} (weights {}, code {} for {}, sources {})\n", str(view["file"]),
                                 bytes_text(view["bundle_bytes"]), bytes_text(view["weight_bytes"]),
                                 bytes_text(view["code_bytes"]), join(targets, ", "), bytes_text(view["source_bytes"]));
  if (view["producer"].is_string()) text += fmt::format("made by  {}\n", str(view["producer"]));
  text += tensor_lines(view["inputs"], "input") + tensor_lines(view["outputs"], "output");
  uint32_t guards = view["guards"];
  text += guards == 0 ? "guards   none: every shape of the inputs above is accepted\n"
                      : fmt::format("guards   {} (--guards lists them)\n", guards);
  text += fmt::format(
      "steps    {} kernel launches ({} entry points), {} matrix multiplications, {} convolutions, {} other\n",
      steps["kernel_launches"].get<int>(), steps["entry_points"].get<int>(), steps["matmuls"].get<int>(),
      steps["convolutions"].get<int>(), steps["other_steps"].get<int>());
  text += fmt::format("loads    {}\n", libraries.empty() ? "no library" : join(libraries, ", "));
  if (!str(view["external_weights"]).empty()) text += "weights  in " + quote(str(view["external_weights"])) + "\n";
  return text;
}

Json dims_view(const bundle::Bundle& bundle) {
  const fb::Program& program = bundle.program();
  Json symbols = Json::array();
  if (program.symbols() != nullptr)
    for (const fb::Dim* symbol : *program.symbols()) {
      Json places = Json::array();
      for (uint32_t i = 0; i < size_or_zero(program.inputs()); ++i) {
        const fb::TensorInfo* input = program.inputs()->Get(i);
        for (uint32_t axis = 0; axis < size_or_zero(input->dims()); ++axis)
          if (text_of(input->dims()->Get(axis)->text()) == text_of(symbol->text()))
            places.push_back({{"input", text_of(input->name())}, {"axis", axis}});
      }
      Json ranges = Json::array();
      if (program.guards() != nullptr)
        for (const fb::Guard* guard : *program.guards())
          if (guard->kind() == 1 && guard->shown() != nullptr && guard->shown()->size() > 0 &&
              guard->shown()->Get(0)->reg() == symbol->reg())
            ranges.push_back(text_of(guard->text()));
      symbols.push_back({{"name", text_of(symbol->text())}, {"is", places}, {"ranges", ranges}});
    }
  return {
      {"symbols", symbols}, {"inputs", tensors_json(program.inputs())}, {"outputs", tensors_json(program.outputs())}};
}

std::string dims_text(const Json& view) {
  std::string text;
  for (const Json& symbol : view["symbols"]) {
    std::vector<std::string> places;
    for (const Json& place : symbol["is"])
      places.push_back(fmt::format("dim {} of input {}", place["axis"].get<int>(), quote(str(place["input"]))));
    text += fmt::format("{:8} {}", str(symbol["name"]), places.empty() ? "found while running" : join(places, ", "));
    for (const Json& range : symbol["ranges"]) text += "; " + str(range);
    text += "\n";
  }
  return text + tensor_lines(view["inputs"], "input") + tensor_lines(view["outputs"], "output");
}

Json guards_view(const bundle::Bundle& bundle) {
  Json guards = Json::array();
  if (bundle.program().guards() == nullptr) return {{"guards", guards}};
  for (const fb::Guard* guard : *bundle.program().guards()) {
    Json origins = Json::array();
    if (guard->origins() != nullptr)
      for (const fb::Origin* origin : *guard->origins())
        origins.push_back(
            {{"op", text_of(origin->op())}, {"node", text_of(origin->node())}, {"detail", text_of(origin->detail())}});
    guards.push_back({{"text", text_of(guard->text())},
                      {"kind", guard_kind(guard->kind())},
                      {"why", text_of(guard->why())},
                      {"input", guard->input()},
                      {"axis", guard->axis()},
                      {"segment", guard->segment()},
                      {"from", origins_text(guard->origins())},
                      {"origins", origins}});
  }
  return {{"guards", guards}};
}

std::string guards_text(const Json& view) {
  if (view["guards"].empty()) return "no guards: every shape of the inputs is accepted\n";
  std::string text;
  for (const Json& guard : view["guards"]) {
    text += str(guard["text"]);
    if (guard["segment"].get<uint32_t>() > 0) text += "  (checked while running)";
    text += "\n";
    std::string why = str(guard["why"]), from = str(guard["from"]);
    if (!why.empty()) text += "    " + why + "\n";
    if (!from.empty()) text += "    from " + from + "\n";
  }
  return text;
}

}  // namespace dlcb::cmd
