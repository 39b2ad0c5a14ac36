// The part of a context's call that decides whether the caller's tensors can be used: type, shape, strides, address,
// and that nothing is written where something else is read or written.
#include <algorithm>

#include "base/limits.h"
#include "runtime_stub/src/context.h"
#include "runtime_stub/src/refusal.h"

namespace dlcb::rt {
namespace {

bool same_type(DLDataType a, DLDataType b) { return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes; }

// Kernels load and store whole elements: an address between two of them is a fault on a GPU, after which the process
// can use the GPU no more. Memory that would be copied first is held to the same rule, so that it is one on every
// device. The message wants the tensor's name in front.
Error check_alignment(const DLTensor& t, uint64_t element_bytes) {
  if (given_bytes(t) == 0 || address_of(t) % element_bytes == 0) return {};
  return {DLCB_BAD_ARGUMENT, " begins at an address (data + byte_offset) that is not a multiple of its " +
                                 std::to_string(element_bytes) + "-byte elements"};
}

}  // namespace

Error Context::check_inputs(std::span<const DLTensor> inputs, bool need_data) {
  if (inputs.size() != model_->inputs())
    return {DLCB_BAD_ARGUMENT, std::to_string(inputs.size()) + " inputs were given, but the model has " +
                                   std::to_string(model_->inputs())};
  for (uint32_t i = 0; i < inputs.size(); ++i) DLCB_RT_TRY(check_input(inputs[i], i, need_data));
  return {};
}

Error Context::check_input(const DLTensor& t, uint32_t index, bool need_data) {
  const fb::TensorInfo& info = *model_->program().inputs()->Get(index);
  const auto name = [&] { return input_text(*model_, index); };  // made for refusals only: most calls have none
  const DLDataType wanted = to_dlpack(info.dtype());
  if (!same_type(t.dtype, wanted))
    return {DLCB_INPUT_REFUSED,
            name() + " has element type " + dtype_name(t.dtype) + ", but " + dtype_name(wanted) + " is needed"};
  const uint32_t rank = bundle::size_or_zero(info.dims());
  if (t.ndim < 0 || static_cast<uint32_t>(t.ndim) != rank) {
    const std::string actual = t.ndim > 0 && t.ndim <= 32 && t.shape ? " " + text_of(dims_of(t)) : "";
    return {DLCB_INPUT_REFUSED,
            name() + actual + " has " + std::to_string(t.ndim) + " dims, but " + std::to_string(rank) + " are needed"};
  }
  if (rank > 0 && !t.shape) return {DLCB_BAD_ARGUMENT, name() + " has no array for its shape"};
  for (int32_t d = 0; d < t.ndim; ++d) {
    if (t.shape[d] >= 0 && t.shape[d] <= kLargestDim) continue;
    return {DLCB_INPUT_REFUSED, name() + " dim " + std::to_string(d) + " is " + std::to_string(t.shape[d]) +
                                    (t.shape[d] < 0 ? ", which is negative"
                                                    : ", but at most " + std::to_string(kLargestDim) + " is allowed")};
  }
  const auto bytes = byte_size(dims_of(t), element_size(info.dtype()));
  if (!bytes) return {DLCB_INPUT_REFUSED, name() + " has the impossible shape " + text_of(dims_of(t))};
  if (!is_compact(t))
    return {DLCB_INPUT_REFUSED, name() + " is not contiguous (strides " +
                                    text_of({t.strides, static_cast<size_t>(t.ndim)}) + " for shape " +
                                    text_of(dims_of(t)) + "); make it so first"};
  if (*bytes > 0 && !t.data && need_data) return {DLCB_BAD_ARGUMENT, name() + " has no data"};
  input_dims_[index] = dims_of(t);
  Error error = place_of(t, *device_, model_->options().device_index, &input_place_[index]);
  if (!error) error = check_alignment(t, element_size(info.dtype()));
  if (error) error.message = name() + error.message;
  return error;
}

Error Context::check_outputs(std::span<DLTensor> outputs) {
  if (outputs.size() != model_->outputs())
    return {DLCB_BAD_ARGUMENT, "room for " + std::to_string(outputs.size()) + " outputs was given, but the model has " +
                                   std::to_string(model_->outputs())};
  for (uint32_t o = 0; o < outputs.size(); ++o) DLCB_RT_TRY(check_output(outputs[o], o));
  for (uint32_t o = 0; o < outputs.size(); ++o)
    for (uint32_t earlier = 0; earlier < o; ++earlier)
      if (overlap(address_of(outputs[o]), given_bytes(outputs[o]), address_of(outputs[earlier]),
                  given_bytes(outputs[earlier])))
        return {DLCB_BAD_ARGUMENT,
                output_text(*model_, o) + " overlaps " + output_text(*model_, earlier) + " in memory"};
  return {};
}

// What can be said before dims are known. Outputs without data are described by us.
Error Context::check_output(DLTensor& t, uint32_t index) {
  Output& mine = outputs_[index];
  mine.staged = false;
  // What an earlier call filled in is not memory of the caller's: the same array may be passed again and again.
  const bool ours = std::ranges::any_of(
      mine.owned, [&](const GrowBuffer& b) { return b.address() && b.address() == reinterpret_cast<Ptr>(t.data); });
  if (ours) t.data = nullptr;
  const auto name = [&] { return output_text(*model_, index); };
  const size_t rank = model_->output_dims(index).size();
  if (rank > 0 && !t.shape) return {DLCB_BAD_ARGUMENT, name() + " has no array for its shape"};
  if (!t.data) return {};
  const DLDataType wanted = to_dlpack(model_->program().outputs()->Get(index)->dtype());
  if (!same_type(t.dtype, wanted))
    return {DLCB_INPUT_REFUSED,
            name() + " has element type " + dtype_name(t.dtype) + ", but the model makes " + dtype_name(wanted)};
  if (t.ndim < 0 || static_cast<size_t>(t.ndim) != rank)
    return {DLCB_INPUT_REFUSED,
            name() + " has " + std::to_string(t.ndim) + " dims, but the model makes " + std::to_string(rank)};
  if (!byte_size(dims_of(t), wanted.bits / 8))
    return {DLCB_INPUT_REFUSED, name() + " has the impossible shape " + text_of(dims_of(t))};
  if (!is_compact(t)) return {DLCB_INPUT_REFUSED, name() + " is not contiguous"};
  Place place;
  Error error = place_of(t, *device_, model_->options().device_index, &place);
  if (!error) error = check_alignment(t, wanted.bits / 8);
  if (error) error.message = name() + error.message;
  mine.staged = place == Place::Staged;
  return error;
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
Error Context::check_overlap(std::span<const DLTensor> inputs, const DLTensor& output, uint32_t index) const {
  for (uint32_t i = 0; i < inputs.size(); ++i)
    if (input_place_[i] == Place::Direct &&
        overlap(address_of(output), given_bytes(output), address_of(inputs[i]), given_bytes(inputs[i])))
      return {DLCB_BAD_ARGUMENT, output_text(*model_, index) + " overlaps " + input_text(*model_, i) + " in memory"};
  return {};
}

}  // namespace dlcb::rt
