// Inside the Store: nodes in one vector, operands and coefficients in two pools, everything known about a node in side
// vectors indexed by id. An operand's id is always smaller than its user's, so one forward sweep recomputes any side
// vector. Private to compiler/sym.
#pragma once
#include <functional>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "sym/expr.h"
#include "sym/poly.h"

namespace dlcb::sym {

class Prover;

struct Node {
  Kind kind = Kind::Const;
  SymbolKind symbol_kind = SymbolKind::Dim;
  bool opaque = false;  // Sum or Product whose folding overflows int64: kept as written, an atom to everything else
  uint32_t first = 0, count = 0;  // in Impl::pool
  uint32_t first_coef = 0;        // in Impl::coefs (Sum)
  int64_t value = 0;  // Const: value; Sum: constant; Symbol: index in Impl::symbols; scales: bits of the double
  uint64_t hash = 0;
};

struct SymbolInfo {
  std::string name;
  Bounds declared;
  Expr extent;  // Index symbols made by index()
};

struct Store::Impl {
  Store* store;
  std::vector<Node> nodes;
  std::vector<Expr> pool;
  std::vector<int64_t> coefs;
  std::vector<SymbolInfo> symbols;
  std::unordered_map<std::string, uint32_t> by_name;
  std::unordered_map<std::string, uint32_t> params;  // by what the compiler calls them
  std::unordered_map<std::string, int> last_suffix;  // of fresh names, by hint
  struct Slot {
    uint32_t id = UINT32_MAX;  // empty
    uint32_t tag = 0;          // high half of the content hash, so that most mismatches cost no look at the node
  };
  std::vector<Slot> table;  // open addressing by content hash
  // Results of the constructors that ask the prover, by operands: memo[kind][a, b]. Emptied by restrict().
  std::unordered_map<uint64_t, Expr> memo[static_cast<size_t>(Kind::CeilScale) + 1];

  std::vector<Bounds> bounds;
  std::vector<Congruence> congruences;
  std::vector<uint32_t> set_of;  // index in symbol_sets
  std::vector<std::vector<Expr>> symbol_sets;
  std::unordered_map<uint64_t, uint32_t> set_unions;  // (a, b) -> union
  std::unordered_map<uint64_t, std::vector<uint32_t>> set_by_hash;

  // --- nodes (store.cpp)
  const Node& node(Expr e) const { return nodes[e.id]; }
  std::span<const Expr> operands(Expr e) const { return {pool.data() + node(e).first, node(e).count}; }
  std::span<const int64_t> coefficients(Expr e) const { return {coefs.data() + node(e).first_coef, node(e).count}; }
  bool is_const(Expr e) const { return node(e).kind == Kind::Const; }
  bool is_const(Expr e, int64_t v) const { return is_const(e) && node(e).value == v; }
  bool is_boolean(Expr e) const { return bounds[e.id].lo >= 0 && bounds[e.id].hi <= 1; }
  Expr intern(Kind kind, std::span<const Expr> operands, int64_t value = 0, std::span<const int64_t> coefficients = {},
              bool opaque = false);
  Expr constant(int64_t v) { return intern(Kind::Const, {}, v); }
  Expr add_symbol(std::string name, SymbolKind kind, Bounds b, Expr extent);
  uint32_t union_sets(uint32_t a, uint32_t b);
  uint32_t intern_set(std::vector<Expr> set);
  void learn(uint32_t id);  // fills bounds and congruences of node id from those of smaller ids
  void rehash(size_t slots);
  template <class Make>
  Expr memoised(Kind kind, Expr a, Expr b, Make make) {
    uint64_t key = uint64_t{a.id} << 32 | b.id;
    auto& known = memo[static_cast<size_t>(kind)];
    if (auto it = known.find(key); it != known.end()) return it->second;
    Expr e = make();
    known.emplace(key, e);
    return e;
  }
  bool equals(const Node& n, Expr candidate, std::span<const Expr> ops, std::span<const int64_t> cs) const;

  // --- order (order.cpp): by content only, the same in every run
  int compare(Expr a, Expr b) const;        // of any two expressions
  int compare_terms(Expr a, Expr b) const;  // graded lexicographic: higher degree first; compatible with multiplication
  std::span<const Expr> factors(const Expr& mono) const;  // the operands of a Product, else the atom itself

  // --- polynomials (poly.cpp)
  Poly to_poly(Expr e) const;
  Expr from_poly(const Poly& p);
  void normalise(Poly& p) const;  // sorts, merges equal monomials, drops zeros
  Poly add(const Poly& a, const Poly& b, int64_t scale_b = 1) const;
  Poly mul(const Poly& a, const Poly& b);
  Expr mul_monomials(Expr a, Expr b);
  std::optional<Expr> div_monomials(Expr a, Expr b);  // a / b when b's factors are among a's; 1 is constant(1)
  Bounds poly_bounds(const Poly& p) const;
  // p = quotient * divisor + remainder, by long division on leading terms (law 12). False when nothing divides.
  bool divide(const Poly& p, const Poly& divisor, Poly* quotient, Poly* remainder);

  // --- canonical forms (canon_*.cpp). The prover says what may be assumed beyond structure.
  Expr sum(std::span<const Expr> terms);
  Expr product(Expr a, Expr b);
  Expr recombined(const Poly& p);  // as from_poly, with quotients and remainders of the same brought together
  Expr recombine_div_mod(const Poly& p);
  Expr floordiv(Prover& k, Expr a, Expr b);
  Expr floordiv_const(Prover& k, Poly p, int64_t b);  // b > 0
  Poly floordiv_residue(Prover& k, const Poly& r, int64_t b);
  struct Separated {
    Poly factor, high, low, rest;
  };
  std::optional<Separated> separating_factor(Prover& k, const Poly& p, const Poly& d,
                                             const std::function<bool(const Separated&)>& usable);
  std::optional<Expr> absorb_division(Prover& k, const Poly& r, int64_t b);
  Expr floordiv_symbolic(Prover& k, Expr a, Expr b);
  Expr mod(Prover& k, Expr a, Expr b);
  Expr mod_const(Prover& k, Poly p, int64_t b);
  Expr min_max(Prover& k, Kind kind, std::span<const Expr> operands);
  Expr select(Expr c, Expr a, Expr b);
  Expr eq(Expr a, Expr b);
  Expr le(Expr a, Expr b);
  Expr truth(Expr e);  // e != 0
  Expr logical_not(Expr e);
  Expr and_or(Kind kind, std::span<const Expr> operands);
  Expr scale_op(Kind kind, Expr a, double scale);
  // The same node over other operands, through the canonical constructors.
  Expr rebuild(Prover& k, Expr e, std::span<const Expr> operands);
};

}  // namespace dlcb::sym
