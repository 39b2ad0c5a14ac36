#include "library/residual.h"

#include <algorithm>
#include <unordered_set>

#include "fuse/order.h"
#include "library/epilogue.h"

namespace dlcb::library {
namespace {

using fuse::Claim;
using graph::Graph;
using ops::ValueId;

// What the first fusion keeps in memory.
class Stored {
 public:
  Stored(const Graph& graph, std::span<const fuse::Step> steps) : graph_(graph) {
    for (const fuse::Step& step : steps) {
      const std::vector<ValueId> written = fuse::writes(step);
      for (ValueId v : written) written_.insert(v.id);
      if (std::holds_alternative<fuse::Region>(step.action) && written.size() == 1) alone_.insert(written[0].id);
    }
  }
  bool holds(ValueId v) const { return !graph_.value(v).producer.valid() || written_.contains(v.id); }
  // Whether a kernel computes v and nothing else.
  bool has_own_kernel(ValueId v) const { return alone_.contains(v.id); }

 private:
  const Graph& graph_;
  std::unordered_set<uint32_t> written_, alone_;
};

// cuDNN passes convolutions of single pixels on to cuBLASLt, whose TF32 kernels add the residual on the way but mostly
// leave bias and ReLU to a second kernel then, which costs more than the sum does apart (docs/benchmarks.md).
bool makes_second_kernel(const Graph& graph, const Claim& claim) {
  const auto* conv = std::get_if<fuse::ConvCall>(&claim.call);
  if (!conv || graph.value(conv->out).dtype != DType::F32) return false;
  const bool strided = conv->stride[0] > 1 || conv->stride[1] > 1;
  const bool padded = std::any_of(std::begin(conv->pad), std::end(conv->pad), [](int64_t p) { return p > 0; });
  return conv->r == 1 && conv->s == 1 && !strided && !padded;
}

}  // namespace

bool take_residuals(Graph& graph, std::span<const fuse::Step> steps, std::vector<Claim>& claims) {
  const Stored stored(graph, steps);
  const auto users = graph.users();
  std::unordered_set<uint32_t> taken;
  // Of two products that are added, the later one takes the sum: the other is done by then.
  for (size_t c = claims.size(); c-- > 0;) {
    Claim wider = claims[c];
    EpilogueMatcher matcher(graph, users, wider);
    if (!has_epilogue(graph, wider) || !matcher.take_residual()) continue;
    matcher.take_bias();
    matcher.take_relu();
    const auto added = std::span(wider.nodes).subspan(claims[c].nodes.size());
    const bool saves_kernel = std::any_of(
        added.begin(), added.end(), [&](graph::NodeId n) { return stored.has_own_kernel(graph.node(n).outputs[0]); });
    if (!saves_kernel || !stored.holds(wider.epilogue().residual) || makes_second_kernel(graph, wider)) continue;
    if (taken.contains(added.front().id)) continue;
    for (graph::NodeId n : added) taken.insert(n.id);
    claims[c] = std::move(wider);
  }
  return !taken.empty();
}

}  // namespace dlcb::library
