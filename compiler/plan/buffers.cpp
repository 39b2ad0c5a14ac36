#include "plan/buffers.h"

#include <algorithm>

#include "fuse/address.h"
#include "graph/constant.h"

namespace dlcb::plan {

using graph::Graph;
using ops::ValueId;

namespace {
constexpr uint64_t kWeightAlignment = 256;
}

Buffers::Buffers(const Graph& graph, std::span<const PlannedStep> steps, HostProgram& host)
    : graph_(graph), host_(host) {
  for (uint32_t i = 0; i < graph.inputs.size(); ++i) input_index_[graph.inputs[i].id] = i;
  for (const PlannedStep& s : steps) {
    if (const auto* alias = std::get_if<fuse::Alias>(&s.step.action)) alias_of_[alias->value.id] = alias->source;
  }
  for (uint32_t i = 0; i < graph.inputs.size(); ++i) add(graph.inputs[i]);
  add_outputs();
}

ValueId Buffers::root(ValueId v) const {
  for (auto it = alias_of_.find(v.id); it != alias_of_.end(); it = alias_of_.find(v.id)) v = it->second;
  return v;
}

uint32_t Buffers::number(ValueId v) const {
  auto it = by_root_.find(root(v).id);
  DLCB_CHECK(it != by_root_.end(), "no buffer for value " + graph_.value(v).name);
  return it->second;
}

sym::Expr Buffers::bytes_of(ValueId v) const {
  const graph::Value& value = graph_.value(v);
  sym::Store& sym = graph_.sym();
  return sym.mul(fuse::element_count(sym, value.dims), sym.constant(static_cast<int64_t>(size_of(value.dtype))));
}

uint32_t Buffers::add_weight(ValueId v) {
  const graph::Value& value = graph_.value(v);
  Weight weight{*value.constant, value.dtype, *graph::literal_dims(graph_.sym(), value.dims), value.order,
                (weight_bytes_ + kWeightAlignment - 1) / kWeightAlignment * kWeightAlignment};
  auto buffer = std::make_unique<fb::BufferT>();
  buffer->kind = fb::BufferKind::Weight;
  buffer->offset = weight.offset;
  buffer->size = value.constant->bytes.size();
  buffer->dtype = static_cast<uint8_t>(value.dtype);
  buffer->name = value.name;
  weight_bytes_ = weight.offset + buffer->size;
  weights_.push_back(std::move(weight));
  buffers_.push_back(std::move(buffer));
  return static_cast<uint32_t>(buffers_.size() - 1);
}

uint32_t Buffers::add(ValueId v) {
  const ValueId r = root(v);
  if (auto it = by_root_.find(r.id); it != by_root_.end()) return it->second;
  const graph::Value& value = graph_.value(r);
  if (value.constant) return by_root_[r.id] = add_weight(r);
  auto buffer = std::make_unique<fb::BufferT>();
  buffer->dtype = static_cast<uint8_t>(value.dtype);
  buffer->name = value.name;
  if (auto it = input_index_.find(r.id); it != input_index_.end()) {
    buffer->kind = fb::BufferKind::Input;
    buffer->index = it->second;
  } else {
    buffer->kind = fb::BufferKind::Arena;
    // In a branch that is not taken dims may come out negative.
    const sym::Expr bytes = bytes_of(r), zero = graph_.sym().constant(0);
    const bool always = !value.producer.valid() || graph_.sym().is_const(graph_.node(value.producer).predicate, 1);
    buffer->bytes_reg = host_.integer(always ? bytes : graph_.sym().max(bytes, zero));
    buffer->first_step = UINT32_MAX;
  }
  buffers_.push_back(std::move(buffer));
  return by_root_[r.id] = static_cast<uint32_t>(buffers_.size() - 1);
}

void Buffers::add_outputs() {
  for (uint32_t i = 0; i < graph_.outputs.size(); ++i) {
    const ValueId v = graph_.outputs[i];
    auto buffer = std::make_unique<fb::BufferT>();
    buffer->kind = fb::BufferKind::Output;
    buffer->index = i;
    buffer->bytes_reg = host_.integer(bytes_of(v));
    buffer->dtype = static_cast<uint8_t>(graph_.value(v).dtype);
    buffer->name = graph_.output_names[i];
    const bool computed = graph_.value(v).producer.valid() && root(v) == v && !by_root_.contains(v.id);
    buffers_.push_back(std::move(buffer));
    const auto number = static_cast<uint32_t>(buffers_.size() - 1);
    if (computed) {
      by_root_[v.id] = number;
    } else {
      copies_.push_back({add(v), number, bytes_of(v)});
    }
  }
}

uint32_t Buffers::add_workspace(const std::string& name, DType dtype, sym::Expr bytes, uint32_t step) {
  auto buffer = std::make_unique<fb::BufferT>();
  buffer->kind = fb::BufferKind::Workspace;
  buffer->dtype = static_cast<uint8_t>(dtype);
  buffer->name = name;
  buffer->bytes_reg = host_.integer(bytes);
  buffer->first_step = step;
  buffer->last_step = step + 1;
  buffers_.push_back(std::move(buffer));
  return static_cast<uint32_t>(buffers_.size() - 1);
}

void Buffers::touch(ValueId v, uint32_t step) { touch_number(add(v), step); }

void Buffers::touch_number(uint32_t number, uint32_t step) {
  fb::BufferT& buffer = *buffers_[number];
  if (buffer.kind != fb::BufferKind::Arena) return;
  buffer.first_step = std::min(buffer.first_step, step);
  buffer.last_step = std::max(buffer.last_step, step);
}

}  // namespace dlcb::plan
