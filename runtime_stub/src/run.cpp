// The part of a context's call that makes the device work.
#include <algorithm>
#include <functional>

#include "runtime_stub/src/context.h"

namespace dlcb::rt {
namespace {

bool unsupported(const Error& error) { return error.status == DLCB_MISSING_LIBRARY || error.status == DLCB_NO_TARGET; }

// A library call, or the kernel that stands in for it once the library has refused.
template <class F>
Error library(Device& device, Call& call, void* stream, F run) {
  if (!call.use_fallback) {
    Error error = run();
    if (!unsupported(error)) return error;
    if (!call.has_fallback) {
      error.message += "; dlcbc --stand-ins makes a bundle that runs without the library";
      return error;
    }
    call.use_fallback = true;
  }
  return call.fallback ? device.launch(*call.fallback, stream) : Error{};
}

Error read(Device& device, const ReadCall& call, bundle::Registers* registers, void* stream) {
  int64_t value = 0;
  if (call.bytes > 0) {
    uint8_t element[8] = {};
    DLCB_RT_TRY(device.download(element, call.from, call.bytes, stream));
    value = element_as_int(element, call.dtype);
  }
  registers->set(call.dst, value);
  return {};
}

}  // namespace

Error run_call(Device& device, Call& call, bundle::Registers* registers, void* stream) {
  if (const auto* launch = std::get_if<LaunchCall>(&call.action)) return device.launch(*launch, stream);
  if (const auto* matmul = std::get_if<MatmulCall>(&call.action))
    return library(device, call, stream, [&] { return device.matmul(*matmul, stream); });
  if (const auto* conv = std::get_if<ConvCall>(&call.action))
    return library(device, call, stream, [&] { return device.conv(*conv, stream); });
  if (const auto* copy = std::get_if<CopyCall>(&call.action))
    return device.copy(copy->to, copy->from, copy->bytes, stream);
  return read(device, std::get<ReadCall>(call.action), registers, stream);
}

Error Context::run_calls(Stage& stage, bundle::Registers* registers, void* stream) {
  for (Call& call : stage.calls) DLCB_RT_TRY(run_call(*device_, call, registers, stream));
  return {};
}

Error Context::run_stage(Stage& stage, bundle::Registers* registers, void* stream) {
  if (!use_graphs_ || stage.calls.empty()) return run_calls(stage, registers, stream);
  auto direct = [&] { return run_calls(stage, registers, stream); };
  return graphs_.run(stage.id, bases_, stream, std::ref(direct));  // by reference: no allocation in each call
}

}  // namespace dlcb::rt
