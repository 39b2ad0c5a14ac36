// The flow of a call. Tensors are checked in check.cpp, memory is found in bind.cpp, work is launched in run.cpp.
#include "runtime_stub/src/context.h"

#include <algorithm>

#include "bundle_format/packing.h"
#include "runtime_stub/src/refusal.h"

namespace dlcb::rt {
namespace {

constexpr size_t kShapesKept = 256;
}  // namespace

Context::Context(std::shared_ptr<Model> model)
    : model_(std::move(model)),
      device_(model_->queue(&turns_)),
      memory_(*device_, model_->options().allocator),
      memo_(kShapesKept),
      graphs_(device_, static_cast<size_t>(std::max(0, model_->options().graph_cache_entries))),
      use_graphs_(model_->options().use_graphs && model_->stages().size() == 1 && device_->supports_graphs()),
      arenas_(model_->stages().size()),
      input_staging_(model_->inputs()),
      outputs_(model_->outputs()),
      constants_(*model_->program().host()),
      bases_(model_->inputs() + model_->outputs() + model_->stages().size(), 0),
      input_place_(model_->inputs(), Place::Direct),
      input_dims_(model_->inputs()),
      input_align_(model_->inputs(), 256),
      output_align_(model_->outputs(), 256),
      elements_(model_->inputs()),
      element_spans_(model_->inputs()) {}

Context::~Context() {
  const auto lock = turns_ ? std::unique_lock(*turns_) : std::unique_lock<std::mutex>();
  if (ran_ && device_->synchronize(last_stream_)) ran_ = false;  // nothing more can be done about it here
  graphs_.clear();
  for (GrowBuffer& arena : arenas_) arena.release(memory_, last_stream_);
  for (GrowBuffer& staging : input_staging_) staging.release(memory_, last_stream_);
  for (Output& output : outputs_)
    for (GrowBuffer* buffer : {&output.owned[0], &output.owned[1], &output.staging})
      buffer->release(memory_, last_stream_);
}

// The values that the host program reads: the first elements_read() elements of each such input.
Error Context::read_elements(std::span<const DLTensor> inputs, void* stream) {
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    if (model_->elements_read(i) == 0) continue;
    const uint8_t dtype = model_->program().inputs()->Get(i)->dtype();
    const uint64_t count = std::min<uint64_t>(model_->elements_read(i), *byte_size(input_dims_[i], 1));
    elements_[i].assign(count, 0);
    if (count > 0 && !inputs[i].data)
      return {DLCB_BAD_ARGUMENT, input_text(*model_, i) + " needs its data, because shapes depend on its values"};
    const void* data = reinterpret_cast<const void*>(address_of(inputs[i]));
    std::vector<uint8_t> copy;
    const bool on_host = device_->is_host_memory() || input_place_[i] == Place::Staged;
    if (count > 0 && !on_host) {
      copy.resize(count * element_size(dtype));
      DLCB_RT_TRY(device_->download(copy.data(), address_of(inputs[i]), copy.size(), stream));
      data = copy.data();
    }
    for (uint64_t e = 0; e < count; ++e) elements_[i][e] = integer_at(data, dtype, e);
    element_spans_[i] = elements_[i];
  }
  return {};
}

void Context::measure_alignments(std::span<const DLTensor> inputs, std::span<const DLTensor> outputs) {
  for (uint32_t i = 0; i < inputs.size(); ++i)
    input_align_[i] = input_place_[i] == Place::Direct ? bundle::alignment_of(address_of(inputs[i])) : 256;
  for (uint32_t o = 0; o < model_->outputs(); ++o)
    output_align_[o] = o < outputs.size() && !outputs_[o].staged ? bundle::alignment_of(address_of(outputs[o])) : 256;
}

// The key of stage 0; later stages append their number and the values read.
void Context::start_key(std::span<const DLTensor> inputs) {
  key_.assign(1, 0);
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    key_.insert(key_.end(), input_dims_[i].begin(), input_dims_[i].end());
    if (model_->uses_input_align(i)) key_.push_back(input_align_[i]);
    key_.insert(key_.end(), elements_[i].begin(), elements_[i].end());
  }
  for (uint32_t o = 0; o < model_->outputs(); ++o)
    if (model_->uses_output_align(o)) key_.push_back(output_align_[o]);
}

Error Context::find_stage(uint32_t index, const Stage* previous, const bundle::Registers& registers, Stage** out) {
  *out = memo_.find(key_);
  if (*out) return {};
  const StageInput input{{input_dims_, input_align_, output_align_, element_spans_},
                         input_dims_,
                         registers,
                         previous ? std::span<const uint64_t>(previous->offsets) : std::span<const uint64_t>()};
  std::unique_ptr<Stage> made;
  DLCB_RT_TRY(resolve_stage(*model_, index, input, &made));
  *out = memo_.insert(key_, std::move(made));
  return {};
}

Error Context::resolve(std::span<const DLTensor> inputs, int64_t* const* out_shapes, size_t* out_workspace_bytes) {
  const auto lock = turns_ ? std::unique_lock(*turns_) : std::unique_lock<std::mutex>();
  DLCB_RT_TRY(check_inputs(inputs, /*need_data=*/false));
  DLCB_RT_TRY(read_elements(inputs, nullptr));
  for (Output& output : outputs_) output.staged = false;
  measure_alignments(inputs, {});
  start_key(inputs);
  Stage* stage = nullptr;
  DLCB_RT_TRY(find_stage(0, nullptr, constants_, &stage));
  for (uint32_t o = 0; out_shapes && o < model_->outputs(); ++o) {
    const std::vector<int64_t>& dims = stage->output_dims[o];
    const size_t rank = model_->output_dims(o).size();
    for (size_t d = 0; out_shapes[o] && d < rank; ++d) out_shapes[o][d] = d < dims.size() ? dims[d] : -1;
  }
  if (out_workspace_bytes) *out_workspace_bytes = bundle::arena_capacity(stage->arena_peak);
  return {};
}

// Memory of this context may still be in use by what it launched on another stream.
Error Context::switch_stream(void* stream) {
  if (ran_ && stream != last_stream_) DLCB_RT_TRY(device_->synchronize(last_stream_));
  last_stream_ = stream;
  ran_ = true;
  return {};
}

Error Context::invoke(std::span<const DLTensor> inputs, std::span<DLTensor> outputs, void* stream) {
  const auto lock = turns_ ? std::unique_lock(*turns_) : std::unique_lock<std::mutex>();
  DLCB_RT_TRY(check_inputs(inputs, /*need_data=*/true));
  DLCB_RT_TRY(check_outputs(outputs));
  DLCB_RT_TRY(switch_stream(stream));
  DLCB_RT_TRY(read_elements(inputs, stream));
  measure_alignments(inputs, outputs);
  start_key(inputs);
  Stage* stage = nullptr;
  DLCB_RT_TRY(find_stage(0, nullptr, constants_, &stage));
  for (uint32_t k = 0;; ++k) {
    DLCB_RT_TRY(bind_outputs(k, *stage, inputs, outputs, stream));
    DLCB_RT_TRY(bind_arena(k, *stage, stream));
    if (k == 0) DLCB_RT_TRY(bind_inputs(inputs, stream));
    stage->apply(bases_);
    bundle::Registers registers;
    if (k + 1 < model_->stages().size()) registers = stage->registers;
    DLCB_RT_TRY(run_stage(*stage, &registers, stream));
    if (k + 1 == model_->stages().size()) break;
    key_.push_back(k + 1);
    for (const Call& call : stage->calls)
      if (const auto* read = std::get_if<ReadCall>(&call.action)) key_.push_back(registers[read->dst]);
    DLCB_RT_TRY(find_stage(k + 1, stage, registers, &stage));
  }
  return finish_outputs(outputs, stream);
}

}  // namespace dlcb::rt
