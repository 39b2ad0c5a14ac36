// What an operator computes for one output element, as an immutable expression over loads at integer coordinates. One
// form serves everything that must know what an operator means: the CPU reference, constant folding, symbolic
// evaluation of shape tensors, fusion (which is substitution of coordinates) and kernel generation. Interned like
// sym::Expr.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/dtype.h"
#include "sym/expr.h"

namespace dlcb::ops {

struct ValueId {  // a tensor of the graph (graph/graph.h owns them)
  uint32_t id = UINT32_MAX;
  bool valid() const { return id != UINT32_MAX; }
  friend bool operator==(ValueId, ValueId) = default;
  friend auto operator<=>(ValueId, ValueId) = default;
};

struct Scalar {
  uint32_t id = UINT32_MAX;
  bool valid() const { return id != UINT32_MAX; }
  friend bool operator==(Scalar, Scalar) = default;
  friend auto operator<=>(Scalar, Scalar) = default;
};

enum class ScalarKind : uint8_t {
  ConstF,  // double, of a float dtype
  ConstI,  // int64, of an integer or bool dtype
  Load,    // tensor element at coordinates
  Index,   // an integer expression (over index, dim, data symbols) as a value of an integer dtype; of Bool: a 0/1
           // expression
  Unary,
  Binary,
  Select,  // lazy: a Load in the side that is not taken may have coordinates outside its tensor and must not be
           // executed
  Cast,    // to integers: toward zero; to Bool: != 0
  Reduce,  // over one or more bound index symbols
};

// Float functions are the mathematical ones; for integers Div truncates toward zero and Mod takes the sign of the
// divisor (Python), Rem that of the dividend (C). Floor, Ceil, Round (half to even) are identities on integers.
// Comparisons give Bool.
enum class Fn : uint8_t {
  // unary
  Neg,
  Abs,
  Sign,
  Exp,
  Log,
  Sqrt,
  Rsqrt,
  Reciprocal,
  Erf,
  Tanh,
  Sigmoid,
  Sin,
  Cos,
  Tan,
  Asin,
  Acos,
  Atan,
  Sinh,
  Cosh,
  Asinh,
  Acosh,
  Atanh,
  Floor,
  Ceil,
  Round,
  IsNan,
  IsInf,
  Not,
  BitNot,
  // binary
  Add,
  Sub,
  Mul,
  Div,       // in kernels within 2 ulp
  DivExact,  // of floats: correctly rounded, where what follows would make an error of 1 ulp large (fuse/exact.h)
  Mod,
  Rem,
  Pow,
  Min,
  Max,
  Eq,
  Ne,
  Lt,
  Le,
  And,
  Or,
  Xor,
  BitAnd,
  BitOr,
  BitXor,
  Shl,
  Shr,
};
enum class ReduceFn : uint8_t { Sum, Prod, Min, Max };  // Min and Max propagate NaN; empty: 0, 1, +inf, -inf

struct ScalarNode {
  ScalarKind kind;
  DType dtype;
  Fn fn{};                          // Unary, Binary
  ReduceFn reduce{};                // Reduce (accumulates floats in f32, f64 in f64, integers in their own type)
  double f = 0;                     // ConstF
  int64_t i = 0;                    // ConstI
  ValueId value{};                  // Load
  sym::Expr index{};                // Index
  std::vector<sym::Expr> coords{};  // Load: one per dim; Reduce: the bound index symbols
  std::vector<Scalar> operands{};   // Unary 1, Binary 2, Select 3 (bool, a, b), Cast 1, Reduce 1
};

// A coordinate that depends on data (gather): `symbol` (Data kind) stands for the integer that `value` computes. In
// coordinates only the symbol occurs; whoever evaluates or emits an expression looks the binding up here.
struct DataBinding {
  sym::Expr symbol;
  Scalar value;
};

// Which of the indices that Reduce nodes bind a symbol is: those of inner reductions are lower.
struct BoundIndex {
  uint32_t height, position;
};

// Owns scalar expressions; reduction indices are renamed to canonical ones, so expressions that differ only in the
// names of bound indices are the same Scalar. Constructors fold constants and apply exact identities only (x + 0 is
// kept for floats where it changes -0 or NaN). Thread-compatible.
class ScalarStore {
 public:
  explicit ScalarStore(sym::Store& sym);
  ~ScalarStore();
  ScalarStore(const ScalarStore&) = delete;
  ScalarStore& operator=(const ScalarStore&) = delete;

  Scalar constant_f(DType t, double v);
  Scalar constant_i(DType t, int64_t v);
  Scalar constant(DType t, double v);  // by dtype
  Scalar load(DType t, ValueId value, std::vector<sym::Expr> coords);
  Scalar index(DType t, sym::Expr e);
  Scalar unary(Fn fn, Scalar a);
  Scalar binary(Fn fn, Scalar a, Scalar b);
  Scalar select(Scalar cond, Scalar a, Scalar b);
  Scalar cast(DType t, Scalar a);
  Scalar reduce(ReduceFn fn, std::vector<sym::Expr> indices, Scalar body);

  // The Data symbol that stands for an integer scalar in coordinates; the same scalar gives the same symbol.
  // An Index scalar needs none: use its expression. bounds: what is known of the value.
  sym::Expr as_coordinate(Scalar integer, sym::Bounds bounds = {});
  // The scalar behind a Data symbol made by as_coordinate; invalid Scalar for host-read symbols.
  Scalar binding(sym::Expr data_symbol) const;
  // Nothing for a symbol that no Reduce binds.
  std::optional<BoundIndex> bound_index(sym::Expr symbol) const;

  const ScalarNode& node(Scalar s) const;
  DType dtype(Scalar s) const { return node(s).dtype; }
  // Free symbols, those of data bindings included, without bound indices; in order of symbol id.
  std::span<const sym::Expr> symbols(Scalar s) const;
  uint64_t content_hash(Scalar s) const;  // structure, dtypes, value ids; stable across runs

  // Replaces symbols in all coordinates, indices and data bindings (which get new Data symbols where their scalars
  // change). Bound indices of Reduce nodes are not free and are left alone. Memoised within one call.
  Scalar substitute(Scalar s, const std::unordered_map<uint32_t, sym::Expr>& by_symbol_id);
  // Replaces every Load of `value` by make(coords): this is fusion.
  Scalar inline_load(Scalar s, ValueId value, const std::function<Scalar(std::span<const sym::Expr>)>& make);
  // Loads reachable from s, bindings included, each once, in deterministic (first reached) order.
  std::vector<Scalar> loads(Scalar s) const;

  sym::Store& sym() const { return *sym_; }

 private:
  void canonicalise(std::vector<sym::Expr>& indices, Scalar& body);
  std::vector<sym::Expr> stand_ins(const std::vector<sym::Expr>& indices, Scalar body);

  struct Impl;
  sym::Store* sym_;
  std::unique_ptr<Impl> impl_;
};

// Text: x[i, j + 1], x[{ids[i]}, j] (a coordinate read from data), exp(a), a + b, sum[k0 < C](a * b), cast<f16>(a),
// select(c, a, b), index<i64>(i + 2). Long parts that occur more than once are named behind it: $1 * $1 where $1 = ....
// `name_of` names values. Texts that hold several: scalar_text.h.
std::string print(const ScalarStore& store, Scalar s, const std::function<std::string(ValueId)>& name_of);

}  // namespace dlcb::ops
