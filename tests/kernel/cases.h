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

using Cases = std::vector<std::unique_ptr<Case>>;
Cases all_cases();

// The parts of them; the last crosses all schedules with all kinds of bodies.
void add_pointwise(Cases& all);
void add_rows(Cases& all);
void add_columns(Cases& all);
void add_long(Cases& all);  // few outputs, much to reduce
void add_contractions(Cases& all);
void add_bodies(Cases& all);

Case& add(Cases& all, const std::string& name, std::vector<Sizes> sizes,
          kernel::Schedule schedule = kernel::Schedule::Pointwise);
ops::Scalar relu(Case& c, ops::Scalar x);
ops::Scalar plus(Case& c, ops::Scalar a, ops::Scalar b);
ops::Scalar minus(Case& c, ops::Scalar a, ops::Scalar b);
ops::Scalar times(Case& c, ops::Scalar a, ops::Scalar b);
inline const std::vector<uint8_t> kNhwc{0, 2, 3, 1};

}  // namespace dlcb::testing
