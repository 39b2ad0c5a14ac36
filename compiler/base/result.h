// Functions that can fail because of the user's model or flags return Result<T>; faults of our own are DLCB_CHECK.
// C++20 has no std::expected; this is the small part of it that we use.
#pragma once
#include <memory>
#include <utility>
#include <variant>

#include "base/diagnostic.h"

namespace dlcb {

// Holds either a T or the Diagnostic that says why there is none. Move-only when T is.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Diagnostic error) : state_(std::in_place_index<1>, std::make_unique<Diagnostic>(std::move(error))) {}

  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  Diagnostic& error() { return *std::get<1>(state_); }
  const Diagnostic& error() const { return *std::get<1>(state_); }

 private:
  std::variant<T, std::unique_ptr<Diagnostic>> state_;
};

struct Ok {};
using Status = Result<Ok>;
inline Status ok() { return Ok{}; }

}  // namespace dlcb

// Returns the error of a Result or Status from the enclosing function.
#define DLCB_TRY(expr)                                                   \
  do {                                                                   \
    if (auto dlcb_r = (expr); !dlcb_r) return std::move(dlcb_r.error()); \
  } while (0)

// DLCB_ASSIGN(auto x, f()): x is the value, or the enclosing function returns the error.
#define DLCB_CONCAT_(a, b) a##b
#define DLCB_CONCAT(a, b) DLCB_CONCAT_(a, b)
#define DLCB_ASSIGN(lhs, expr) DLCB_ASSIGN_(DLCB_CONCAT(dlcb_r_, __LINE__), lhs, expr)
#define DLCB_ASSIGN_(tmp, lhs, expr)       \
  auto tmp = (expr);                       \
  if (!tmp) return std::move(tmp.error()); \
  lhs = *std::move(tmp)
