#include "driver.h"

namespace dlcb::rt {
namespace {

struct Opened {
  Driver driver;
  Error error;

  Opened() : error(load()) {}
  Error load() {
    Library library;
    if (Error e = library.open({"libcuda.so.1", "libcuda.so"})) return e;
#define DLCB_CUDA(NAME, SYMBOL, PARAMETERS) \
  if (Error e = library.find(SYMBOL, &driver.NAME)) return e;
#include "driver.def"
#undef DLCB_CUDA
    return driver.check(driver.cuInit(0), "cuInit");
  }
};

int status_of(CUresult result) {
  switch (result) {
    case kCudaErrorOutOfMemory:
      return DLCB_OUT_OF_MEMORY;
    case kCudaErrorNoBinaryForGpu:
      return DLCB_NO_TARGET;
    case kCudaErrorInvalidImage:
      return DLCB_BAD_BUNDLE;
    default:
      return DLCB_DEVICE_ERROR;
  }
}

}  // namespace

Error Driver::open(const Driver** out) {
  static const Opened opened;
  *out = &opened.driver;
  return opened.error;
}

Error Driver::check(CUresult result, const char* call, const std::string& about) const {
  if (result == 0) return {};
  const char *name = nullptr, *text = nullptr;
  cuGetErrorName(result, &name);
  cuGetErrorString(result, &text);
  std::string message = call;
  if (!about.empty()) message += " of " + about;
  message += std::string(": ") + (text ? text : "unknown error") + " (" + (name ? name : std::to_string(result)) + ")";
  return {status_of(result), std::move(message)};
}

}  // namespace dlcb::rt
