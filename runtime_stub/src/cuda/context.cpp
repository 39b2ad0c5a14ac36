// See context.h.
#include "context.h"

#include "parameters.h"
#include "target.h"

namespace dlcb::rt {
namespace {
// Freed memory that the pool keeps for the next call instead of giving it back to the system.
constexpr uint64_t kPoolKeeps = uint64_t(1) << 30;
}  // namespace

Error CudaContext::open(const DeviceConfig& config, std::shared_ptr<CudaContext>* out) {
  const Driver* driver = nullptr;
  if (Error error = open_api(&driver)) return error;
  int count = 0;
  DLCB_CUDA_RETURN(*driver, cuDeviceGetCount, &count);
  if (config.device_index < 0 || config.device_index >= count)
    return {DLCB_BAD_ARGUMENT,
            "no CUDA device " + std::to_string(config.device_index) + ": there are " + std::to_string(count)};
  CUdevice device = 0;
  DLCB_CUDA_RETURN(*driver, cuDeviceGet, &device, config.device_index);

  auto made = std::make_shared<CudaContext>(*driver, device);
  char text[256] = "";
  DLCB_CUDA_RETURN(*driver, cuDeviceGetName, text, int(sizeof text), device);
  made->name = text;
  DLCB_CUDA_RETURN(*driver, cuDevicePrimaryCtxRetain, &made->context, device);
  CurrentContext current(*driver, made->context);
  if (Error error = made->load_modules(config)) return error;
  made->make_pool(config.device_index);
  *out = std::move(made);
  return {};
}

Error CudaContext::load_modules(const DeviceConfig& config) {
  if (config.modules == 0) return {};
  int major = 0, minor = 0;
  DLCB_CUDA_RETURN(driver, cuDeviceGetAttribute, &major, kAttributeComputeMajor, device);
  DLCB_CUDA_RETURN(driver, cuDeviceGetAttribute, &minor, kAttributeComputeMinor, device);
  const int chosen = choose_target(config.targets, major, minor);
  if (chosen < 0) {
    std::string have;
    for (auto& t : config.targets) have += (have.empty() ? "" : ", ") + t;
    return {DLCB_NO_TARGET, name + " is sm_" + std::to_string(major * 10 + minor) + "; the bundle has code for " +
                                (have.empty() ? "no device" : have)};
  }
  const std::string& target = config.targets[size_t(chosen)];
  for (uint32_t m = 0; m < config.modules; ++m) {
    const auto image = config.module_image(m, target);
    if (image.empty()) return {DLCB_BAD_BUNDLE, "module " + std::to_string(m) + " has no code for " + target};
    CUmodule module = nullptr;
    if (const CUresult r = driver.cuModuleLoadData(&module, image.data()))
      return driver.check(r, "cuModuleLoadData", "module " + std::to_string(m) + " for " + target);
    modules_.push_back(module);
  }
  for (const EntryInfo& info : config.entries) {
    if (info.module >= modules_.size()) return {DLCB_BAD_BUNDLE, info.name + " is in no module"};
    auto& entry = *entries.emplace_back(std::make_unique<Entry>());
    entry.name = info.name;
    if (const CUresult r = driver.cuModuleGetFunction(&entry.function, modules_[info.module], info.name.c_str()))
      return driver.check(r, "cuModuleGetFunction", info.name);
    if (Error error = check_parameters(driver, entry.function, info)) return error;
  }
  return {};
}

// A pool of our own: keeping freed memory in the device's default pool would be a decision for the whole process.
void CudaContext::make_pool(int ordinal) {
  int supported = 0;
  if (driver.cuDeviceGetAttribute(&supported, kAttributeMemoryPools, device) || !supported) return;
  CUmemPoolProps props{};
  props.allocation_type = 1;
  props.location_type = 1;
  props.location_id = ordinal;
  if (driver.cuMemPoolCreate(&pool, &props)) {
    pool = nullptr;
    return;
  }
  uint64_t keeps = kPoolKeeps;
  driver.cuMemPoolSetAttribute(pool, kPoolReleaseThreshold, &keeps);
}

CudaContext::~CudaContext() {
  if (!context) return;
  {
    CurrentContext current(driver, context);
    for (CUmodule m : modules_) driver.cuModuleUnload(m);
    if (pool) driver.cuMemPoolDestroy(pool);
  }
  driver.cuDevicePrimaryCtxRelease(device);
}

}  // namespace dlcb::rt
