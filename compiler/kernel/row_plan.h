// How lanes share rows: what one variant of a row reduction looks like, and which shape suits a row of known length.
#pragma once
#include "kernel/reductions.h"

namespace dlcb::kernel {

constexpr int64_t kMostLanes = 1024;

struct RowPlan {
  enum Mode : uint8_t {
    Registers,  // a lane keeps `vectors` vectors of each row
    Stepped,    // the same, and the launch says how many of them there are
    Looped,     // a row of any length, read once for each stage
  } mode = Registers;
  int vectors = 1, width = 1;  // K, W
  int rows = 1;                // of a lane at a time; Stepped only
  int64_t max_lanes = kMostLanes;
  bool paired = false;  // accesses of RowPairs; Stepped with a width of 2
  bool fixed = false;   // there are exactly max_lanes lanes
  bool exact = false;   // and together they hold exactly one row

  int64_t elements() const { return int64_t{vectors} * width; }  // of a row, a lane
};

// Elements of a vector along the rows; 1 if nothing lies along them.
int row_width(Lowered& region, const Reductions& r, bool heavy);
// Bytes of the widest element that is read or written along the rows.
size_t widest_element(Lowered& region, const Reductions& r);

// A row of `length` in at most `most` vectors a lane; max_lanes is above kMostLanes if it does not fit.
RowPlan plan_of_length(int64_t length, int width, int most);

// Lanes for rows of `columns` elements, at least 4.
sym::Expr lanes_of(sym::Store& sym, sym::Expr columns, const RowPlan& plan);

}  // namespace dlcb::kernel
