// See example.h. Guards are any integer conditions, so they are not solved but tried: first one size for everything
// that is free, then one size after the other, at last smaller ones.
#include "cmd/run/example.h"

#include <algorithm>
#include <span>

#include "bundle_format/eval.h"
#include "bundle_format/verify.h"

namespace dlcb::cmd {
namespace {

using bundle::size_or_zero;

constexpr int64_t kLargest = 1 << 16;  // of what is tried
constexpr size_t kMostTried = 100, kMostElements = 64;

class Search {
 public:
  explicit Search(const fb::Program& program) : program_(program), host_(*program.host()) {
    find_free();
    find_candidates();
  }

  Example run() {
    if (size_or_zero(host_.segment_starts()) == 0) return {dims_, values_};
    int64_t best = candidates_.front();
    size_t fewest = SIZE_MAX;
    for (int64_t c : candidates_) {
      for (int64_t* variable : variables_) *variable = c;
      if (const size_t n = broken(); n < fewest) fewest = n, best = c;
    }
    for (int64_t* variable : variables_) *variable = best;
    for (int round = 0; round < 3; ++round) {  // fewer broken guards, then smaller sizes
      for (int64_t* variable : variables_) {
        const int64_t before = *variable;
        int64_t chosen = before;
        for (int64_t c : candidates_) {
          *variable = c;
          const size_t n = broken();
          if (n < fewest || (n == fewest && c < chosen)) fewest = n, chosen = c;
        }
        *variable = chosen;
      }
    }
    broken();
    return {dims_, values_};
  }

 private:
  // A dim is free if its register is the dim itself; the others follow from free ones.
  void find_free() {
    const uint32_t inputs = size_or_zero(program_.inputs());
    dims_.resize(inputs);
    values_.assign(inputs, 1);
    for (uint32_t i = 0; i < inputs; ++i) dims_[i].assign(size_or_zero(program_.inputs()->Get(i)->dims()), 0);
    for (uint32_t i = 0; i < inputs; ++i) {
      const fb::TensorInfo& info = *program_.inputs()->Get(i);
      for (uint32_t axis = 0; axis < dims_[i].size(); ++axis)
        if (reads(info.dims()->Get(axis)->reg(), i, axis)) variables_.push_back(&dims_[i][axis]);
      if (info.host()) variables_.push_back(&values_[i]);
    }
  }

  bool reads(uint32_t reg, uint32_t input, uint32_t axis) const {
    for (uint32_t i = 0; i < size_or_zero(host_.code()); ++i) {
      const fb::Instr& instr = *host_.code()->Get(i);
      if (instr.dst() == reg) return instr.op() == fb::Op::InputDim && instr.a() == input && instr.b() == axis;
    }
    return false;
  }

  // What the guards compare with is likely to be a good size.
  void find_candidates() {
    candidates_ = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 224, 256, 512};
    for (uint32_t i = 0; i < size_or_zero(host_.constants()); ++i) {
      const int64_t bits = host_.constants()->Get(i);
      if (host_.reg_types()->Get(i) == fb::RegType::I64 && bits > 0 && bits <= kLargest) candidates_.push_back(bits);
    }
    std::sort(candidates_.begin(), candidates_.end());
    candidates_.erase(std::unique(candidates_.begin(), candidates_.end()), candidates_.end());
    if (candidates_.size() > kMostTried) candidates_.resize(kMostTried);
  }

  bundle::Registers evaluate() const {
    const std::vector<std::span<const int64_t>> dims(dims_.begin(), dims_.end());
    std::vector<std::vector<int64_t>> elements(dims_.size());
    for (size_t i = 0; i < dims_.size(); ++i)
      if (program_.inputs()->Get(static_cast<uint32_t>(i))->host()) elements[i].assign(kMostElements, values_[i]);
    const std::vector<std::span<const int64_t>> spans(elements.begin(), elements.end());
    const std::vector<int64_t> in(dims_.size(), 256), out(size_or_zero(program_.outputs()), 256);
    bundle::Registers registers(host_);
    bundle::run_segment(host_, 0, {dims, in, out, spans}, registers);
    return registers;
  }

  // How many guards do not hold, once the dims that are not free are what they must be.
  size_t broken() {
    size_t count = 0;
    const bundle::Registers first = evaluate();
    for (uint32_t i = 0; i < dims_.size(); ++i)
      for (uint32_t axis = 0; axis < dims_[i].size(); ++axis) {
        dims_[i][axis] = first[program_.inputs()->Get(i)->dims()->Get(axis)->reg()];
        count += dims_[i][axis] < 0;
      }
    const bundle::Registers registers = evaluate();
    for (uint32_t g = 0; g < size_or_zero(program_.guards()); ++g) {
      const fb::Guard& guard = *program_.guards()->Get(g);
      count += guard.segment() == 0 && (registers.lost(guard.reg()) || registers[guard.reg()] == 0);
    }
    return count;
  }

  const fb::Program& program_;
  const fb::HostProgram& host_;
  std::vector<std::vector<int64_t>> dims_;
  std::vector<int64_t> values_;
  std::vector<int64_t*> variables_;  // into the two
  std::vector<int64_t> candidates_;  // ascending
};

}  // namespace

Example example_call(const fb::Program& program) { return Search(program).run(); }

}  // namespace dlcb::cmd
