// See model.h. What the launch path would otherwise search for in each call is indexed here once.
#include "runtime_stub/src/model.h"

#include <algorithm>

namespace dlcb::rt {
namespace {

std::vector<std::vector<std::string>> dim_texts(
    const flatbuffers::Vector<flatbuffers::Offset<fb::TensorInfo>>* tensors) {
  std::vector<std::vector<std::string>> texts(bundle::size_or_zero(tensors));
  for (uint32_t i = 0; i < texts.size(); ++i)
    for (uint32_t d = 0; d < bundle::size_or_zero(tensors->Get(i)->dims()); ++d)
      texts[i].push_back(flatbuffers::GetString(tensors->Get(i)->dims()->Get(d)->text()));
  return texts;
}

}  // namespace

Error Model::create(std::shared_ptr<bundle::Bundle> bundle, std::shared_ptr<Device> device, const dlcb_options& options,
                    std::shared_ptr<Model>* out) {
  std::shared_ptr<Model> model(new Model);
  model->bundle_ = std::move(bundle);
  model->device_ = std::move(device);
  model->options_ = options;
  model->options_.sim_cache_dir = nullptr;  // the caller's string need not live on
  model->index_program();
  DLCB_RT_TRY(model->upload_weights());
  *out = std::move(model);
  return {};
}

Model::~Model() {
  if (owns_weights_) Memory(*device_, options_.allocator).free(weights_, nullptr);
}

Error Model::upload_weights() {
  const std::span<const uint8_t> bytes = bundle_->weights();
  if (bytes.empty()) return {};
  const bool mapped = reinterpret_cast<uint64_t>(bytes.data()) % 256 == 0 && !bundle_->from_memory();
  if (device_->is_host_memory() && mapped) {  // processes that run the same bundle share the page cache's copy
    weights_ = reinterpret_cast<Ptr>(bytes.data());
    return {};
  }
  DLCB_RT_TRY(Memory(*device_, options_.allocator).allocate(bytes.size(), "the weights", &weights_, nullptr));
  owns_weights_ = true;
  DLCB_RT_TRY(device_->upload(weights_, bytes.data(), bytes.size(), nullptr));
  return device_->synchronize(nullptr);
}

void Model::index_program() {
  const fb::Program& p = program();
  input_dims_ = dim_texts(p.inputs());
  output_dims_ = dim_texts(p.outputs());
  input_align_.assign(inputs(), false);
  output_align_.assign(outputs(), false);
  elements_read_.assign(inputs(), 0);
  for (uint32_t i = 0; i < bundle::size_or_zero(p.host()->code()); ++i) {
    const fb::Instr& in = *p.host()->code()->Get(i);
    if (in.op() == fb::Op::InputAlign) input_align_[in.a()] = true;
    if (in.op() == fb::Op::OutputAlign) output_align_[in.a()] = true;
    if (in.op() == fb::Op::InputElem) elements_read_[in.a()] = std::max(elements_read_[in.a()], in.b() + 1);
  }
  bundle::RegisterTable registers;
  if (!bundle::verify_host(p, &registers)) index_stages(registers);  // verified when the bundle was opened: no error
}

void Model::index_stages(const bundle::RegisterTable& registers) {
  const fb::Program& p = program();
  const std::vector<uint32_t>& starts = registers.segment_ready;
  const auto stage_of = [&](uint32_t reg) {
    const auto after = std::upper_bound(starts.begin(), starts.end(), registers.ready[reg]);
    return static_cast<uint32_t>(after - starts.begin()) - 1;
  };
  stages_.resize(starts.size());
  for (uint32_t k = 0; k < stages_.size(); ++k) {
    stages_[k].first_step = starts[k];
    stages_[k].end_step = k + 1 < starts.size() ? starts[k + 1] : bundle::size_or_zero(p.steps());
  }
  buffer_stage_.assign(bundle::size_or_zero(p.buffers()), 0);
  for (uint32_t b = 0; b < buffer_stage_.size(); ++b) {
    const fb::Buffer& buffer = *p.buffers()->Get(b);
    if (buffer.kind() != fb::BufferKind::Arena && buffer.kind() != fb::BufferKind::Workspace) continue;
    buffer_stage_[b] = stage_of(buffer.bytes_reg());
    stages_[buffer_stage_[b]].buffers.push_back(b);
  }
  for (uint32_t o = 0; o < outputs(); ++o) {
    uint32_t stage = 0;
    for (uint32_t d = 0; d < output_dims_[o].size(); ++d)
      stage = std::max(stage, stage_of(p.outputs()->Get(o)->dims()->Get(d)->reg()));
    stages_[stage].outputs.push_back(o);
  }
  for (uint32_t g = 0; g < bundle::size_or_zero(p.guards()); ++g)
    stages_[p.guards()->Get(g)->segment()].guards.push_back(g);
}

std::shared_ptr<Device> Model::queue(std::mutex** turns) {
  std::shared_ptr<Device> forked;
  *turns = nullptr;
  if (!device_->fork(&forked) && forked) return forked;
  *turns = &turns_;
  return device_;
}

std::string Model::region_text(uint32_t region) const {
  const auto* regions = program().regions();
  if (region >= bundle::size_or_zero(regions)) return "kernel " + std::to_string(region);
  const fb::Region& r = *regions->Get(region);
  std::string text = "kernel " + flatbuffers::GetString(r.name());
  if (bundle::size_or_zero(r.origins()) > 0) {
    const fb::Origin& o = *r.origins()->Get(0);
    text += " (" + flatbuffers::GetString(o.op()) + " '" + flatbuffers::GetString(o.node()) + "')";
  }
  return text;
}

}  // namespace dlcb::rt
