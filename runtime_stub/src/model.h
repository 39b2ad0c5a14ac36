// A loaded bundle on a device: what contexts share. Immutable after creation, so any number of threads may use it.
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bundle_format/reader.h"
#include "bundle_format/verify.h"
#include "runtime_stub/src/memory.h"

namespace dlcb::rt {

// The steps between two points where the host learns something: those up to and including the Read that starts the next
// segment. A stage is resolved as a whole, before its first step runs. Programs without a Read have one stage.
struct StageRange {
  uint32_t first_step = 0, end_step = 0;
  std::vector<uint32_t> buffers;  // Arena and Workspace buffers whose size this stage's segment settles
  std::vector<uint32_t> outputs;  // outputs whose dims it settles
  std::vector<uint32_t> guards;
};

class Model {
 public:
  // `device` has the bundle's modules loaded. Uploads the weights (a device of host memory uses them where they are).
  static Error create(std::shared_ptr<bundle::Bundle> bundle, std::shared_ptr<Device> device,
                      const dlcb_options& options, std::shared_ptr<Model>* out);
  // Opens the device that the options name.
  static Error load(std::shared_ptr<bundle::Bundle> bundle, const dlcb_options& options, std::shared_ptr<Model>* out);
  ~Model();

  const fb::Program& program() const { return bundle_->program(); }
  const bundle::Bundle& bundle() const { return *bundle_; }
  const dlcb_options& options() const { return options_; }
  Ptr weights() const { return weights_; }
  uint32_t inputs() const { return bundle::size_or_zero(program().inputs()); }
  uint32_t outputs() const { return bundle::size_or_zero(program().outputs()); }
  const std::vector<StageRange>& stages() const { return stages_; }
  uint32_t buffer_stage(uint32_t buffer) const { return buffer_stage_[buffer]; }

  // What a shape's key holds beyond dims: only alignments and elements that the host program asks for.
  bool uses_input_align(uint32_t input) const { return input_align_[input]; }
  bool uses_output_align(uint32_t output) const { return output_align_[output]; }
  uint32_t elements_read(uint32_t input) const { return elements_read_[input]; }  // the first so many

  // The device queue for a new context; `turns` is set to a mutex when contexts must take turns on one queue.
  std::shared_ptr<Device> queue(std::mutex** turns);

  // The entry's description for messages: "Conv '/enc/conv0' (kernel k3)".
  std::string region_text(uint32_t region) const;

  const std::vector<std::string>& input_dims(uint32_t input) const { return input_dims_[input]; }
  const std::vector<std::string>& output_dims(uint32_t output) const { return output_dims_[output]; }

 private:
  Model() = default;
  Error upload_weights();
  void index_program();
  void index_stages(const bundle::RegisterTable& registers);

  std::shared_ptr<bundle::Bundle> bundle_;
  std::shared_ptr<Device> device_;
  dlcb_options options_{};
  Ptr weights_ = 0;
  bool owns_weights_ = false;
  std::vector<StageRange> stages_;
  std::vector<uint32_t> buffer_stage_;
  std::vector<bool> input_align_, output_align_;
  std::vector<uint32_t> elements_read_;
  std::vector<std::vector<std::string>> input_dims_, output_dims_;
  std::mutex turns_;
};

}  // namespace dlcb::rt
