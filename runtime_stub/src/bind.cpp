// The part of a context's call that finds or makes memory: inputs, outputs, arenas.
#include <algorithm>

#include "runtime_stub/src/context.h"
#include "runtime_stub/src/refusal.h"

namespace dlcb::rt {
Error Context::bind_inputs(std::span<const DLTensor> inputs, void* stream) {
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    if (input_place_[i] == Place::Direct) {
      bases_[i] = address_of(inputs[i]);
      continue;
    }
    const uint64_t bytes = given_bytes(inputs[i]);
    if (bytes > input_staging_[i].capacity()) {
      DLCB_RT_TRY(input_staging_[i].reserve(memory_, bytes, input_text(*model_, i), stream));
    }
    bases_[i] = input_staging_[i].address();
    if (bytes > 0)
      DLCB_RT_TRY(device_->upload(bases_[i], reinterpret_cast<const void*>(address_of(inputs[i])), bytes, stream));
  }
  return {};
}

Error Context::bind_outputs(uint32_t stage_index, const Stage& stage, std::span<const DLTensor> inputs,
                            std::span<DLTensor> outputs, void* stream) {
  for (uint32_t o : model_->stages()[stage_index].outputs) {
    const std::vector<int64_t>& dims = stage.output_dims[o];
    const uint64_t bytes = *byte_size(dims, element_size(model_->program().outputs()->Get(o)->dtype()));
    Ptr& base = bases_[model_->inputs() + o];
    if (!outputs[o].data) {
      std::copy(dims.begin(), dims.end(), outputs[o].shape);
      DLCB_RT_TRY(bind_owned(o, bytes, inputs, outputs, stream));
      base = address_of(outputs[o]);
      continue;
    }
    DLCB_RT_TRY(check_output_shape(outputs[o], o, dims));
    base = address_of(outputs[o]);
    if (outputs_[o].staged) {
      if (bytes > outputs_[o].staging.capacity())
        DLCB_RT_TRY(outputs_[o].staging.reserve(memory_, bytes, output_text(*model_, o), stream));
      base = outputs_[o].staging.address();
    } else {
      DLCB_RT_TRY(check_overlap(inputs, outputs[o], o));
    }
  }
  return {};
}

// Memory of the context's own, other than what an input or another output of this call lies in.
Error Context::bind_owned(uint32_t index, uint64_t bytes, std::span<const DLTensor> inputs, std::span<DLTensor> outputs,
                          void* stream) {
  Output& mine = outputs_[index];
  const auto in_use = [&](const GrowBuffer& buffer) {
    const auto lies_in = [&](const DLTensor& t) {
      return overlap(buffer.address(), buffer.capacity(), address_of(t), given_bytes(t));
    };
    return std::ranges::any_of(inputs, lies_in) || std::ranges::any_of(outputs, lies_in);
  };
  if (in_use(mine.owned[mine.current])) mine.current ^= 1;
  GrowBuffer& buffer = mine.owned[mine.current];
  if (in_use(buffer))
    return {DLCB_BAD_ARGUMENT, "tensors of this call lie in what two earlier calls provided for " +
                                   output_text(*model_, index) + ": the older of them is no longer valid"};
  if (!buffer.address() || bytes > buffer.capacity())  // even an empty output gets an address
    DLCB_RT_TRY(buffer.reserve(memory_, std::max<uint64_t>(bytes, 1), output_text(*model_, index), stream));
  DLTensor& output = outputs[index];
  output.data = reinterpret_cast<void*>(buffer.address());
  output.device = {device_->is_host_memory() ? kDLCPU : kDLCUDA,
                   device_->is_host_memory() ? 0 : model_->options().device_index};
  output.dtype = to_dlpack(model_->program().outputs()->Get(index)->dtype());
  output.ndim = static_cast<int32_t>(model_->output_dims(index).size());
  output.strides = nullptr;
  output.byte_offset = 0;
  return {};
}

Error Context::bind_arena(uint32_t stage_index, const Stage& stage, void* stream) {
  bool grew = false;
  const Error error = arenas_[stage_index].reserve(memory_, stage.arena_peak, "intermediates", stream, &grew);
  if (grew) graphs_.clear();
  bases_[model_->inputs() + model_->outputs() + stage_index] = arenas_[stage_index].address();
  return error;
}

// The caller may reuse host memory as soon as the call returns.
Error Context::finish_outputs(std::span<const DLTensor> outputs, void* stream) {
  bool waited = false;
  for (uint32_t o = 0; o < outputs.size(); ++o) {
    if (!outputs_[o].staged) continue;
    const uint64_t bytes = given_bytes(outputs[o]);
    if (bytes == 0) continue;
    void* to = reinterpret_cast<void*>(address_of(outputs[o]));
    DLCB_RT_TRY(device_->download(to, bases_[model_->inputs() + o], bytes, stream));
    waited = true;
  }
  const bool uploaded = std::ranges::any_of(input_place_, [](Place place) { return place == Place::Staged; });
  return uploaded && !waited ? device_->synchronize(stream) : Error{};
}

}  // namespace dlcb::rt
