// Matrix products: MatMul, Gemm, and Einsum, which becomes transposes around matrix products.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "import/onnx/node_context.h"
#include "import/onnx/ops/translators.h"

namespace dlcb::importer::onnx {

// A vector is a row on the left and a column on the right; its axis disappears from the result.
void matmul(NodeContext& n) {
  ValueId a = n.in(0), b = n.in(1);
  const bool row = n.rank(a) == 1, column = n.rank(b) == 1;
  if (n.rank(a) == 0 || n.rank(b) == 0) n.malformed("MatMul has a scalar operand");
  if (row) a = n.unsqueeze(a, {0});
  if (column) b = n.unsqueeze(b, {1});
  ValueId y = n.matmul(a, b);
  if (column) y = n.squeeze(y, {n.rank(y) - 1});
  if (row) y = n.squeeze(y, {n.rank(y) - (column ? 1 : 2)});
  n.out(0, y);
}

void gemm(NodeContext& n) {
  ValueId a = n.in(0), b = n.in(1);
  if (n.rank(a) != 2 || n.rank(b) != 2) n.malformed("Gemm needs matrices");
  if (n.integer("transA", 0)) a = n.transpose(a, {1, 0});
  if (n.integer("transB", 0)) b = n.transpose(b, {1, 0});
  ValueId y = n.mul(n.matmul(a, b), n.real("alpha", 1));
  if (n.has(2) && n.real("beta", 1) != 0) y = n.add(y, n.mul(n.in(2), n.real("beta", 1)));
  n.out(0, y);
}

namespace {

// Labels are the equation's letters; the dims of "..." get the labels 256, 257, ... counted from the last.
constexpr int kEllipsis = 256;
using Labels = std::vector<int>;

struct Term {
  ValueId value;
  Labels labels;
};

bool contains(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

Labels parse_labels(NodeContext& n, std::string_view text, int ellipsis_rank) {
  Labels labels;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ') continue;
    if (text.substr(i, 3) == "...") {
      for (int k = ellipsis_rank; k-- > 0;) labels.push_back(kEllipsis + k);
      i += 2;
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      labels.push_back(c);
    } else {
      n.bad_attribute("equation", fmt::format("has an unexpected '{}'", c));
    }
  }
  return labels;
}

int letters_in(std::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char c) { return c != ' ' && c != '.'; }));
}

// A label that occurs twice selects the diagonal: everything off it is dropped by a sum over the second axis.
Term without_repeats(NodeContext& n, Term t) {
  for (size_t i = 0; i < t.labels.size(); ++i)
    for (size_t j = t.labels.size(); j-- > i + 1;) {
      if (t.labels[i] != t.labels[j]) continue;
      const int rank = n.rank(t.value), first = static_cast<int>(i), second = static_cast<int>(j);
      n.require(n.sym().eq(n.dim(t.value, first), n.dim(t.value, second)), "dims with the same label must be equal", 0,
                second);
      const auto along = [&](int axis) {
        return n.pad_rank_right(n.iota(n.lit(0), 1, n.dim(t.value, axis), DType::I64), rank - axis);
      };
      const ValueId kept = n.where(n.op("eq", {along(first), along(second)}), t.value, n.scalar(n.dtype(t.value), 0));
      t.value = n.reduce("sum", kept, {second}, false);
      t.labels.erase(t.labels.begin() + second);
    }
  return t;
}

Term sum_out(NodeContext& n, Term t, const Labels& needed) {
  std::vector<int> axes;
  Labels kept;
  for (size_t i = 0; i < t.labels.size(); ++i) {
    if (contains(needed, t.labels[i]))
      kept.push_back(t.labels[i]);
    else
      axes.push_back(static_cast<int>(i));
  }
  if (!axes.empty()) t.value = n.reduce("sum", t.value, axes, false);
  return {t.value, kept};
}

ValueId arranged(NodeContext& n, const Term& t, const Labels& order) {
  std::vector<int> perm;
  for (const int label : order)
    perm.push_back(static_cast<int>(std::find(t.labels.begin(), t.labels.end(), label) - t.labels.begin()));
  return n.transpose(t.value, perm);
}

Labels joined(const Labels& a, const Labels& b) {
  Labels out = a;
  out.insert(out.end(), b.begin(), b.end());
  return out;
}

// With nothing to contract: an elementwise product whose labels line up by inserted 1s.
Term outer_product(NodeContext& n, const Term& a, const Term& b) {
  Labels all = a.labels;
  for (const int label : b.labels)
    if (!contains(all, label)) all.push_back(label);
  const auto spread = [&](const Term& t) {
    Labels order;
    std::vector<int> missing;
    for (size_t i = 0; i < all.size(); ++i) {
      if (contains(t.labels, all[i]))
        order.push_back(all[i]);
      else
        missing.push_back(static_cast<int>(i));
    }
    return n.unsqueeze(arranged(n, t, order), missing);
  };
  return {n.mul(spread(a), spread(b)), all};
}

// One contraction as a batched matrix product: [batch.., a_free, k] x [batch.., k, b_free].
Term contract(NodeContext& n, const Term& a, const Term& b, const Labels& needed) {
  Labels batch, k, a_free, b_free;
  for (const int label : a.labels)
    (!contains(b.labels, label) ? a_free : contains(needed, label) ? batch : k).push_back(label);
  for (const int label : b.labels)
    if (!contains(a.labels, label)) b_free.push_back(label);
  const bool broadcast = std::any_of(k.begin(), k.end(), [](int label) { return label >= kEllipsis; });
  if (k.empty() || broadcast) return sum_out(n, outer_product(n, a, b), needed);
  ValueId left = arranged(n, a, joined(joined(batch, a_free), k)),
          right = arranged(n, b, joined(joined(batch, k), b_free));
  const Exprs left_dims = n.dims(left), right_dims = n.dims(right);
  const auto part = [](const Exprs& d, size_t from, size_t count) {
    return Exprs(d.begin() + static_cast<long>(from), d.begin() + static_cast<long>(from + count));
  };
  const Exprs m = part(left_dims, batch.size(), a_free.size()),
              cols = part(right_dims, batch.size() + k.size(), b_free.size());
  const Exprs ka = part(left_dims, batch.size() + a_free.size(), k.size()),
              kb = part(right_dims, batch.size(), k.size());
  for (size_t i = 0; i < k.size(); ++i)
    n.require(n.sym().eq(ka[i], kb[i]), "dims with the same label must be equal", 1);
  Exprs left_shape = part(left_dims, 0, batch.size()), right_shape = part(right_dims, 0, batch.size());
  left_shape.insert(left_shape.end(), {n.product(m), n.product(ka)});
  right_shape.insert(right_shape.end(), {n.product(kb), n.product(cols)});
  ValueId y = n.matmul(n.reshape(left, left_shape), n.reshape(right, right_shape));
  Exprs shape = part(n.dims(y), 0, batch.size());
  shape.insert(shape.end(), m.begin(), m.end());
  shape.insert(shape.end(), cols.begin(), cols.end());
  return {n.reshape(y, shape), joined(joined(batch, a_free), b_free)};
}

// Without "->" the result has the ellipsis and then, sorted, the letters that occur once.
Labels implicit_output(const std::vector<Term>& terms, int ellipsis_rank) {
  std::map<int, int> count;
  for (const Term& t : terms)
    for (const int label : t.labels)
      if (label < kEllipsis) ++count[label];
  Labels out;
  for (int k = ellipsis_rank; k-- > 0;) out.push_back(kEllipsis + k);
  for (const auto& [label, times] : count)
    if (times == 1) out.push_back(label);
  return out;
}

}  // namespace

void einsum(NodeContext& n) {
  const std::string equation = n.text("equation", "");
  const size_t arrow = equation.find("->");
  std::vector<std::string> texts{""};
  for (const char c : std::string_view(equation).substr(0, arrow)) {
    if (c == ',')
      texts.emplace_back();
    else
      texts.back() += c;
  }
  if (static_cast<int>(texts.size()) != n.input_count())
    n.bad_attribute("equation", fmt::format("has {} terms for {} operands", texts.size(), n.input_count()));
  std::vector<Term> terms;
  int ellipsis_rank = 0;
  for (int i = 0; i < n.input_count(); ++i) {
    const std::string& text = texts[static_cast<size_t>(i)];
    const int rest = n.rank(n.in(i)) - letters_in(text);
    if (rest < 0 || (rest > 0 && text.find("...") == std::string::npos))
      n.bad_attribute("equation", fmt::format("does not fit operand {} of rank {}", i, n.rank(n.in(i))));
    ellipsis_rank = std::max(ellipsis_rank, rest);
    terms.push_back({n.in(i), parse_labels(n, text, rest)});
  }
  const Labels result = arrow == std::string::npos
                            ? implicit_output(terms, ellipsis_rank)
                            : parse_labels(n, std::string_view(equation).substr(arrow + 2), ellipsis_rank);
  for (Term& t : terms) t = without_repeats(n, t);
  while (terms.size() > 1) {
    Labels needed = result;
    for (size_t i = 2; i < terms.size(); ++i) needed = joined(needed, terms[i].labels);
    const Term a = sum_out(n, terms[0], joined(needed, terms[1].labels)),
               b = sum_out(n, terms[1], joined(needed, terms[0].labels));
    terms[1] = contract(n, a, b, needed);
    terms.erase(terms.begin());
  }
  const Term last = sum_out(n, terms[0], result);
  for (const int label : result)
    if (!contains(last.labels, label)) n.bad_attribute("equation", "has a result label that no operand has");
  n.out(0, arranged(n, last, result));
}

}  // namespace dlcb::importer::onnx
