// Nested regions of text and what has been computed in each; private to the emitter.
#pragma once
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernel/emitter.h"

namespace dlcb::kernel {

struct Emitter::Scope {
  Scope* parent = nullptr;
  std::string own_text;
  std::string* text = nullptr;     // own_text, or the parent's for guards
  std::vector<sym::Expr> symbols;  // bound here (loops), or what the guard is about
  bool guards_unsafe = false;      // a guard for unsafe loads
  bool block = false;              // written in parts: values are declared in the parent's text
  std::optional<Val> guard;        // all guards from here outwards
  std::unordered_map<uint64_t, Val> memo;
  std::unordered_map<std::string, std::string> sided;  // slot name + group value -> its selected side
};

// Keys of the memo: what kind of thing an id names.
enum class MemoKind : uint64_t { Index, Value, Reciprocal, Bits, Origin };
constexpr uint64_t memo_key(MemoKind kind, uint32_t id) { return uint64_t{id} << 3 | static_cast<uint64_t>(kind); }

}  // namespace dlcb::kernel
