// Models on the fake device, and tensors to call them with.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "bundle/sample.h"
#include "fake_device.h"
#include "runtime_stub/src/context.h"

namespace dlcb::test {

// A tensor in host memory of its own. `kind` says where the core shall believe it to be.
template <class T>
struct Tensor {
  std::vector<T> values;
  std::vector<int64_t> shape;
  DLTensor dl{};

  Tensor(std::vector<int64_t> dims, std::vector<T> data, DLDataType type, DLDeviceType kind = kDLCUDA)
      : values(std::move(data)), shape(std::move(dims)) {
    dl = {values.data(), {kind, 0}, static_cast<int32_t>(shape.size()), type, shape.data(), nullptr, 0};
  }
  Tensor(const Tensor&) = delete;
};

constexpr DLDataType kF32 = {kDLFloat, 32, 1}, kI64 = {kDLInt, 64, 1};

inline Tensor<float> floats(std::vector<int64_t> dims, float fill, DLDeviceType kind = kDLCUDA) {
  size_t n = 1;
  for (int64_t d : dims) n *= static_cast<size_t>(std::max<int64_t>(d, 0));
  return Tensor<float>(std::move(dims), std::vector<float>(n, fill), kF32, kind);
}

// An output that the context is to provide.
struct Empty {
  std::vector<int64_t> shape;
  DLTensor dl{};
  explicit Empty(size_t rank) : shape(rank, -7) { dl.shape = shape.data(); }
};

struct Harness {
  std::shared_ptr<FakeState> state = std::make_shared<FakeState>();
  dlcb_options options{};
  std::vector<uint8_t> bytes;
  std::shared_ptr<rt::Model> model;

  Harness() { dlcb_options_init(&options); }
  rt::Error load(const ProgramBuilder& program);
  std::unique_ptr<rt::Context> context() { return std::make_unique<rt::Context>(model); }
  size_t count(const std::string& line) const {
    return static_cast<size_t>(std::count(state->log.begin(), state->log.end(), line));
  }
};

// The sample program with working kernels: t = x + W[0..3], y = 2 * t (W is read as bytes 0 1 2).
void add_sample_kernels(FakeState& state);
template <class T>
T* pointer(const rt::LaunchCall& call, size_t index) {
  return reinterpret_cast<T*>(call.args[index]);
}

}  // namespace dlcb::test
