// The part of a context's call that finds or makes memory: inputs, outputs, arenas.
#include <algorithm>

#include "runtime_stub/src/context.h"

namespace dlcb::rt {
namespace {

std::string output_text(const Model& model, uint32_t index) {
  return "output '" + model.program().outputs()->Get(index)->name()->str() + "'";
}

bool overlap(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes) {
  return a_bytes > 0 && b_bytes > 0 && a < b + b_bytes && b < a + a_bytes;
}

uint64_t bytes_of(const DLTensor& t) { return byte_size(dims_of(t), t.dtype.bits / 8).value_or(0); }

}  // namespace

// What can be said before dims are known. Outputs without data are described by us.
Error Context::check_outputs(std::span<DLTensor> outputs) {
  if (outputs.size() != model_->outputs())
    return {DLCB_BAD_ARGUMENT, "room for " + std::to_string(outputs.size()) + " outputs was given, but the model has " +
                                   std::to_string(model_->outputs())};
  for (uint32_t o = 0; o < outputs.size(); ++o) {
    DLTensor& t = outputs[o];
    const size_t rank = model_->output_dims(o).size();
    outputs_[o].staged = false;
    // What an earlier call filled in is not memory of the caller's: the same array may be passed again and again.
    const bool ours = std::ranges::any_of(outputs_[o].owned, [&](const GrowBuffer& b) {
      return b.address() && b.address() == reinterpret_cast<Ptr>(t.data);
    });
    if (ours) t.data = nullptr;
    if (rank > 0 && !t.shape) return {DLCB_BAD_ARGUMENT, output_text(*model_, o) + " has no array for its shape"};
    if (!t.data) continue;
    const DLDataType wanted = to_dlpack(model_->program().outputs()->Get(o)->dtype());
    if (t.dtype.code != wanted.code || t.dtype.bits != wanted.bits || t.dtype.lanes != wanted.lanes)
      return {DLCB_INPUT_REFUSED, output_text(*model_, o) + " has element type " + dtype_name(t.dtype) +
                                      ", but the model makes " + dtype_name(wanted)};
    if (t.ndim < 0 || static_cast<size_t>(t.ndim) != rank)
      return {DLCB_INPUT_REFUSED, output_text(*model_, o) + " has " + std::to_string(t.ndim) +
                                      " dims, but the model makes " + std::to_string(rank)};
    if (!byte_size(dims_of(t), wanted.bits / 8))
      return {DLCB_INPUT_REFUSED, output_text(*model_, o) + " has the impossible shape " + text_of(dims_of(t))};
    if (!is_compact(t)) return {DLCB_INPUT_REFUSED, output_text(*model_, o) + " is not contiguous"};
    Place place;
    if (Error error = place_of(t, *device_, model_->options().device_index, &place))
      return {error.status, output_text(*model_, o) + error.message};
    outputs_[o].staged = place == Place::Staged;
  }
  return {};
}

Error Context::check_output_shape(const DLTensor& t, uint32_t index, std::span<const int64_t> dims) const {
  for (size_t d = 0; d < dims.size(); ++d)
    if (t.shape[d] != dims[d])
      return {DLCB_INPUT_REFUSED, output_text(*model_, index) + " dim " + std::to_string(d) + " is " +
                                      std::to_string(t.shape[d]) + ", but this call makes " +
                                      model_->output_dims(index)[d] + " = " + std::to_string(dims[d])};
  return {};
}

// An output is written while inputs are still read.
Error Context::check_overlap(std::span<const DLTensor> inputs, const DLTensor& output, uint32_t index,
                             uint64_t bytes) const {
  for (uint32_t i = 0; i < inputs.size(); ++i)
    if (input_place_[i] == Place::Direct &&
        overlap(address_of(output), bytes, address_of(inputs[i]), bytes_of(inputs[i])))
      return {DLCB_BAD_ARGUMENT, output_text(*model_, index) + " overlaps input '" +
                                     model_->program().inputs()->Get(i)->name()->str() + "' in memory"};
  return {};
}

Error Context::bind_inputs(std::span<const DLTensor> inputs, void* stream) {
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    if (input_place_[i] == Place::Direct) {
      bases_[i] = address_of(inputs[i]);
      continue;
    }
    const uint64_t bytes = bytes_of(inputs[i]);
    if (bytes > input_staging_[i].capacity()) {
      const std::string what = "input '" + model_->program().inputs()->Get(i)->name()->str() + "'";
      DLCB_RT_TRY(input_staging_[i].reserve(memory_, bytes, what, stream));
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
      DLCB_RT_TRY(bind_owned(o, bytes, inputs, &outputs[o], stream));
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
      DLCB_RT_TRY(check_overlap(inputs, outputs[o], o, bytes));
    }
  }
  return {};
}

// Memory of the context's own, other than what an input of this call lies in.
Error Context::bind_owned(uint32_t index, uint64_t bytes, std::span<const DLTensor> inputs, DLTensor* output,
                          void* stream) {
  Output& mine = outputs_[index];
  const auto in_use = [&](const GrowBuffer& buffer) {
    return std::ranges::any_of(inputs, [&](const DLTensor& t) {
      return overlap(buffer.address(), buffer.capacity(), address_of(t), bytes_of(t));
    });
  };
  if (in_use(mine.owned[mine.current])) mine.current ^= 1;
  GrowBuffer& buffer = mine.owned[mine.current];
  if (!buffer.address() || bytes > buffer.capacity())  // even an empty output gets an address
    DLCB_RT_TRY(buffer.reserve(memory_, std::max<uint64_t>(bytes, 1), output_text(*model_, index), stream));
  output->data = reinterpret_cast<void*>(buffer.address());
  output->device = {device_->is_host_memory() ? kDLCPU : kDLCUDA,
                    device_->is_host_memory() ? 0 : model_->options().device_index};
  output->dtype = to_dlpack(model_->program().outputs()->Get(index)->dtype());
  output->ndim = static_cast<int32_t>(model_->output_dims(index).size());
  output->strides = nullptr;
  output->byte_offset = 0;
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
    const uint64_t bytes = bytes_of(outputs[o]);
    if (bytes == 0) continue;
    void* to = reinterpret_cast<void*>(address_of(outputs[o]));
    DLCB_RT_TRY(device_->download(to, bases_[model_->inputs() + o], bytes, stream));
    waited = true;
  }
  const bool uploaded = std::ranges::any_of(input_place_, [](Place place) { return place == Place::Staged; });
  return uploaded && !waited ? device_->synchronize(stream) : Error{};
}

}  // namespace dlcb::rt
