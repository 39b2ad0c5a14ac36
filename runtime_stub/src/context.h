// One caller's working state: the arena, staging memory, memoised shapes and graphs, and the flow of a call.
#pragma once
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "runtime_stub/src/graph_cache.h"
#include "runtime_stub/src/model.h"
#include "runtime_stub/src/shape_memo.h"
#include "runtime_stub/src/tensor.h"

namespace dlcb::rt {

// Serves one thread at a time; different contexts of a model may run at the same time.
class Context {
 public:
  explicit Context(std::shared_ptr<Model> model);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // See dlcb_resolve and dlcb_invoke.
  Error resolve(std::span<const DLTensor> inputs, int64_t* const* out_shapes, size_t* out_workspace_bytes);
  Error invoke(std::span<const DLTensor> inputs, std::span<DLTensor> outputs, void* stream);

  std::string last_error;
  size_t shapes_known() const { return memo_.size(); }
  size_t graphs_held() const { return graphs_.size(); }

 private:
  struct Output {
    GrowBuffer owned[2];  // two, because a call's input may be the previous call's output
    int current = 0;
    GrowBuffer staging;
    bool staged = false;  // in this call: goes to host memory of the caller
  };

  Error check_inputs(std::span<const DLTensor> inputs, bool need_data);
  Error check_input(const DLTensor& t, uint32_t index, bool need_data);
  Error check_outputs(std::span<DLTensor> outputs);
  Error check_output(DLTensor& t, uint32_t index);
  Error check_output_shape(const DLTensor& t, uint32_t index, std::span<const int64_t> dims) const;
  Error check_overlap(std::span<const DLTensor> inputs, const DLTensor& output, uint32_t index) const;
  Error read_elements(std::span<const DLTensor> inputs, void* stream);
  void measure_alignments(std::span<const DLTensor> inputs, std::span<const DLTensor> outputs);
  void start_key(std::span<const DLTensor> inputs);
  Error find_stage(uint32_t index, const Stage* previous, const bundle::Registers& registers, Stage** out);

  Error switch_stream(void* stream);
  Error bind_inputs(std::span<const DLTensor> inputs, void* stream);
  Error bind_outputs(uint32_t stage_index, const Stage& stage, std::span<const DLTensor> inputs,
                     std::span<DLTensor> outputs, void* stream);
  Error bind_owned(uint32_t index, uint64_t bytes, std::span<const DLTensor> inputs, std::span<DLTensor> outputs,
                   void* stream);
  Error bind_arena(uint32_t stage_index, const Stage& stage, void* stream);
  Error run_stage(Stage& stage, bundle::Registers* registers, void* stream);
  Error run_calls(Stage& stage, bundle::Registers* registers, void* stream);
  Error finish_outputs(std::span<const DLTensor> outputs, void* stream);

  std::shared_ptr<Model> model_;
  std::mutex* turns_ = nullptr;  // held during a call when the device queue is shared
  std::shared_ptr<Device> device_;
  Memory memory_;
  ShapeMemo memo_;
  GraphCache graphs_;
  bool use_graphs_;

  std::vector<GrowBuffer> arenas_;         // by stage
  std::vector<GrowBuffer> input_staging_;  // by input
  std::vector<Output> outputs_;
  bundle::Registers constants_;  // before segment 0

  // Of the call being served.
  std::vector<Ptr> bases_;  // inputs, outputs, arenas
  std::vector<Place> input_place_;
  std::vector<std::span<const int64_t>> input_dims_;
  std::vector<int64_t> input_align_, output_align_;
  std::vector<std::vector<int64_t>> elements_;
  std::vector<std::span<const int64_t>> element_spans_;
  std::vector<int64_t> key_;

  void* last_stream_ = nullptr;
  bool ran_ = false;
};

// Calls of a stage in order; what Reads deliver goes to *registers.
Error run_call(Device& device, Call& call, bundle::Registers* registers, void* stream);

}  // namespace dlcb::rt
