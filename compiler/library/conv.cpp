#include "fuse/address.h"
#include "library/claim.h"

namespace dlcb::library {
namespace {

using fuse::ConvCall;
using graph::Graph;
using graph::Node;

// Channels last: {0, 2, 3, 1} or {0, 2, 1}. A tensor with one pixel or one channel is stored the same either way, but
// the layout pass names it so all the same.
bool is_channels_last(const graph::Value& v) {
  const size_t rank = v.dims.size();
  if (v.order.size() != rank || v.order[0] != 0 || v.order[rank - 1] != 1) return false;
  for (size_t i = 1; i + 1 < rank; ++i) {
    if (v.order[i] != i + 1) return false;
  }
  return true;
}

// Reads a spatial attribute of one or two entries as (height, width); height of 1-D convolutions is `missing`.
void spatial(const std::vector<int64_t>& from, int64_t missing, int64_t (&to)[2]) {
  to[0] = from.size() == 2 ? from[0] : missing;
  to[1] = from.empty() ? missing : from.back();
}

// False when a padding is known at run time only, or negative (it then cuts), which no library takes.
bool literal_padding(const sym::Store& sym, const ops::Attrs& attrs, bool flat, int64_t (&pad)[4]) {
  for (int side : {0, 1}) {
    const std::vector<sym::Expr> exprs = attrs.exprs(side == 0 ? "lo" : "hi");
    std::vector<int64_t> values(flat ? 1 : 2, 0);
    for (size_t i = 0; i < exprs.size() && i < values.size(); ++i) {
      const auto value = sym.as_const(exprs[i]);
      if (!value || *value < 0) return false;
      values[i] = *value;
    }
    pad[2 * side] = flat ? 0 : values[0];
    pad[2 * side + 1] = values.back();
  }
  return true;
}

// Whether the window fits into the padding, so that an input without pixels has a result.
bool padding_suffices(const ConvCall& call) {
  return call.pad[0] + call.pad[2] > (call.r - 1) * call.dilation[0] ||
         call.pad[1] + call.pad[3] > (call.s - 1) * call.dilation[1];
}

}  // namespace

bool is_depthwise(const Graph& graph, const Node& conv) {
  const int64_t groups = conv.attrs.integer("group", 1);
  const graph::Value& w = graph.value(conv.inputs[1]);
  return groups > 1 && graph.sym().is_const(w.dims[1], 1) && graph.sym().is_const(w.dims[0], groups);
}

bool may_be_refused(const fuse::Claim& claim) {
  const auto* call = std::get_if<ConvCall>(&claim.call);
  if (!call) return false;
  const bool uneven = call->pad[0] != call->pad[2] || call->pad[1] != call->pad[3];
  const bool strided = call->stride[0] > 1 || call->stride[1] > 1,
             dilated = call->dilation[0] > 1 || call->dilation[1] > 1;
  return call->transposed || call->groups > 1 || uneven || (strided && dilated) || padding_suffices(*call);
}

std::optional<ConvCall> match_conv(Graph& graph, const Node& node) {
  sym::Store& sym = graph.sym();
  const graph::Value& x = graph.value(node.inputs[0]);
  const graph::Value& w = graph.value(node.inputs[1]);
  const graph::Value& y = graph.value(node.outputs[0]);
  const size_t rank = x.dims.size();
  const bool transposed = node.op->name == "conv_transpose";
  if (rank != 3 && rank != 4) return std::nullopt;
  if (transposed && node.inputs.size() > 2 && node.inputs[2].valid()) return std::nullopt;
  if (x.dtype != DType::F32 && x.dtype != DType::F16 && x.dtype != DType::BF16) return std::nullopt;
  if (!is_channels_last(x) || !is_channels_last(w) || !is_channels_last(y) || is_depthwise(graph, node))
    return std::nullopt;
  const auto r = rank == 4 ? sym.as_const(w.dims[2]) : 1, s = sym.as_const(w.dims[rank - 1]);
  const auto channels = sym.as_const(x.dims[1]);
  if (!r || !s || !channels || *channels == 0 || !sym.as_const(y.dims[1])) return std::nullopt;

  ConvCall call;
  call.x = node.inputs[0];
  call.w = node.inputs[1];
  if (node.inputs.size() > 2) call.bias = node.inputs[2];
  call.out = node.outputs[0];
  call.n = x.dims[0];
  call.c = x.dims[1];
  call.k = y.dims[1];
  call.h = rank == 4 ? x.dims[2] : sym.constant(1);
  call.wd = x.dims[rank - 1];
  call.p = rank == 4 ? y.dims[2] : sym.constant(1);
  call.q = y.dims[rank - 1];
  call.r = *r;
  call.s = *s;
  call.groups = node.attrs.integer("group", 1);
  call.transposed = transposed;
  spatial(node.attrs.integers("strides"), 1, call.stride);
  spatial(node.attrs.integers("dilations"), 1, call.dilation);
  if (!literal_padding(sym, node.attrs, rank == 3, call.pad)) return std::nullopt;
  return call;
}

}  // namespace dlcb::library
