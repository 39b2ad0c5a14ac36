// The one entry point of libdlcb_sim.so: a device that runs a bundle's kernel sources on the host. It exists to test
// every generated kernel without a GPU and to let a newcomer run a bundle anywhere.
//
// Environment: CXX, DLCB_SIM_THREADS=N, DLCB_SIM_RACE_CHECK=1 (race_check.h), DLCB_SIM_ASAN=1 (module_cache.h),
// DLCB_SIM_REFERENCE=1 (library steps as plain loops instead of oneDNN).
#pragma once
#include <memory>

#include "runtime_stub/src/device.h"

// The library must be built with the same standard library ABI as its user, and stay loaded while any device lives.
// Returns error->status; never throws.
extern "C" int dlcb_sim_open(const dlcb::rt::DeviceConfig* config, std::shared_ptr<dlcb::rt::Device>* out,
                             dlcb::rt::Error* error);
