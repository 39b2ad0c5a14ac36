#include <algorithm>

#include "fuse/address.h"
#include "library/claim.h"
#include "library/operand.h"

namespace dlcb::library {
namespace {

using fuse::MatmulCall;
using graph::Graph;
using sym::Expr;

// A matrix operand whose batch dims are one stride.
struct Matrix {
  ops::ValueId source;
  Expr batch_stride, row, column;  // strides of the batch, of the first and of the second matrix dim
};

class Matcher {
 public:
  Matcher(Graph& graph, const graph::Node& node) : graph_(graph), sym_(graph.sym()), node_(node) {}

  std::optional<MatmulCall> match() {
    const graph::Value& a = graph_.value(node_.inputs[0]);
    const graph::Value& b = graph_.value(node_.inputs[1]);
    const graph::Value& out = graph_.value(node_.outputs[0]);
    if (a.dims.size() < 2 || b.dims.size() < 2 || !fuse::is_row_major(out.order)) return std::nullopt;
    if (out.dtype != DType::F32 && out.dtype != DType::F16 && out.dtype != DType::BF16) return std::nullopt;
    batch_dims_.assign(out.dims.begin(), out.dims.end() - 2);
    m_ = out.dims[out.dims.size() - 2];
    n_ = out.dims.back();
    k_ = a.dims.back();
    for (Expr d : batch_dims_) batch_.push_back(sym_.index("b", d));
    i_ = sym_.index("m", m_);
    j_ = sym_.index("n", n_);
    l_ = sym_.index("k", k_);
    if (auto call = fold_batch_into_rows()) return call;
    const auto left = matrix(0, i_, l_), right = matrix(1, l_, j_);
    if (!left || !right) return std::nullopt;
    return finish(*left, *right, sym_.mul(batch_dims_), m_);
  }

 private:
  // Coordinates of operand `which` (0 or 1) whose matrix dims are read at (row, column); broadcast batch dims read at
  // 0.
  std::vector<Expr> coords(int which, Expr row, Expr column) {
    const graph::Value& v = graph_.value(node_.inputs[which]);
    const size_t batch = v.dims.size() - 2, missing = batch_dims_.size() - batch;
    std::vector<Expr> at;
    for (size_t d = 0; d < batch; ++d) {
      const Expr dim = v.dims[d];
      const bool full = graph_.facts().equal(dim, batch_dims_[missing + d]);
      at.push_back(full ? batch_[missing + d] : sym_.mul(batch_[missing + d], sym_.ne(dim, sym_.constant(1))));
    }
    at.push_back(row);
    at.push_back(column);
    return at;
  }

  // The outermost of `strides` as the only one, if every stride continues the next: s[d] == s[d + 1] * extent[d + 1].
  std::optional<Expr> collapse(std::span<const Expr> strides, std::span<const Expr> extents) {
    if (strides.empty()) return sym_.constant(0);
    for (size_t d = 0; d + 1 < strides.size(); ++d) {
      if (sym_.is_const(extents[d], 1)) continue;
      if (!graph_.facts().equal(strides[d], sym_.mul(strides[d + 1], extents[d + 1]))) return std::nullopt;
    }
    return strides.back();
  }

  std::optional<Matrix> matrix(int which, Expr row, Expr column) {
    std::vector<Expr> indices = batch_;
    indices.push_back(row);
    indices.push_back(column);
    const auto readings = strided_readings(graph_, node_.inputs[which], coords(which, row, column), indices);
    for (size_t r = readings.size(); r-- > 0;) {
      const std::vector<Expr>& s = readings[r].strides;
      const auto stride = collapse({s.data(), batch_.size()}, batch_dims_);
      const Expr across = which == 0 ? m_ : k_, along = which == 0 ? k_ : n_;  // extents of the matrix's dims
      if (!stride || !storable(s[batch_.size()], s[batch_.size() + 1], across, along)) continue;
      return Matrix{readings[r].source, *stride, s[batch_.size()], s[batch_.size() + 1]};
    }
    return std::nullopt;
  }

  // Libraries take matrices with one stride of 1 and another over whole rows of that length.
  bool storable(Expr row, Expr column, Expr rows, Expr columns) {
    return (sym_.is_const(column, 1) && passes_over(row, columns, rows)) ||
           (sym_.is_const(row, 1) && passes_over(column, rows, columns));
  }

  // Whether `count` lines that are `stride` apart do not overlap, each `length` long. A stride made of dims is whole
  // lines (if one of the dims is 0 there are no elements); only broadcasting repeats a line, by a stride of 0 or a
  // comparison.
  bool passes_over(Expr stride, Expr length, Expr count) {
    const sym::Facts& facts = graph_.facts();
    if (facts.proves(sym_.le(count, sym_.constant(1))) || facts.proves(sym_.le(length, stride))) return true;
    return !sym_.as_const(stride) && !decides(stride);
  }

  // Whether a comparison is part of the expression.
  bool decides(Expr e) {
    return std::ranges::any_of(sym::topological(sym_, std::span(&e, 1)), [&](Expr part) {
      switch (sym_.kind(part)) {
        case sym::Kind::Eq:
        case sym::Kind::Le:
        case sym::Kind::Lt:
        case sym::Kind::And:
        case sym::Kind::Or:
        case sym::Kind::Not:
        case sym::Kind::Select:
          return true;
        default:
          return false;
      }
    });
  }

  // [batch.., m, k] x [k, n]: the batch becomes more rows of one matrix product.
  std::optional<MatmulCall> fold_batch_into_rows() {
    const graph::Value& b = graph_.value(node_.inputs[1]);
    if (batch_.empty() || b.dims.size() != 2) return std::nullopt;
    const auto right = matrix(1, l_, j_);
    if (!right) return std::nullopt;
    std::vector<Expr> indices = batch_, extents = batch_dims_;
    indices.push_back(i_);
    indices.push_back(l_);
    extents.push_back(m_);
    const auto readings = strided_readings(graph_, node_.inputs[0], coords(0, i_, l_), indices);
    for (size_t r = readings.size(); r-- > 0;) {
      const std::vector<Expr>& s = readings[r].strides;
      const auto row = collapse({s.data(), s.size() - 1}, extents);
      if (!row || !sym_.is_const(s.back(), 1)) continue;
      const Expr rows = sym_.mul(sym_.mul(batch_dims_), m_);
      if (!passes_over(*row, k_, rows)) continue;
      return finish({readings[r].source, sym_.constant(0), *row, s.back()}, *right, sym_.constant(1), rows);
    }
    return std::nullopt;
  }

  // The leading dimension of a matrix of one row may be anything, also 0; libraries want at least the row's length.
  Expr leading(Expr stride, Expr length) { return sym_.max(stride, sym_.max(length, sym_.constant(1))); }

  MatmulCall finish(const Matrix& a, const Matrix& b, Expr batch, Expr rows) {
    MatmulCall call;
    call.a = a.source;
    call.b = b.source;
    call.out = node_.outputs[0];
    call.m = rows;
    call.n = n_;
    call.k = k_;
    call.batch = batch;
    call.trans_a = !sym_.is_const(a.column, 1);
    call.trans_b = !sym_.is_const(b.column, 1);
    call.lda = call.trans_a ? leading(a.column, rows) : leading(a.row, k_);
    call.ldb = call.trans_b ? leading(b.column, k_) : leading(b.row, n_);
    call.stride_a = a.batch_stride;
    call.stride_b = b.batch_stride;
    return call;
  }

  Graph& graph_;
  sym::Store& sym_;
  const graph::Node& node_;
  std::vector<Expr> batch_dims_, batch_;
  Expr m_, n_, k_, i_, j_, l_;
};

}  // namespace

std::optional<MatmulCall> match_matmul(Graph& graph, const graph::Node& node) { return Matcher(graph, node).match(); }

}  // namespace dlcb::library
