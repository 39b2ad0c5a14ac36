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

// Values that are in memory at some time.
class Stored {
 public:
  explicit Stored(const Graph& graph, std::span<const fuse::Step> steps) : graph_(graph) {
    for (const fuse::Step& step : steps) {
      for (ValueId v : fuse::writes(step)) written_.insert(v.id);
    }
  }
  bool operator()(ValueId v) const { return !graph_.value(v).producer.valid() || written_.contains(v.id); }

 private:
  const Graph& graph_;
  std::unordered_set<uint32_t> written_;
};

}  // namespace

bool take_residuals(Graph& graph, std::span<const fuse::Step> steps, std::vector<Claim>& claims) {
  const Stored stored(graph, steps);
  const auto users = graph.users();
  std::unordered_set<uint32_t> taken;
  // Of two products that are added, the later one takes the sum: the other is done by then.
  for (size_t c = claims.size(); c-- > 0;) {
    Claim wider = claims[c];
    EpilogueMatcher matcher(graph, users, wider);
    if (!has_epilogue(graph, wider) || !matcher.take_residual() || !stored(wider.epilogue().residual)) continue;
    matcher.take_bias();
    matcher.take_relu();
    const auto added = std::span(wider.nodes).subspan(claims[c].nodes.size());
    if (taken.contains(added.front().id)) continue;
    if (std::none_of(added.begin(), added.end(), [&](graph::NodeId n) { return stored(graph.node(n).outputs[0]); }))
      continue;
    for (graph::NodeId n : added) taken.insert(n.id);
    claims[c] = std::move(wider);
  }
  return !taken.empty();
}

}  // namespace dlcb::library
