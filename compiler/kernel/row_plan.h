// How lanes share rows: what one variant of a row reduction looks like, and which shape suits a row of known length.
#pragma once
#include <optional>

#include "kernel/reductions.h"

namespace dlcb::kernel {

constexpr int64_t kMostLanes = 1024;
constexpr int64_t kBlockThreads = 128;  // where a row is inside a warp
constexpr int kTogether = 4;            // see RowPlan::staged

struct RowPlan {
  enum Mode : uint8_t {
    Registers,  // a lane keeps `vectors` vectors of each row
    Stepped,    // the same, and the launch says how many of them there are
    Looped,     // a row of any length, read once for each stage
  } mode = Registers;
  int vectors = 1, width = 1;  // K, W
  int rows = 1;                // of a lane at a time; Stepped or staged only
  int64_t max_lanes = kMostLanes, min_lanes = 4;
  bool paired = false;  // accesses of RowPairs; Stepped with a width of 2
  // Accesses of RowStage, of `width` elements; Stepped: vectors are of kTogether, and there is one more that the row
  // does not fill.
  bool staged = false;
  bool fixed = false;  // there are exactly max_lanes lanes
  bool exact = false;  // and together they hold exactly one row

  // Accesses whose text is written at once, each with its own name for a value: row by row.
  int groups() const { return rows * (mode != Stepped ? vectors : staged ? kTogether / width : 1); }
  int64_t elements() const {  // of a row, a lane
    return mode == Stepped && staged ? int64_t{vectors + 1} * kTogether : int64_t{vectors} * width;
  }
};

// Elements of a vector along the rows; 1 if nothing lies along them.
int row_width(Lowered& region, const Reductions& r, bool heavy);
// Bytes of the widest element that is read or written along the rows.
size_t widest_element(Lowered& region, const Reductions& r);

// A row of `length` in at most `most` vectors a lane; max_lanes is above kMostLanes if it does not fit.
RowPlan plan_of_length(int64_t length, int width, int most);

// The rest of a staged plan: for rows of `columns` elements; nothing if they cannot be short enough.
std::optional<RowPlan> complete_staged(Lowered& region, sym::Expr columns, RowPlan plan);

// Lanes for rows of `columns` elements.
sym::Expr lanes_of(sym::Store& sym, sym::Expr columns, const RowPlan& plan);

}  // namespace dlcb::kernel
