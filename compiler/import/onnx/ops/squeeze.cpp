// Squeeze. Without axes it drops every dim of 1, so where a size is not known the result's rank is not either. A graph
// has one rank: what the model declares of the result says which dims its author had in mind; where it declares
// nothing, or nothing that is possible, a dim that is not known to be 1 stays. A guard holds the inputs to the choice.
#include <fmt/format.h>

#include "import/onnx/node_context.h"
#include "import/onnx/onnx.pb.h"
#include "import/onnx/ops/translators.h"

namespace dlcb::importer::onnx {
namespace {

using dlcb::onnx::TensorShapeProto;

// Dims from `i` on against declared dims from `j` on.
struct Match {
  int agreed = -1;  // dims that the declaration names or numbers as they are; -1: impossible
  bool unique = true;
  bool kept = false;  // whether dim `i` stays
};

class Matcher {
 public:
  Matcher(NodeContext& n, const Exprs& dims, const std::vector<sym::Tri>& ones, const TensorShapeProto& declared)
      : n_(n), dims_(dims), ones_(ones), declared_(declared) {}

  // Whether each dim stays; nothing if the declared result is impossible.
  std::optional<std::vector<bool>> kept() {
    const size_t rank = dims_.size(), left = static_cast<size_t>(declared_.dim_size());
    std::vector<std::vector<Match>> from(rank + 1, std::vector<Match>(left + 2));
    from[rank][left].agreed = 0;
    for (size_t i = rank; i-- > 0;)
      for (size_t j = 0; j <= left; ++j) from[i][j] = best(i, j, from[i + 1]);
    const Match& all = from[0][0];
    if (all.agreed < 0) return std::nullopt;
    if (!all.unique)
      n_.unsupported(fmt::format(
          "Squeeze without axes, where the declared result of rank {} does not say which dims are 1", left));
    std::vector<bool> kept;
    for (size_t i = 0, j = 0; i < rank; j += kept.back() ? 1 : 0, ++i) kept.push_back(from[i][j].kept);
    return kept;
  }

 private:
  Match best(size_t i, size_t j, const std::vector<Match>& after) {
    Match keep, drop;
    if (ones_[i] != sym::Tri::Yes && j < static_cast<size_t>(declared_.dim_size()) && fits(i, j)) {
      keep = after[j + 1];
      keep.kept = true;
      if (keep.agreed >= 0 && agrees(i, j)) ++keep.agreed;
    }
    if (ones_[i] != sym::Tri::No) drop = after[j];
    drop.kept = false;
    Match better = keep.agreed > drop.agreed ? keep : drop;
    if (keep.agreed == drop.agreed) better.unique = false;
    return better;
  }

  const TensorShapeProto::Dimension& declared(size_t j) const { return declared_.dim(static_cast<int>(j)); }
  sym::Tri is_declared(size_t i, size_t j) {
    return n_.graph().facts().prove(n_.sym().eq(dims_[i], n_.lit(declared(j).dim_value())));
  }
  bool stated(size_t j) const { return declared(j).has_dim_value() && declared(j).dim_value() >= 0; }
  bool fits(size_t i, size_t j) {
    return !stated(j) || (declared(j).dim_value() != 1 && is_declared(i, j) != sym::Tri::No);
  }
  bool agrees(size_t i, size_t j) {
    if (stated(j)) return is_declared(i, j) == sym::Tri::Yes;
    return sym::print(n_.sym(), dims_[i]) == declared(j).dim_param();
  }

  NodeContext& n_;
  const Exprs& dims_;
  const std::vector<sym::Tri>& ones_;
  const TensorShapeProto& declared_;
};

void squeeze_ones(NodeContext& n) {
  const ValueId x = n.in(0);
  const Exprs dims = n.dims(x);
  std::vector<sym::Tri> ones;
  for (const Expr d : dims) ones.push_back(n.graph().facts().prove(n.sym().eq(d, n.lit(1))));
  std::optional<std::vector<bool>> kept;
  if (const TensorShapeProto* declared = n.declared_shape(0)) kept = Matcher(n, dims, ones, *declared).kept();
  std::vector<int> dropped;
  for (int i = 0; i < n.rank(x); ++i) {
    const size_t at = static_cast<size_t>(i);
    const Expr one = n.sym().eq(dims[at], n.lit(1));
    if (kept ? !(*kept)[at] : ones[at] == sym::Tri::Yes) {
      dropped.push_back(i);
      if (ones[at] == sym::Tri::Unknown)
        n.require(one, "Squeeze has no axes, and the model declares a result without this dim, so it must be 1", 0, i);
    } else if (ones[at] == sym::Tri::Unknown) {
      n.require(n.sym().logical_not(one), "Squeeze without axes would drop a dim of 1, which would change the rank", 0,
                i);
    }
  }
  n.out(0, n.squeeze(x, dropped));
}

}  // namespace

void squeeze(NodeContext& n) {
  const auto axes = n.axes_operand(1);
  if (!axes || axes->empty()) return squeeze_ones(n);  // an empty list is none, as in onnxruntime
  n.out(0, n.squeeze(n.in(0), n.axes_of(*axes, n.rank(n.in(0)))));
}

}  // namespace dlcb::importer::onnx
