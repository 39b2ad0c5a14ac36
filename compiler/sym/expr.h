// Integers that are unknown until run time: tensor dims, element coordinates, shape-tensor values. Expressions are
// immutable, interned in a Store and named by 32-bit ids, so equality is id equality and everything known about an
// expression is a side vector indexed by id. Booleans are integers 0 and 1. Arithmetic is over unbounded integers in
// the laws (sym/laws.md) and over int64 in the implementation: where a constant or coefficient would overflow, the
// expression is kept as written (a Sum or Product that may then hold Const operands), bounds become infinite and
// evaluate() gives nothing.
#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"

namespace dlcb::sym {

struct Expr {
  uint32_t id = UINT32_MAX;
  bool valid() const { return id != UINT32_MAX; }
  friend bool operator==(Expr, Expr) = default;
  friend auto operator<=>(Expr, Expr) = default;  // an arbitrary total order; never let it reach any output
};

enum class Kind : uint8_t {
  Const,       // value
  Symbol,      // name, SymbolKind
  Sum,         // constant + sum of coefficient * term; terms are not Const or Sum; higher degree first, then by name
  Product,     // two or more factors, none Const or Sum; products of sums are expanded, coefficients live in the Sum
  FloorDiv,    // floor(a / b); 0 when b == 0 (so that straight-line host code cannot trap)
  Mod,         // a - b * floor(a / b); 0 when b == 0
  Min,         // n-ary, sorted
  Max,         // n-ary, sorted
  Select,      // a != 0 ? b : c
  Eq,          // 0 or 1; like terms cancelled, positive coefficients on both sides, the leading term on the left
  Le,          // 0 or 1; likewise: x >= 3 is 3 <= x, x < 3 is x <= 2
  Lt,          // 0 or 1; only where <= would need a constant: i + 1 <= H is i < H
  And,         // n-ary over booleans, sorted
  Or,          // n-ary over booleans, sorted
  Not,         // of anything but Le, Lt and Not
  FloorScale,  // floor(a * scale), the size rule of Resize; in f32 if scale is an f32 number, else in f64 (scale.h)
  CeilScale,   // ceil of the same
};

enum class SymbolKind : uint8_t {
  Dim,    // an input dim, fixed for one invocation, >= 0
  Data,   // an integer read from a tensor: a host read (shape-like input) or, in a kernel, a loaded coordinate
  Index,  // a loop or element index, 0 <= i < extent
  Param,  // anything else that the host knows before a launch (pointer alignment, ...)
};

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();  // read as minus infinity in bounds
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();  // read as plus infinity in bounds

struct Bounds {
  int64_t lo = kMin, hi = kMax;  // inclusive
  friend bool operator==(const Bounds&, const Bounds&) = default;
};

// A known congruence: value = remainder (mod modulus). modulus 1 says nothing; modulus 0 means exactly `remainder`.
struct Congruence {
  int64_t modulus = 1, remainder = 0;
};

enum class Tri : uint8_t { No, Yes, Unknown };

class Facts;
struct Learned;  // sym/prover.h

// Owns the nodes. One Store serves one compilation; thread-compatible (reads are const and may run concurrently).
// Every constructor canonicalises: see laws.md for the normal form. Content hashes depend on structure and symbol names
// only, so they are the same in every run and on every machine.
class Store {
 public:
  Store();
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  Expr constant(int64_t value);
  // A new symbol; `name` must be unused (throws InternalError otherwise). bounds are inclusive facts about its value.
  Expr symbol(std::string_view name, SymbolKind kind, Bounds bounds = {0, kMax});
  // Like symbol, but appends .1, .2 ... when the name is taken.
  Expr fresh(std::string_view hint, SymbolKind kind, Bounds bounds = {0, kMax});
  // The Param that the compiler itself calls `name`, made on first use. A symbol of the model may have that name too:
  // it is another one, and the Param gets a suffix as from fresh().
  Expr param(std::string_view name, Bounds bounds = {0, kMax});
  // An index symbol with 0 <= i < extent; the extent (any expression) is kept and used by the prover.
  Expr index(std::string_view hint, Expr extent);
  std::optional<Expr> find_symbol(std::string_view name) const;

  Expr add(Expr a, Expr b);
  Expr add(std::span<const Expr> terms);
  Expr sub(Expr a, Expr b);
  Expr neg(Expr a);
  Expr mul(Expr a, Expr b);
  Expr mul(std::span<const Expr> factors);  // empty: 1
  Expr floordiv(Expr a, Expr b);
  Expr mod(Expr a, Expr b);
  Expr ceildiv(Expr a, Expr b);  // floordiv(a + b - 1, b), b > 0
  Expr min(Expr a, Expr b);
  Expr max(Expr a, Expr b);
  Expr select(Expr cond, Expr a, Expr b);
  Expr eq(Expr a, Expr b);
  Expr ne(Expr a, Expr b);
  Expr le(Expr a, Expr b);
  Expr lt(Expr a, Expr b);
  Expr logical_and(Expr a, Expr b);
  Expr logical_or(Expr a, Expr b);
  Expr logical_not(Expr a);
  Expr floor_scale(Expr a, double scale);  // exact integer form when scale or 1/scale is an integer
  Expr ceil_scale(Expr a, double scale);

  Kind kind(Expr e) const;
  std::optional<int64_t> as_const(Expr e) const;
  bool is_const(Expr e, int64_t value) const { return as_const(e) == value; }
  // Operands in canonical order. For Sum: the terms (coefficients through coefficients()). Empty for Const and Symbol.
  // The span is valid until the next constructor call.
  std::span<const Expr> operands(Expr e) const;
  std::span<const int64_t> coefficients(Expr e) const;  // Sum: one per term
  int64_t sum_constant(Expr e) const;                   // Sum: the added constant; Const: its value; else 0
  double scale(Expr e) const;                           // FloorScale, CeilScale
  std::string_view symbol_name(Expr e) const;
  SymbolKind symbol_kind(Expr e) const;
  Expr index_extent(Expr e) const;  // Index symbols made by index(); invalid Expr otherwise
  uint64_t content_hash(Expr e) const;
  // Free symbols, sorted by first creation. Cached.
  std::span<const Expr> symbols(Expr e) const;
  bool contains(Expr e, Expr symbol) const;
  bool has_symbol_of(Expr e, SymbolKind kind) const;

  // Bounds and congruence from the expression's own structure and the symbols' declared bounds (no Facts).
  Bounds bounds(Expr e) const;
  Congruence congruence(Expr e) const;

  // Replaces symbols (capture cannot happen: there are no binders here). Memoised within one call.
  Expr substitute(Expr e, const std::unordered_map<uint32_t, Expr>& by_symbol_id);
  Expr substitute(Expr e, Expr symbol, Expr value);
  // Narrows what is known of a symbol for ever (user ranges: N=1..8) and recomputes all bounds. Expressions made before
  // keep their form; Facts::simplify and substitute rebuild them.
  void restrict(Expr symbol, Bounds bounds);

  // The value for given symbol values, or nothing if one is missing or an overflow occurs. Semantics of the host
  // program.
  std::optional<int64_t> evaluate(Expr e, const std::function<std::optional<int64_t>(Expr)>& value_of_symbol) const;

  size_t size() const;  // nodes made so far

  struct Impl;  // sym/store_impl.h, for compiler/sym alone
  Impl& impl() const { return *impl_; }

 private:
  Impl* impl_;
};

// Every node reachable from the roots, each once, operands before users, in an order that depends on the roots alone.
std::vector<Expr> topological(const Store& store, std::span<const Expr> roots);

// What holds beyond the symbols' own bounds: proved equalities and guards already checked. Copyable.
// Questions may intern helper expressions in the Store, so Facts of one Store belong to one thread at a time.
class Facts {
 public:
  explicit Facts(Store& store) : store_(&store) {}
  // Learns that a boolean expression is true (Eq, Le, Lt, And, divisibility as Eq(Mod(a, k), 0), ...).
  void assume(Expr condition);
  std::span<const Expr> assumptions() const { return assumed_; }
  Store& store() const { return *store_; }

  // The prover: intervals, congruences, assumed equalities. Never guesses; Unknown is the honest answer.
  Tri prove(Expr condition) const;
  bool proves(Expr condition) const { return prove(condition) == Tri::Yes; }
  bool equal(Expr a, Expr b) const;  // proves(eq(a, b))
  Bounds bounds(Expr e) const;
  // True if `divisor` (> 0) divides e for every legal symbol value.
  bool divides(int64_t divisor, Expr e) const;
  // Rewrites e to a simpler expression that is equal under these facts (rule table with guards, solved equalities).
  Expr simplify(Expr e) const;

 private:
  Tri prove_by_cases(Expr condition, int depth) const;

  Store* store_;
  std::vector<Expr> assumed_;
  std::shared_ptr<Learned> learned_;  // null when nothing was assumed; copied before a change when shared
};

// Text: N*C + 2, (H + 1)//2, H % 32, min(a, b), max(a, b), select(c, a, b), a == b, a <= b, a < b, a and b, a or b, not
// a, floor_scale(x, 0.5), ceil_scale(x, 0.5). Precedence as in Python. Symbol names that are not identifiers
// ([A-Za-z_][A-Za-z0-9_.]*) are written in backquotes with backslash escapes. Long parts that occur more than once are
// named: $2*$2 where $2 = max(0, $1 - 3); $1 = .... parse(print(e)) is e, and its size is linear in the nodes.
std::string print(const Store& store, Expr e);
// For people: as print, but names are given only where the text in full has more than `limit` characters, and more of
// them; then long lists of operands, and definitions that lie deep, end in "...".
std::string outline(const Store& store, Expr e, size_t limit = 160);
// Several that are read together share their definitions.
struct Outline {
  std::vector<std::string> texts;
  std::string where;  // follows them: "" or " where $1 = ..."
};
Outline outline(const Store& store, std::span<const Expr> list, size_t limit = 160);
// What a text that is read piece by piece has defined.
using Definitions = std::unordered_map<std::string, Expr>;
// Unknown names become Dim symbols when declare_unknown, else an error.
Result<Expr> parse(Store& store, std::string_view text, bool declare_unknown, const Definitions& known = {});

}  // namespace dlcb::sym
