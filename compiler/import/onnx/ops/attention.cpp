// Attention and rotary position embedding (opset 23 on).
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "import/onnx/node_context.h"
#include "import/onnx/ops/translators.h"

namespace dlcb::importer::onnx {
namespace {

// [batch, length, heads * size] as [batch, heads, length, size].
ValueId split_heads(NodeContext& n, ValueId x, int64_t heads) {
  if (heads < 1) n.bad_attribute("q_num_heads", "is missing for operands of rank 3");
  const Expr size = n.sym().floordiv(n.dim(x, 2), n.lit(heads));
  return n.transpose(n.reshape(x, {n.dim(x, 0), n.dim(x, 1), n.lit(heads), size}), {0, 2, 1, 3});
}

// Each key or value head serves a group of query heads: [h0, h0, h1, h1, ...].
ValueId repeat_heads(NodeContext& n, ValueId x, Expr heads) {
  sym::Store& s = n.sym();
  const Exprs d = n.dims(x);
  if (n.graph().facts().equal(d[1], heads)) return x;
  n.require(s.eq(s.mod(heads, d[1]), n.lit(0)), "query heads must be a multiple of key heads", 1, 1);
  const ValueId grouped = n.broadcast_to(n.unsqueeze(x, {2}), {d[0], d[1], s.floordiv(heads, d[1]), d[2], d[3]});
  return n.reshape(grouped, {d[0], heads, d[2], d[3]});
}

ValueId minus_infinity(NodeContext& n, DType t) { return n.scalar(t, -std::numeric_limits<double>::infinity()); }

// The plain case is the core operator; soft caps, another softmax type or the scores as an output are written out.
bool is_plain(NodeContext& n) {
  return n.real("softcap", 0) == 0 && !n.wants(3) &&
         n.dtype_attr("softmax_precision", n.dtype(n.in(0))) == n.dtype(n.in(0));
}

// What is added to the scores: the mask (true means visible), padded with "hidden" to the keys' length.
ValueId additive_mask(NodeContext& n, ValueId mask, Expr keys, DType t) {
  if (n.rank(mask) < 1) n.malformed("Attention's mask is a scalar");
  if (n.dtype(mask) == DType::Bool) mask = n.where(mask, n.scalar(t, 0), minus_infinity(n, t));
  const auto last = static_cast<size_t>(n.rank(mask) - 1);
  Exprs lo(last + 1, n.lit(0)), hi = lo;
  hi[last] = n.sym().max(n.lit(0), n.sym().sub(keys, n.dim(mask, static_cast<int64_t>(last))));
  return n.pad(mask, lo, hi, "constant", -std::numeric_limits<double>::infinity());
}

// -inf where key j comes after query i + past.
ValueId causal_mask(NodeContext& n, Expr queries, Expr keys, Expr past, DType t) {
  const ValueId i = n.unsqueeze(n.iota(past, 1, queries, DType::I64), {1}), j = n.iota(n.lit(0), 1, keys, DType::I64);
  return n.where(n.op("le", {j, i}), n.scalar(t, 0), minus_infinity(n, t));
}

ValueId padding_mask(NodeContext& n, ValueId lengths, Expr keys, DType t) {
  const ValueId visible = n.op("lt", {n.iota(n.lit(0), 1, keys, DType::I64), n.unsqueeze(lengths, {1, 2, 3})});
  return n.where(visible, n.scalar(t, 0), minus_infinity(n, t));
}

struct Operands {
  ValueId q, k, v, bias;  // bias: invalid if nothing is masked
  bool split;             // the model's operands have rank 3
  bool causal = false;    // left to the core operator
};

Operands operands_of(NodeContext& n) {
  Operands o{n.in(0), n.in(1), n.in(2), {}, n.rank(n.in(0)) == 3, false};
  for (const ValueId v : {o.q, o.k, o.v})
    if (n.rank(v) != n.rank(o.q) || n.rank(v) < 3 || n.rank(v) > 4)
      n.malformed(fmt::format("Attention needs three operands of rank 3 or of rank 4, not of {}, {} and {}",
                              n.rank(o.q), n.rank(o.k), n.rank(o.v)));
  if (o.split) {
    const int64_t kv_heads = n.integer("kv_num_heads", 0);
    o.q = split_heads(n, o.q, n.integer("q_num_heads", 0));
    o.k = split_heads(n, o.k, kv_heads);
    o.v = split_heads(n, o.v, kv_heads);
  }
  Expr past = n.lit(0);
  if (n.has(4)) {
    past = n.dim(n.in(4), 2);
    o.k = n.concat({n.in(4), o.k}, 2);
  }
  if (n.has(5)) o.v = n.concat({n.in(5), o.v}, 2);
  const DType t = n.dtype(o.q);
  const Expr keys = n.dim(o.k, 2);
  const auto include = [&](ValueId m) { o.bias = o.bias.valid() ? n.add(o.bias, m) : m; };
  if (n.has(3)) include(additive_mask(n, n.in(3), keys, t));
  o.causal = n.integer("is_causal", 0) != 0 && is_plain(n) && n.literal(past) == 0;
  if (n.integer("is_causal", 0) && !o.causal) include(causal_mask(n, n.dim(o.q, 2), keys, past, t));
  if (n.has(6)) include(padding_mask(n, n.in(6), keys, t));
  return o;
}

}  // namespace

void attention(NodeContext& n) {
  const Operands o = operands_of(n);
  const DType t = n.dtype(o.q);
  n.out(1, o.k);
  n.out(2, o.v);
  const ValueId k = repeat_heads(n, o.k, n.dim(o.q, 1)), v = repeat_heads(n, o.v, n.dim(o.q, 1));
  double scale = n.real("scale", 0);
  ValueId q = o.q;
  if (scale == 0) {
    const Expr size = n.dim(q, 3);
    scale = n.literal(size) ? 1 / std::sqrt(static_cast<double>(*n.literal(size))) : 1;
    if (!n.literal(size))
      q = n.mul(q, n.unary("rsqrt", n.cast(n.graph().add_ints("head_size", DType::I64, {size}, true), t)));
  }
  const double cap = n.real("softcap", 0);
  const DType softmax_type = n.dtype_attr("softmax_precision", t);
  ValueId y;
  if (is_plain(n)) {
    std::vector<ValueId> operands{q, k, v};
    if (o.bias.valid()) operands.push_back(o.bias);
    y = n.op("attention", operands, {{"scale", scale}, {"causal", int64_t{o.causal}}});
  } else {
    ValueId scores = n.mul(n.matmul(q, n.transpose(k, {0, 1, 3, 2})), scale);
    if (cap > 0) scores = n.mul(n.unary("tanh", n.div(scores, cap)), cap);
    const ValueId capped = scores;
    if (o.bias.valid()) scores = n.add(scores, o.bias);
    const ValueId biased = scores, weights = n.op("softmax", {n.cast(scores, softmax_type)}, {{"axis", int64_t{3}}});
    const int64_t mode = n.integer("qk_matmul_output_mode", 0);
    if (mode < 0 || mode > 3) n.bad_attribute("qk_matmul_output_mode", fmt::format("is {}", mode));
    if (n.wants(3)) n.out(3, n.cast(mode == 3 ? weights : mode == 2 ? biased : capped, t));
    y = n.cast(n.matmul(weights, n.cast(v, softmax_type)), t);
  }
  if (o.split)
    y = n.reshape(n.transpose(y, {0, 2, 1, 3}), {n.dim(y, 0), n.dim(y, 2), n.sym().mul(n.dim(y, 1), n.dim(y, 3))});
  n.out(0, y);
}

// Pairs (x1, x2) of each head are turned by an angle whose cosine and sine come from tables: the first half of a head
// pairs with the second, or even elements with odd ones.
void rotary_embedding(NodeContext& n) {
  sym::Store& s = n.sym();
  ValueId x = n.in(0), cosine = n.in(1), sine = n.in(2);
  const bool split = n.rank(x) == 3;
  if (split) {
    const int64_t heads = n.integer("num_heads", 0);
    if (heads < 1) n.bad_attribute("num_heads", "is missing for an operand of rank 3");
    x = split_heads(n, x, heads);
  }
  if (n.rank(x) != 4) n.malformed("RotaryEmbedding needs an operand of rank 3 or 4");
  const int64_t part = n.integer("rotary_embedding_dim", 0);
  const Expr size = n.dim(x, 3), turned = part > 0 ? n.lit(part) : size, half = s.floordiv(turned, n.lit(2));
  if (n.has(3)) {
    cosine = n.gather(cosine, n.in(3), 0);
    sine = n.gather(sine, n.in(3), 0);
  }
  cosine = n.unsqueeze(cosine, {1});
  sine = n.unsqueeze(sine, {1});
  const bool interleaved = n.integer("interleaved", 0) != 0;
  const ValueId a = interleaved ? n.slice(x, {3}, {n.lit(0)}, {2}, {half}) : n.slice(x, 3, n.lit(0), half);
  const ValueId b = interleaved ? n.slice(x, {3}, {n.lit(1)}, {2}, {half}) : n.slice(x, 3, half, half);
  const ValueId real = n.sub(n.mul(cosine, a), n.mul(sine, b)), imaginary = n.add(n.mul(sine, a), n.mul(cosine, b));
  std::vector<ValueId> parts;
  if (interleaved) {
    const ValueId pairs = n.concat({n.unsqueeze(real, {4}), n.unsqueeze(imaginary, {4})}, 4);
    parts.push_back(n.reshape(pairs, {n.dim(x, 0), n.dim(x, 1), n.dim(x, 2), turned}));
  } else {
    parts = {real, imaginary};
  }
  if (turned != size) parts.push_back(n.slice(x, 3, turned, s.sub(size, turned)));
  ValueId y = n.concat(parts, 3);
  if (split) y = n.reshape(n.transpose(y, {0, 2, 1, 3}), n.dims(n.in(0)));
  n.out(0, y);
}

}  // namespace dlcb::importer::onnx
