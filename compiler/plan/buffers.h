// Which memory each tensor lives in. Values that alias share a buffer; arena buffers carry the steps between which they
// live.
#pragma once
#include <unordered_map>
#include <vector>

#include "plan/host_program.h"
#include "plan/plan.h"

namespace dlcb::plan {

// A graph output whose value is not computed by a step of its own (an input, a constant, another output again).
struct OutputCopy {
  uint32_t from, to;  // buffer numbers
  sym::Expr bytes;
};

class Buffers {
 public:
  // Numbers inputs and outputs; everything else gets its buffer when it is first touched.
  Buffers(const graph::Graph& graph, std::span<const PlannedStep> steps, HostProgram& host);

  // Program step `step` reads or writes v.
  void touch(ops::ValueId v, uint32_t step);
  void touch_number(uint32_t buffer, uint32_t step);

  // Memory for partial results, which `step` writes and the next one reads.
  uint32_t add_workspace(const std::string& name, DType dtype, sym::Expr bytes, uint32_t step);

  uint32_t number(ops::ValueId v) const;  // of a tensor that some step reads or writes
  bool has(ops::ValueId v) const { return by_root_.contains(root(v).id); }
  const std::vector<OutputCopy>& copies() const { return copies_; }

  // Moves the results out; call once, after all uses of number().
  std::vector<std::unique_ptr<fb::BufferT>> take_buffers() { return std::move(buffers_); }
  std::vector<Weight> take_weights() { return std::move(weights_); }
  uint64_t weight_bytes() const { return weight_bytes_; }

 private:
  ops::ValueId root(ops::ValueId v) const;
  uint32_t add(ops::ValueId v);
  uint32_t add_weight(ops::ValueId v);
  void add_outputs();
  sym::Expr bytes_of(ops::ValueId v) const;

  const graph::Graph& graph_;
  HostProgram& host_;
  std::unordered_map<uint32_t, ops::ValueId> alias_of_;
  std::unordered_map<uint32_t, uint32_t> by_root_;
  std::vector<std::unique_ptr<fb::BufferT>> buffers_;
  std::vector<OutputCopy> copies_;
  std::vector<Weight> weights_;
  uint64_t weight_bytes_ = 0;
  std::unordered_map<uint32_t, uint32_t> input_index_, output_index_;
};

}  // namespace dlcb::plan
