// See harness.h.
#include "harness.h"

#include <stdexcept>

namespace dlcb::test {

rt::Error Harness::load(const ProgramBuilder& program) {
  bytes = make_bundle(program);
  std::shared_ptr<bundle::Bundle> bundle;
  if (bundle::Error error = bundle::Bundle::open_memory(bytes, &bundle)) throw std::runtime_error(error.message);
  return rt::Model::create(bundle, std::make_shared<FakeDevice>(state), options, &model);
}

void add_sample_kernels(FakeState& state) {
  state.kernels = {
      [](const rt::LaunchCall& call) {  // x, W, t, elements
        for (uint64_t i = 0; i < call.args[3]; ++i)
          pointer<float>(call, 2)[i] = pointer<float>(call, 0)[i] + pointer<uint8_t>(call, 1)[i % 3];
      },
      [](const rt::LaunchCall& call) {  // t, y, elements
        for (uint64_t i = 0; i < call.args[2]; ++i) pointer<float>(call, 1)[i] = 2 * pointer<float>(call, 0)[i];
      },
  };
}

}  // namespace dlcb::test
