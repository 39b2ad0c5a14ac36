// Rows of 16-bit elements whose length is no multiple of a vector. Accessed one by one they cost two bytes an access;
// but two neighbours that begin at an even element of the tensor are an aligned word wherever the row begins, and only
// at the ends of the row does a word hold an element of another one.
#pragma once
#include "kernel/row_tensors.h"

namespace dlcb::kernel {

// Stores two elements, each if it is inside the row; `target` is the address of the first, aligned to both.
void store_pair(Emitter& e, const std::string& target, const std::string& in0, const std::string& in1,
                const std::string& bits0, const std::string& bits1);

class RowPairs {
 public:
  RowPairs(Lowered& region, const Reductions& r, Params& params, Emitter& e);
  // Whether some load and some output of the region are rows side by side.
  static bool applies(Lowered& region, const Reductions& r);

  // `rows` names the rows of the thread: all even or all odd, so that they share columns.
  void open(const std::vector<std::string>& rows);
  // First column of pair `k` of this lane, -1 for the first of an odd row whose length is odd; the same for all rows.
  std::string column(int k) const;

  bool holds(ops::Scalar load) const { return tensors_.holds(region_, load); }
  bool holds(size_t output) const { return tensors_.holds(output); }
  // Both elements of pair `k` in each row, for columns inside of it.
  Val load(ops::Scalar load, int k, const std::string& column);
  // Per row: whether it is to be stored. Per element of all rows: whether it is inside, and its bits.
  void store(size_t output, int k, const std::vector<std::string>& rows, const Val& in, const Val& bits);

 private:
  std::string offset(size_t row, int k) const;

  Lowered& region_;
  const Reductions& r_;
  Params& params_;
  Emitter& e_;
  RowTensors tensors_;
  std::string length_;
  std::vector<std::string> first_;  // per row: offset of the lane's first pair
};

}  // namespace dlcb::kernel
