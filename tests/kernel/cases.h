// Regions that exercise every schedule, with the sizes to run them at.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernel/region.h"

namespace dlcb::testing {

using Sizes = std::map<std::string, int64_t>;

// A region under construction and the stores it lives in.
class Case {
 public:
  explicit Case(std::string name) : name(std::move(name)), scalars(sym), facts(sym) { region.name = this->name; }

  sym::Expr dim(const std::string& symbol);
  sym::Expr lit(int64_t v) { return sym.constant(v); }
  ops::ValueId input(DType t, std::vector<sym::Expr> dims, std::vector<uint8_t> order = {}, bool ours = true);
  ops::Scalar load(ops::ValueId value, std::vector<sym::Expr> coords);
  // Adds an output; one index symbol per dim must have been made by index().
  void output(DType t, std::vector<sym::Expr> index, ops::Scalar body, std::vector<uint8_t> order = {},
              bool ours = true);
  sym::Expr index(sym::Expr extent) { return sym.index("i", extent); }

  std::string name;
  sym::Store sym;
  ops::ScalarStore scalars;
  sym::Facts facts;
  kernel::Region region;
  std::vector<Sizes> sizes;
  double tolerance = 2e-6;  // relative to the largest magnitude, per dtype see test
  kernel::Schedule schedule = kernel::Schedule::Pointwise;
  bool calls = false;                       // divides 64-bit integers, which is a subroutine
  std::map<uint32_t, int64_t> index_limit;  // integer inputs hold values below this
};

std::vector<std::unique_ptr<Case>> all_cases();
// The part of them that crosses all schedules with all kinds of bodies.
void add_bodies(std::vector<std::unique_ptr<Case>>& all);

}  // namespace dlcb::testing
