// How reading and writing bundles fails: as values, one sentence each. The stub maps the kind to a C status, the
// compiler to a diagnostic.
#pragma once
#include <cstdint>
#include <string>
#include <utility>

namespace dlcb::bundle {

enum class Fault : uint8_t {
  None,
  CannotOpen,   // the file system refused
  CannotWrite,  // the file system refused
  Damaged,      // not a bundle, or not one that this project's writer made
  Version,      // a bundle of another format version
};

struct [[nodiscard]] Error {
  Fault fault = Fault::None;
  std::string message;  // lower case, no full stop, without the file's name
  explicit operator bool() const { return fault != Fault::None; }
};

inline Error damaged(std::string message) { return {Fault::Damaged, std::move(message)}; }

}  // namespace dlcb::bundle

// Returns the error of an expression from the enclosing function.
#define DLCB_BUNDLE_TRY(expr)                         \
  do {                                                \
    if (::dlcb::bundle::Error e_ = (expr)) return e_; \
  } while (0)
