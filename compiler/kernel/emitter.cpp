// Scopes, names and levels.
#include "kernel/emitter.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernel/precision.h"
#include "kernel/scope.h"

namespace dlcb::kernel {

using sym::Expr;

Emitter::Emitter(Lowered& region, Params& params, Shape shape)
    : shape(shape),
      region_(region),
      params_(params),
      coarse_(coarse_values(region)),
      root_(std::make_unique<Scope>()),
      current_(root_.get()) {
  root_->text = &root_->own_text;
}

Emitter::~Emitter() {
  while (current_ != root_.get()) {
    Scope* parent = current_->parent;
    if (!current_->block) delete current_;
    current_ = parent;
  }
}

const std::string& Emitter::text() const { return root_->own_text; }

void Emitter::line(const std::string& text) {
  *current_->text += "  ";
  *current_->text += text;
  *current_->text += '\n';
}

void Emitter::append(const std::string& lines) { *current_->text += lines; }

std::string Emitter::fresh(std::string_view prefix) {
  static constexpr std::string_view kTypes[] = {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"};
  std::string name;
  do {
    name = fmt::format("{}{}", prefix, counters_[std::string(prefix)]++);
  } while (std::ranges::find(kTypes, name) != std::end(kTypes));
  return name;
}

Level Emitter::finest(std::initializer_list<Level> levels) { return std::max(levels); }

Val Emitter::define(std::string_view type, std::string_view prefix, Level level,
                    const std::function<std::string(int)>& text) {
  Val v{level, {}};
  std::unordered_map<std::string, std::string> known;  // lanes of equal text share a name
  for (int lane = 0; lane < shape.count(level); lane++) {
    auto [at, is_new] = known.emplace(text(lane), "");
    if (is_new) {
      at->second = fresh(prefix);
      name_constant(type, at->second, at->first);
    }
    v.names.push_back(at->second);
  }
  return v;
}

std::string Emitter::constant(std::string_view type, std::string_view prefix, const std::string& value) {
  std::string name = fresh(prefix);
  name_constant(type, name, value);
  return name;
}

void Emitter::name_constant(std::string_view type, const std::string& name, const std::string& value) {
  if (current_->block)
    variable(type, name, value);
  else
    line(fmt::format("const {} {} = {};", type, name, value));
}

void Emitter::variable(std::string_view type, const std::string& name, std::string_view value) {
  if (!current_->block) return line(fmt::format("{} {} = {};", type, name, value));
  *current_->parent->text += fmt::format("  {} {};\n", type, name);
  line(fmt::format("{} = {};", name, value));
}

std::string Emitter::at(const Val& v, Level level, int lane) {
  if (v.level == Level::Uniform) return v.names[0];
  if (v.level == level) return v.names[lane];
  DLCB_CHECK(v.level == Level::Group && level == Level::Slot, "a value is asked for at a coarser level");
  const int group = lane / shape.width;
  if (shape.sides == 1) return v.names[group];
  const std::string &before = v.names[group * 2], &after = v.names[group * 2 + 1];
  if (before == after) return before;
  const std::string key = fmt::format("{}/{}", lane, before);
  for (Scope* s = current_; s; s = s->parent) {
    if (auto found = s->sided.find(key); found != s->sided.end()) return found->second;
  }
  std::string name = fresh("w");
  line(fmt::format("const auto {} = {} ? {} : {};", name, vector.crossed[lane], after, before));
  return current_->sided[key] = name;
}

void Emitter::bind_in_scope(Expr symbol, Val v) { current_->memo[memo_key(MemoKind::Index, symbol.id)] = std::move(v); }

void Emitter::set_value(ops::Scalar s, Val v) {
  home(region_.symbols(s), false)->memo[memo_key(MemoKind::Value, s.id)] = std::move(v);
}

const Val* Emitter::lookup(uint64_t key) const {
  for (Scope* s = current_; s; s = s->parent) {
    if (auto found = s->memo.find(key); found != s->memo.end()) return &found->second;
  }
  return nullptr;
}

Val Emitter::remember(uint64_t key, Val v) {
  current_->memo[key] = v;
  return v;
}

const Val* Emitter::guard() const { return current_->guard ? &*current_->guard : nullptr; }

Emitter::Scope* Emitter::home(const std::vector<Expr>& symbols, bool unsafe) {
  Scope* s = current_;
  while (s->parent) {
    if (s->guards_unsafe && unsafe) break;
    if (std::ranges::any_of(s->symbols, [&](Expr e) { return std::ranges::binary_search(symbols, e); })) break;
    s = s->parent;
  }
  return s;
}

void Emitter::open_loop(std::vector<Expr> symbols) {
  auto* s = new Scope;
  s->parent = current_;
  s->text = &s->own_text;
  s->symbols = std::move(symbols);
  s->guard = current_->guard;
  current_ = s;
}

std::string Emitter::close_loop() {
  Scope* s = current_;
  current_ = s->parent;
  std::string text = std::move(s->own_text);
  delete s;
  return text;
}

size_t Emitter::make_block(std::vector<Expr> symbols) {
  auto s = std::make_unique<Scope>();
  s->block = true;
  s->text = &s->own_text;
  s->symbols = std::move(symbols);
  blocks_.push_back(std::move(s));
  return blocks_.size() - 1;
}

void Emitter::enter(size_t block) {
  blocks_[block]->parent = current_;
  current_ = blocks_[block].get();
}

void Emitter::guard_block(const Val& guard) { current_->guard = guard; }

std::string Emitter::leave() {
  std::string text = std::move(current_->own_text);
  current_->own_text.clear();
  current_ = current_->parent;
  return text;
}

void Emitter::open_bindings(std::vector<Expr> symbols) {
  open_loop(std::move(symbols));
  current_->text = current_->parent->text;
}

void Emitter::open_guard(std::vector<Expr> symbols, const Val& guard) {
  Val all = guard;
  if (const Val* outer = this->guard()) {
    Val before = *outer;
    Level level = finest(before.level, guard.level);
    all = define("bool", "g", level,
                 [&](int lane) { return fmt::format("{} & {}", at(before, level, lane), at(guard, level, lane)); });
  }
  auto* s = new Scope;
  s->parent = current_;
  s->text = current_->text;
  s->guards_unsafe = symbols.empty();
  s->symbols = std::move(symbols);
  s->guard = std::move(all);
  current_ = s;
}

void Emitter::close_bindings() {
  Scope* s = current_;
  current_ = s->parent;
  delete s;
}

}  // namespace dlcb::kernel
