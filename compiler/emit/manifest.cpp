#include "emit/manifest.h"

#include <nlohmann/json.hpp>

#include "bundle_format/version.h"

namespace dlcb::emit {
namespace {

using Json = nlohmann::ordered_json;

Json tensors(const std::vector<std::unique_ptr<fb::TensorInfoT>>& list) {
  Json out = Json::array();
  for (const auto& t : list) {
    Json dims = Json::array();
    for (const auto& d : t->dims) dims.push_back(d->text);
    out.push_back({{"name", t->name}, {"dtype", name_of(static_cast<DType>(t->dtype))}, {"dims", dims}});
  }
  return out;
}

Json guards(const fb::ProgramT& program) {
  Json out = Json::array();
  for (const auto& g : program.guards) {
    Json from = Json::array();
    for (const auto& o : g->origins) from.push_back({{"op", o->op}, {"node", o->node}});
    out.push_back({{"condition", g->text}, {"why", g->why}, {"from", from}});
  }
  return out;
}

}  // namespace

std::string manifest_json(const EmitInput& in) {
  const fb::ProgramT& program = *in.plan->program;
  Json kernels = Json::array();
  for (const auto& e : program.entries) {
    kernels.push_back({{"name", e->name}, {"module", e->module_}});
  }
  Json symbols = Json::array();
  for (const auto& s : program.symbols) symbols.push_back(s->text);
  const Json manifest = {
      {"format", "dlcb"},
      {"format_version", bundle::kFormatVersion},
      {"producer", in.producer},
      {"model_digest", in.model_digest},
      {"targets", program.targets},
      {"inputs", tensors(program.inputs)},
      {"outputs", tensors(program.outputs)},
      {"dims", symbols},
      {"guards", guards(program)},
      {"kernels", kernels},
      {"steps", program.steps.size()},
      {"weight_bytes", program.weight_bytes},
      {"options",
       {{"tf32_matmul", program.tf32_matmul}, {"tf32_conv", program.tf32_conv}, {"sources", !in.strip_sources}}},
  };
  return manifest.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace dlcb::emit
