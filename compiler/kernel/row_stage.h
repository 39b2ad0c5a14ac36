// Short rows whose length is no multiple of a vector. A few rows of such a length together are whole vectors, wherever
// each of them begins: a block copies its rows into shared memory as they lie, lanes take elements there, and results
// go back the same way. What remains for a row is its elements: few lanes share it, hardly one of them idles, and only
// the last elements of a lane want guards. Elements of 16 bits are taken in aligned pairs, which in odd rows of odd
// length begin a column earlier.
#pragma once
#include <algorithm>
#include <optional>

#include "kernel/row_plan.h"
#include "kernel/row_tensors.h"

namespace dlcb::kernel {

class RowStage {
 public:
  // `lanes` of `plan`, of which a block has kBlockThreads.
  RowStage(Lowered& region, const Reductions& r, const RowPlan& plan, sym::Expr lanes, Params& params, Emitter& e);

  // How lanes share such rows; nothing where that does not apply.
  static std::optional<RowPlan> plan(Lowered& region, const Reductions& r);

  void open();   // brings the block's rows in
  void close();  // and what was stored out

  bool holds(ops::Scalar load) const { return tensors_.holds(region_, load); }
  bool holds(size_t output) const { return tensors_.holds(output); }

  // Access `u` of vector `k` (RowPlan::staged) of each row: its first column, and whether element `w` of it is inside
  // the row. Of a row of known length `k` is 0.
  std::string column(int k, int u) const { return place(plan_.width == 1 ? "lane" : "first_column", k, u); }
  std::string inside(int k, int u, int w) const;
  // All accesses of the vector, row by row.
  Val load(ops::Scalar load, int k);
  void store(size_t output, int k, const Val& in, const Val& bits);

  sym::Expr shared_bytes() const;

 private:
  size_t buffers() const { return std::max(tensors_.inputs.size(), tensors_.outputs.size()); }
  int accesses() const { return plan_.groups() / plan_.rows; }
  bool is_tail(int k) const { return !plan_.fixed && k == plan_.vectors; }
  sym::Expr pitch() const;
  std::string place(const std::string& base, int k, int u) const;
  std::string element(size_t buffer, int k, int group) const;
  void each_round(const std::function<void(int round)>& write);
  void copy_in();

  Lowered& region_;
  const Reductions& r_;
  const RowPlan& plan_;
  sym::Expr columns_, lanes_;
  Params& params_;
  Emitter& e_;
  RowTensors tensors_;
  std::string type_;                // of elements in memory
  int64_t bytes_;                   // of one
  std::string length_;              // columns
  std::string tail_;                // columns before the vector that the row does not fill
  std::vector<std::string> parts_;  // per round of a copy: where the thread's vector begins
  std::vector<std::string> own_;    // per row: the lane's first access
};

}  // namespace dlcb::kernel
