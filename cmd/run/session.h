// One loaded bundle on one device, through the C interface that everybody else uses too.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cmd/run/port.h"
#include "cmd/tensor_io/tensor.h"

struct dlcb_model;
struct dlcb_context;

namespace dlcb::cmd {

class CudaMemory;

struct SessionOptions {
  std::string device = "auto";  // "cuda", "sim", or "auto": cuda if it can be opened, else sim
  std::optional<int> device_index;  // the first GPU
  std::string tf32 = "compiled";  // "on", "off", or as the bundle was compiled
  std::string sim_cache_dir;
  bool no_libraries = false;  // the bundle's stand-in kernels run in place of cuBLASLt and cuDNN
};

// Wall times in seconds.
struct BenchResult {
  double first = 0;           // the first call for this shape
  std::vector<double> calls;  // each waited for, in order
  double back_to_back = 0;    // per call, waiting only at the end
};

class Session {
 public:
  // `note` receives one line if "auto" had to fall back, saying why.
  static Result<std::unique_ptr<Session>> open(const std::string& path, const SessionOptions& options,
                                               std::string* note);
  ~Session();

  const std::string& device() const { return device_; }  // "cuda" or "sim"
  double load_seconds() const { return load_seconds_; }
  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs() const { return outputs_; }

  // Fills in the examples of the inputs.
  void find_examples();

  // `inputs` in the order of inputs(). Refused inputs are InputShape, InputType or GuardFailed errors.
  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs);
  // Inputs are put on the device first.
  Result<BenchResult> bench(std::span<const Tensor> inputs, int warm_up, int calls);

 private:
  Session() = default;
  struct Call;
  Status load(const std::string& path, const SessionOptions& options, bool on_cuda);
  void describe();
  Status invoke(Call& call);
  Status wait();
  Diagnostic failure(int status, const std::string& message) const;

  std::string path_, device_;
  double load_seconds_ = 0;
  dlcb_model* model_ = nullptr;
  dlcb_context* context_ = nullptr;
  std::unique_ptr<CudaMemory> cuda_;
  std::vector<Port> inputs_, outputs_;
};

}  // namespace dlcb::cmd
