// See driver.h.
#include "driver.h"

namespace dlcb::rt {
namespace {

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
