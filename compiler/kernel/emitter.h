// Turns expressions into straight-line kernel text, for all elements that a thread works on at once. A value is kept at
// the coarsest level at which it is the same (one per thread, one per vector, one per element), so what is invariant is
// computed once and no text is repeated. Values are named scalars, never arrays: an array indexed in a kept loop would
// go to local memory.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "kernel/lowered.h"
#include "kernel/params.h"

namespace dlcb::kernel {

enum class Level : uint8_t { Uniform, Group, Slot };  // per thread, per vector of consecutive elements, per element

// Names of a value; Uniform: 1, Group: groups * sides, Slot: groups * width.
struct Val {
  Level level = Level::Uniform;
  std::vector<std::string> names;
};

// A thread's elements: `groups` vectors of `width` elements. With sides == 2 a vector may run over the end of an inner
// row; outer coordinates then have two values per group, before and after the end.
struct Shape {
  int groups = 1, width = 1, sides = 1;
  int slots() const { return groups * width; }
  int count(Level level) const {
    return level == Level::Uniform ? 1 : level == Level::Group ? groups * sides : slots();
  }
};

class Emitter {
 public:
  Emitter(Lowered& region, Params& params, Shape shape);
  ~Emitter();

  // ---- values
  Val index(sym::Expr e);  // i32
  Val value(ops::Scalar s);
  // A load's elements as they lie in memory (halves as bits), for copying.
  Val bits(ops::Scalar load);
  // Issues a load whose value is asked for later, so that several are in flight together.
  void fetch(ops::Scalar load);
  // Whether it has been, or its value is known.
  bool knows(ops::Scalar load) const;
  // The same for a load that the schedule has done on its own; known in the scope that is open.
  void set_bits(ops::Scalar load, Val v);
  // Memory element (any dtype) at an offset; honours the current guard.
  void store(size_t output, const Val& v, const Val* predicate) { put(output, v, predicate, false); }
  // As they lie in memory: what bits() gave.
  void store_bits(size_t output, const Val& v, const Val* predicate) { put(output, v, predicate, true); }
  // Stores the output's body; a last rounding to 16 bits is left to the store.
  void store_body(size_t output, const Val* predicate);
  // Or gives it as text of what would be stored, for each element.
  Val body_bits(size_t output);

  // ---- the schedule tells what loop symbols are
  void bind(sym::Expr symbol, Val v) { bind_in_scope(symbol, std::move(v)); }
  // A value that the schedule itself computed (reductions, tiles); known wherever the symbols it depends on are bound.
  void set_value(ops::Scalar s, Val v);
  // Slot symbol along which vectors lie: its value in slot w of a group is base + w (modulo the row when sides == 2).
  struct Vector {
    sym::Expr symbol;               // invalid: none
    std::vector<std::string> base;  // i32, per group
    // base[g] is origin[g] plus the literal distance[g], for the immediate operand of accesses; empty: no such form.
    std::vector<std::string> origin;
    std::vector<int64_t> distance;
    sym::Expr flat;  // offset expression that equals `flat_base` in slot 0 of a group; invalid: none
    std::vector<std::string> flat_base;
    std::vector<std::string> full;      // per group: the whole vector is inside; empty: always
    std::string flat_end;               // first invalid flat index, with `full`
    std::vector<sym::Expr> multiples;   // invariant expressions assumed to be multiples of the width
    std::vector<std::string> crossed;   // sides == 2, per slot: past the end of the row
    std::vector<std::string> crossing;  // sides == 2, per group: some slot is
  };
  Vector vector;
  // What vector accesses rely on and was neither assumed nor proved: divisibility, alignment of callers' pointers.
  std::vector<sym::Expr> conditions;

  // ---- text
  void line(const std::string& text);
  void append(const std::string& lines);
  std::string fresh(std::string_view prefix);
  // A constant of the thread, known where values of this scope are; its name.
  std::string constant(std::string_view type, std::string_view prefix, const std::string& value);
  Val define(std::string_view type, std::string_view prefix, Level level, const std::function<std::string(int)>& text);
  // Name of v's value in lane `lane` of a finer or equal level.
  std::string at(const Val& v, Level level, int lane);
  static Level finest(std::initializer_list<Level> levels);
  static Level finest(Level a, Level b) { return a < b ? b : a; }

  // A nested scope: what is bound in it, and all values that depend on that, are forgotten at its end. Loops have their
  // own text; bindings and guards go on with their parent's, guards make loads conditional.
  struct Scope;
  void open_loop(std::vector<sym::Expr> symbols);
  std::string close_loop();  // the text inside
  // A loop body that is written in parts, with other text between them: its values are declared around it and kept.
  size_t make_block(std::vector<sym::Expr> symbols);
  void enter(size_t block);
  void guard_block(const Val& guard);  // of the block entered
  std::string leave();                 // the text since enter()
  // Loads of values that depend on `symbols` (or, if none are given, unsafe loads) are conditional on `guard` from here
  // on.
  void open_guard(std::vector<sym::Expr> symbols, const Val& guard);
  void open_bindings(std::vector<sym::Expr> symbols);
  void close_bindings();            // of open_guard and open_bindings
  const std::string& text() const;  // of the outermost scope

  // Adds to `conditions` that accesses of `bytes` to the tensor are aligned where its elements' offsets are.
  void need_alignment(const Tensor& tensor, int bytes);

  Shape shape;

 private:
  // Where a load or store lands: whole vectors (one offset a group), or one offset per lane of `offset`.
  struct Access {
    bool vector = false;
    Val offset;
  };
  void bind_in_scope(sym::Expr symbol, Val v);
  void name_constant(std::string_view type, const std::string& name, const std::string& value);
  void variable(std::string_view type, const std::string& name, std::string_view value);
  const Val* lookup(uint64_t key) const;
  Val remember(uint64_t key, Val v);
  Val rounded_body(size_t output);
  Scope* home(const std::vector<sym::Expr>& symbols, bool unsafe);
  Val build_index(sym::Expr e);
  Val chain(sym::Expr e);
  Val sum_of_products(sym::Expr e);
  Val floor_division(sym::Expr e);
  Val comparison(sym::Expr e);
  bool same_in_vector(sym::Expr comparison);
  Val build_value(ops::Scalar s);
  Val load(ops::Scalar s);
  Val shifted(const std::vector<std::string>& base, sym::Expr by);
  Val along_vector(sym::Expr by);
  Val vector_load(size_t input, const Access& access, bool as_bits);
  Val plain_load(size_t input, const Val& offset, bool as_bits);
  Val select(const ops::ScalarNode& node);
  void put(size_t output, const Val& v, const Val* predicate, bool as_bits);
  Val divide(const ops::ScalarNode& node);
  std::string real(DType type, double value);  // a constant: literal or parameter
  Val serial_reduce(ops::Scalar s);
  Access access(sym::Expr offset);
  Val flat_lanes(sym::Expr by);
  bool multiple(sym::Expr e);
  bool multiple_or_condition(sym::Expr e);
  uint64_t structure(sym::Expr e);
  const Val* guard() const;

  Lowered& region_;
  Params& params_;
  std::unordered_set<uint32_t> coarse_;  // see coarse_values()
  std::unique_ptr<Scope> root_;
  Scope* current_;
  std::vector<std::unique_ptr<Scope>> blocks_;
  std::unordered_map<std::string, int> counters_;
};

}  // namespace dlcb::kernel
