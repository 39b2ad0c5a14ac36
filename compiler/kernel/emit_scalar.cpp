// Scalar expressions: loads (as vectors where they lie along one), arithmetic, lazy selects, small serial reductions.
#include <fmt/format.h>

#include <algorithm>

#include "kernel/ctext.h"
#include "kernel/scope.h"

namespace dlcb::kernel {

using ops::Fn;
using ops::Scalar;
using ops::ScalarKind;
using ops::ScalarNode;
using sym::Expr;

Val Emitter::value(Scalar s) {
  if (const Val* known = lookup(memo_key(MemoKind::Value, s.id))) return *known;
  Scope* saved = current_;
  current_ = home(region_.symbols(s), region_.unsafe(s));
  Val v = remember(memo_key(MemoKind::Value, s.id), build_value(s));
  current_ = saved;
  return v;
}

Val Emitter::build_value(Scalar s) {
  const ScalarNode node = region_.scalars.node(s);
  auto type_of = [&](Scalar x) { return region_.scalars.dtype(x); };
  switch (node.kind) {
    case ScalarKind::ConstF:
      return {Level::Uniform, {real(node.dtype, node.f)}};
    case ScalarKind::ConstI:
      return {Level::Uniform, {integer_text(node.dtype, node.i)}};
    case ScalarKind::Load:
      return load(s);
    case ScalarKind::Index: {
      Val v = index(node.index);
      if (node.dtype == DType::I32) return v;
      std::string_view type = register_type(node.dtype);
      return define(type, "v", v.level, [&](int lane) { return cast_text(DType::I32, node.dtype, v.names[lane]); });
    }
    case ScalarKind::Unary: {
      Val a = value(node.operands[0]);
      DType t = coarse_.contains(s.id) ? DType::F16 : type_of(node.operands[0]);
      return define(register_type(node.dtype), "v", a.level,
                    [&](int lane) { return unary_text(node.fn, t, a.names[lane]); });
    }
    case ScalarKind::Cast: {
      Val a = value(node.operands[0]);
      DType t = type_of(node.operands[0]);
      return define(register_type(node.dtype), "v", a.level,
                    [&](int lane) { return cast_text(t, node.dtype, a.names[lane]); });
    }
    case ScalarKind::Binary: {
      if (node.fn == Fn::Div && is_float(node.dtype) && node.dtype != DType::F64) return divide(node);
      Val a = value(node.operands[0]), b = value(node.operands[1]);
      DType t = type_of(node.operands[0]);
      Level level = finest(a.level, b.level);
      return define(register_type(node.dtype), "v", level,
                    [&](int lane) { return binary_text(node.fn, t, at(a, level, lane), at(b, level, lane)); });
    }
    case ScalarKind::Select:
      return select(node);
    case ScalarKind::Reduce:
      return serial_reduce(s);
  }
  return {};
}

std::string Emitter::real(DType type, double value) {
  return type == DType::F64 ? float_text(type, value) : params_.real(static_cast<float>(value));
}

// Dividing many elements by one value: one reciprocal, then products (within 2 ulp).
Val Emitter::divide(const ScalarNode& node) {
  Scalar divisor = node.operands[1];
  const ScalarNode& d = region_.scalars.node(divisor);
  Val a = value(node.operands[0]);
  if (d.kind == ScalarKind::ConstF && d.f != 0) {
    std::string inverse = real(node.dtype, 1 / d.f);
    return define("float", "v", a.level, [&](int lane) { return fmt::format("{} * {}", a.names[lane], inverse); });
  }
  Val b = value(divisor);
  Level level = finest(a.level, b.level);
  if (b.level >= level || shape.count(level) == shape.count(b.level)) {
    return define("float", "v", level,
                  [&](int lane) { return fmt::format("divf_({}, {})", at(a, level, lane), at(b, level, lane)); });
  }
  const uint64_t key = memo_key(MemoKind::Reciprocal, divisor.id);
  if (!lookup(key)) {
    Scope* saved = current_;
    current_ = home(region_.symbols(divisor), region_.unsafe(divisor));
    remember(key,
             define("float", "v", b.level, [&](int lane) { return fmt::format("divf_(1.0f, {})", b.names[lane]); }));
    current_ = saved;
  }
  Val inverse = *lookup(key);
  return define("float", "v", level,
                [&](int lane) { return fmt::format("{} * {}", at(a, level, lane), at(inverse, level, lane)); });
}

Val Emitter::select(const ScalarNode& node) {
  Val c = value(node.operands[0]);
  auto side = [&](Scalar s, bool taken) {
    if (!region_.unsafe(s)) return value(s);
    Val guard = taken ? c : define("bool", "g", c.level, [&](int lane) { return "!" + c.names[lane]; });
    open_guard({}, guard);
    Val v = value(s);
    close_bindings();
    return v;
  };
  Val a = side(node.operands[1], true), b = side(node.operands[2], false);
  Level level = finest({c.level, a.level, b.level});
  return define(register_type(node.dtype), "v", level, [&](int lane) {
    return fmt::format("{} ? {} : {}", at(c, level, lane), at(a, level, lane), at(b, level, lane));
  });
}

// The innermost index of a window is unrolled here, whatever the device compiler does with loops: its loads are then in
// flight together, and what does not depend on it is computed once around the copies.
Val Emitter::serial_reduce(Scalar s) {
  constexpr int64_t kUnrolled = 8;
  const ScalarNode node = region_.scalars.node(s);
  const std::vector<Expr>& symbols = node.coords;
  const auto inner = region_.sym.as_const(region_.sym.index_extent(symbols.back()));
  const bool unrolled = inner && *inner <= kUnrolled;
  const std::vector<Expr> looped(symbols.begin(), symbols.end() - (unrolled ? 1 : 0));
  std::vector<std::string> heads;
  std::vector<Val> loops;
  for (Expr symbol : looped) {
    Val extent = index(region_.sym.index_extent(symbol));
    DLCB_CHECK(extent.level == Level::Uniform, "the extent of a reduction differs between elements");
    std::string name = fresh("r");
    heads.push_back(fmt::format("for (i32 {0} = 0; {0} < {1}; ++{0}) {{", name, extent.names[0]));
    loops.push_back({Level::Uniform, {name}});
  }
  open_loop(looped);
  for (size_t i = 0; i < loops.size(); i++) bind(looped[i], loops[i]);
  Val sum;
  auto accumulate = [&] {
    Val v = value(node.operands[0]);
    if (sum.names.empty()) {
      sum.level = v.level;
      for (int lane = 0; lane < shape.count(v.level); lane++) sum.names.push_back(fresh("a"));
    }
    for (size_t lane = 0; lane < sum.names.size(); lane++) {
      const std::string& name = sum.names[lane];
      line(fmt::format("{} = {};", name,
                       reduce_text(node.reduce, node.dtype, name, at(v, sum.level, static_cast<int>(lane)))));
    }
  };
  for (int64_t i = 0; unrolled && i < *inner; i++) {
    open_bindings({symbols.back()});
    bind(symbols.back(), {Level::Uniform, {fmt::format("{}", i)}});
    accumulate();
    close_bindings();
  }
  if (!unrolled) accumulate();
  if (unrolled && *inner == 0) sum = {Level::Uniform, {fresh("a")}};
  std::string text = close_loop();
  for (const std::string& name : sum.names) {
    variable(register_type(node.dtype), name, reduce_identity(node.reduce, node.dtype));
  }
  for (const std::string& head : heads) line(head);
  *current_->text += text;
  if (!heads.empty()) line(std::string(heads.size(), '}'));
  return sum;
}

// `base` plus an offset that is the same in each vector.
Val Emitter::shifted(const std::vector<std::string>& base, Expr by) {
  if (region_.sym.is_const(by, 0)) return Val{Level::Group, base};
  Val shift = index(by);
  Shape whole = shape;
  shape.sides = 1;  // one offset a vector
  Val v = define("i32", "i", Level::Group,
                 [&](int group) { return fmt::format("{} + {}", base[group], at(shift, Level::Group, group)); });
  shape = whole;
  return v;
}

// The same for vector.base, where literal distances of vectors stay literals.
Val Emitter::along_vector(Expr by) {
  if (vector.origin.empty()) return shifted(vector.base, by);
  const uint64_t key = memo_key(MemoKind::Origin, by.id);
  const Val* known = lookup(key);
  Val v = known ? *known : remember(key, shifted(vector.origin, by));
  for (int group = 0; group < shape.groups; group++) {
    if (vector.distance[group] != 0) v.names[group] = fmt::format("({} + {})", v.names[group], vector.distance[group]);
  }
  return v;
}

Emitter::Access Emitter::access(Expr offset) {
  sym::Store& sym = region_.sym;
  // Under a guard a vector must be wholly inside or outside, and tails are guards of their own.
  const bool guarded_whole = !guard() || (guard()->level != Level::Slot && shape.sides == 1 && vector.full.empty());
  const bool vectors = shape.width > 1 && guarded_whole;
  if (vector.flat.valid() && (vectors || shape.width == 1)) {
    Expr by = sym.sub(offset, vector.flat);
    if (!region_.variant(by) && (shape.width == 1 || multiple(by)))
      return {shape.width > 1, shifted(vector.flat_base, by)};
  }
  // Lane by lane, and still without coordinates: loops that only such offsets use are not split (needed_loops).
  if (vector.flat.valid() && shape.width > 1) {
    if (Expr by = sym.sub(offset, vector.flat); !region_.variant(by)) return {false, flat_lanes(by)};
  }
  const bool literal = shape.width == 1 && !vector.origin.empty();
  if ((vectors || literal) && vector.symbol.valid() && shape.sides == 1) {
    Expr slope, rest;
    const bool along = affine(region_, offset, vector.symbol, &slope, &rest) && sym.is_const(slope, 1);
    if (along && literal) return {false, {Level::Slot, along_vector(rest).names}};
    if (along && multiple_or_condition(rest)) return {true, along_vector(rest)};
  }
  return {false, index(offset)};
}

// The flat index plus `by` in each lane; lanes past the end, whose values are never stored, stay at the last element.
Val Emitter::flat_lanes(Expr by) {
  Val shift = index(by);
  return define("i32", "i", Level::Slot, [&](int slot) {
    std::string lane = fmt::format("{} + {}", vector.flat_base[slot / shape.width], slot % shape.width);
    if (!vector.flat_end.empty()) lane = fmt::format("({0} < {1} ? {0} : {1} - 1)", lane, vector.flat_end);
    return region_.sym.is_const(by, 0) ? lane : fmt::format("{} + {}", lane, at(shift, Level::Slot, slot));
  });
}

bool Emitter::knows(Scalar load) const {
  return lookup(memo_key(MemoKind::Bits, load.id)) || lookup(memo_key(MemoKind::Value, load.id));
}

void Emitter::fetch(Scalar load) {
  if (knows(load)) return;
  Scope* saved = current_;
  current_ = home(region_.symbols(load), region_.unsafe(load));
  remember(memo_key(MemoKind::Bits, load.id), bits(load));
  current_ = saved;
}

void Emitter::set_bits(Scalar load, Val v) { remember(memo_key(MemoKind::Bits, load.id), std::move(v)); }

Val Emitter::load(Scalar s) {
  const Lowered::Site site = region_.site(s);
  if (const Val* fetched = lookup(memo_key(MemoKind::Bits, s.id))) {
    const Val raw = *fetched;
    DType t = region_.scalars.dtype(s);
    if (register_type(t) == memory_type(t)) return raw;
    return define(register_type(t), "v", raw.level, [&](int lane) { return from_memory(t, raw.names[lane]); });
  }
  Access a = access(site.offset);
  return a.vector ? vector_load(site.input, a, false) : plain_load(site.input, a.offset, false);
}

Val Emitter::bits(Scalar load) {
  const Lowered::Site site = region_.site(load);
  Access a = access(site.offset);
  return a.vector ? vector_load(site.input, a, true) : plain_load(site.input, a.offset, true);
}

void Emitter::need_alignment(const Tensor& tensor, int bytes) {
  if (tensor.ours) return;
  Expr condition = region_.sym.le(region_.sym.constant(bytes), pointer_alignment(region_.sym, tensor.value));
  if (std::ranges::find(conditions, condition) == conditions.end()) conditions.push_back(condition);
}

Val Emitter::vector_load(size_t input, const Access& access, bool as_bits) {
  DType t = region_.region.inputs[input].dtype;
  const size_t bytes = size_of(t) * static_cast<size_t>(shape.width);
  need_alignment(region_.region.inputs[input], static_cast<int>(bytes));
  // Where control flow lies between the load and its use, small elements would become registers of their own.
  const bool words = current_->block && size_of(t) < 4 && bytes >= 4;
  std::string x = params_.input(input), pack = fmt::format("{}, {}", memory_type(t), shape.width);
  const std::string type = words ? fmt::format("V{}", bytes) : fmt::format("Pack<{}>", pack);
  auto element = [&](const std::string& r, int w) {
    if (!words) return fmt::format("{}.v[{}]", r, w);
    const size_t byte = size_of(t) * static_cast<size_t>(w);
    std::string word = bytes == 4 ? r + ".w" : fmt::format("{}.w[{}]", r, byte / 4);
    return byte % 4 == 0 ? fmt::format("{}({})", memory_type(t), word)
                         : fmt::format("{}({} >> {})", memory_type(t), word, byte % 4 * 8);
  };
  Val elements{Level::Slot, {}};
  for (int group = 0; group < shape.groups; group++) {
    const std::string& offset = access.offset.names[group];
    std::string r = fresh("r"),
                get = fmt::format("{}({} + {})", words ? "ldv<" + type + ">" : "ldp<" + pack + ">", x, offset);
    if (guard()) {
      variable(type, r, "{}");
      line(fmt::format("if ({}) {} = {};", at(*guard(), Level::Group, group), r, get));
    } else if (!vector.full.empty()) {
      variable(type, r, "{}");
      line(fmt::format("if ({}) {} = {}; else {{", vector.full[group], r, get));
      for (int w = 0; w < shape.width; w++) {
        line(fmt::format("  if ({} + {} < {}) {}.v[{}] = {}[{} + {}];", vector.flat_base[group], w, vector.flat_end, r,
                         w, x, offset, w));
      }
      line("}");
    } else {
      name_constant(type, r, get);
    }
    for (int w = 0; w < shape.width; w++) elements.names.push_back(element(r, w));
  }
  if (as_bits) return elements;
  return define(register_type(t), "v", Level::Slot, [&](int slot) { return from_memory(t, elements.names[slot]); });
}

Val Emitter::plain_load(size_t input, const Val& offset, bool as_bits) {
  DType t = region_.region.inputs[input].dtype;
  std::string x = params_.input(input);
  Level level = guard() ? finest(offset.level, guard()->level) : offset.level;
  const bool sided = level == Level::Group && shape.sides == 2;
  if (!guard() && !sided && as_bits) {
    return define(memory_type(t), "v", level, [&](int lane) { return fmt::format("{}[{}]", x, offset.names[lane]); });
  }
  if (!guard() && !sided) {
    return define(register_type(t), "v", level,
                  [&](int lane) { return from_memory(t, fmt::format("{}[{}]", x, offset.names[lane])); });
  }
  std::vector<std::string> bits;
  std::unordered_map<std::string, std::string> known;  // lanes of equal condition and offset share a load
  for (int lane = 0; lane < shape.count(level); lane++) {
    std::vector<std::string> when;
    if (guard()) when.push_back(at(*guard(), level, lane));
    if (sided && lane % 2 == 1) when.push_back(vector.crossing[lane / 2]);
    std::string from = at(offset, level, lane), r = fresh("r");
    if (!sided) {
      auto [known_at, is_new] = known.emplace(when[0] + "?" + from, r);
      bits.push_back(known_at->second);
      if (!is_new) continue;
    } else {
      bits.push_back(r);
    }
    variable(memory_type(t), r, sided && lane % 2 == 1 ? bits[lane - 1] : "0");
    std::string get = fmt::format("{} = {}[{}];", r, x, from);
    line(when.empty() ? get : guarded(fmt::format("{}", fmt::join(when, " && ")), get));
  }
  if (as_bits) return {level, bits};
  return define(register_type(t), "v", level, [&](int lane) { return from_memory(t, bits[lane]); });
}

// Without the rounding that a store does anyway.
Val Emitter::rounded_body(size_t output) {
  Scalar body = region_.body(output);
  const ScalarNode node = region_.scalars.node(body);
  const DType t = region_.region.outputs[output].tensor.dtype;
  const bool rounds = is_half(t) && node.kind == ScalarKind::Cast && node.dtype == t &&
                      region_.scalars.dtype(node.operands[0]) == DType::F32;
  return value(rounds ? node.operands[0] : body);
}

void Emitter::store_body(size_t output, const Val* predicate) { store(output, rounded_body(output), predicate); }

Val Emitter::body_bits(size_t output) {
  const DType t = region_.region.outputs[output].tensor.dtype;
  const Val v = rounded_body(output);
  Val bits{Level::Slot, {}};
  for (int s = 0; s < shape.slots(); s++) bits.names.push_back(to_memory(t, at(v, Level::Slot, s)));
  return bits;
}

void Emitter::put(size_t output, const Val& v, const Val* predicate, bool as_bits) {
  DType t = region_.region.outputs[output].tensor.dtype;
  auto bits = [&](const std::string& text) { return as_bits ? text : to_memory(t, text); };
  std::string y = params_.output(output);
  Access a = access(region_.store_offset(output));
  if (!a.vector) {
    const Level level = finest(a.offset.level, predicate ? predicate->level : Level::Uniform);
    for (int lane = 0; lane < shape.count(level); lane++) {
      const std::string condition = predicate ? at(*predicate, level, lane) : "true";
      if (condition == "false") continue;
      line(guarded(condition, fmt::format("{}[{}] = {};", y, at(a.offset, level, lane), bits(at(v, level, lane)))));
    }
    return;
  }
  need_alignment(region_.region.outputs[output].tensor, static_cast<int>(size_of(t)) * shape.width);
  std::string pack = fmt::format("Pack<{}, {}>", memory_type(t), shape.width);
  for (int group = 0; group < shape.groups; group++) {
    std::string o = fresh("o");
    const std::string& offset = a.offset.names[group];
    line(fmt::format("{} {};", pack, o));
    for (int w = 0; w < shape.width; w++) {
      line(fmt::format("{}.v[{}] = {};", o, w, bits(at(v, Level::Slot, group * shape.width + w))));
    }
    std::string put = fmt::format("stp<{}, {}>({} + {}, {});", memory_type(t), shape.width, y, offset, o);
    if (!vector.full.empty()) {
      line(fmt::format("if ({}) {} else {{", vector.full[group], put));
      for (int w = 0; w < shape.width; w++) {
        line(fmt::format("  if ({} + {} < {}) {}[{} + {}] = {}.v[{}];", vector.flat_base[group], w, vector.flat_end, y,
                         offset, w, o, w));
      }
      line("}");
    } else {
      line(predicate ? fmt::format("if ({}) {}", at(*predicate, Level::Group, group), put) : put);
    }
  }
}

}  // namespace dlcb::kernel
