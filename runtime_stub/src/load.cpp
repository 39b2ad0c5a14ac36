// Opens the device that the options name with the code that the bundle has for it.
#include "runtime_stub/src/model.h"

namespace dlcb::rt {
namespace {

std::string param_codes(const fb::Entry& entry) {
  std::string codes;
  for (uint32_t i = 0; i < bundle::size_or_zero(entry.params()); ++i) {
    switch (static_cast<fb::ArgKind>(entry.params()->Get(i))) {
      case fb::ArgKind::BufferPtr:
        codes += kParamPointer;
        break;
      case fb::ArgKind::I32:
      case fb::ArgKind::U32:
        codes += kParam4Bytes;
        break;
      case fb::ArgKind::I64:
        codes += kParam8Bytes;
        break;
    }
  }
  return codes;
}

DeviceConfig config_of(const bundle::Bundle& bundle, const dlcb_options& options) {
  const fb::Program& p = bundle.program();
  DeviceConfig config;
  config.device_index = options.device_index;
  if (options.sim_cache_dir) config.sim_cache_dir = options.sim_cache_dir;
  const bool sim = options.device == DLCB_SIM;
  config.module_image = [&bundle, sim](uint32_t module, std::string_view target) {
    return sim ? bundle.source(module) : bundle.cubin(module, target);
  };
  for (uint32_t i = 0; i < bundle::size_or_zero(p.targets()); ++i) config.targets.push_back(p.targets()->Get(i)->str());
  for (uint32_t i = 0; i < bundle::size_or_zero(p.entries()); ++i) {
    const fb::Entry& e = *p.entries()->Get(i);
    config.entries.push_back({e.name()->str(), e.module_(), e.max_threads(), e.syncs(), param_codes(e)});
  }
  config.modules = p.modules();
  config.uses_cublas = p.uses_cublas();
  config.uses_cudnn = p.uses_cudnn();
  return config;
}

}  // namespace

Error Model::load(std::shared_ptr<bundle::Bundle> bundle, const dlcb_options& options, std::shared_ptr<Model>* out) {
  if (options.device != DLCB_CUDA && options.device != DLCB_SIM)
    return {DLCB_BAD_ARGUMENT, "options.device is neither DLCB_CUDA nor DLCB_SIM"};
  if (options.device == DLCB_SIM && bundle->program().modules() > 0 && bundle->source(0).empty())
    return {DLCB_NO_TARGET, "the bundle was stripped of its kernel sources, which the simulator needs"};
  std::shared_ptr<Device> device;
  const DeviceConfig config = config_of(*bundle, options);
  DLCB_RT_TRY(options.device == DLCB_SIM ? open_sim(config, &device) : open_cuda(config, &device));
  return create(std::move(bundle), std::move(device), options, out);
}

}  // namespace dlcb::rt
