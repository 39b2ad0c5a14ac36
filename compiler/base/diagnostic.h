// Every message that a user sees is a named kind with a stable code, so that scripts can match it, tests can demand
// that each kind is triggered, and text and JSON come from one value. Kinds are listed in diagnostics.def.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dlcb {

// Documented process exit codes, the same for all three programs (docs/errors.md).
enum class ExitCode : int {
  Ok = 0,
  Usage = 2,
  RefusedModel = 3,
  RefusedInput = 4,
  WrongResult = 5,
  Environment = 6,
  Internal = 70
};

enum class DiagKind : uint16_t {
#define DIAG(code, name, exit, text) name = code,
#include "base/diagnostics.def"
#undef DIAG
};

// Where in the user's model something is: any field may be empty. `node` is the model's node name (or op and output
// when it has none), `detail` e.g. "operand 1, axis 2" or "kernel 7".
struct Location {
  std::string file;
  std::string op;
  std::string node;
  std::string detail;
};

// A chain entry: says how something came about ("'T' is dim 1 of input 'speech'").
struct Note {
  std::string text;
  Location where;
};

struct Diagnostic {
  DiagKind kind;
  std::vector<std::string> args;  // in the order of the {} in the kind's text
  Location where;
  std::vector<Note> notes;
};

// Builds a Diagnostic; args are turned to text in order. Lower case, observed situation, no full stop.
Diagnostic diag(DiagKind kind, std::vector<std::string> args, Location where = {}, std::vector<Note> notes = {});

// The message without code and location: the kind's text with args filled in.
std::string message(const Diagnostic& d);
// "error[DLCB2103]: ...\n  from Conv '/enc/conv0' (kernel 7) in model.onnx\n  ..." (several lines, ends with a
// newline).
std::string to_text(const Diagnostic& d);
// One JSON object on one line: {"severity","code","kind","message","args","where":{...},"notes":[...]}.
std::string to_json(const Diagnostic& d);
ExitCode exit_code(DiagKind kind);
std::string_view kind_name(DiagKind kind);

// A fault of ours: thrown by DLCB_CHECK, caught once in cmd/, which writes the IR and the command that reproduces it.
struct InternalError {
  std::string message;
  const char* file;
  int line;
};
[[noreturn]] void internal_error(std::string message, const char* file, int line);

}  // namespace dlcb

#define DLCB_CHECK(cond, msg)                                                                 \
  do {                                                                                        \
    if (!(cond)) ::dlcb::internal_error(std::string(#cond ": ") + (msg), __FILE__, __LINE__); \
  } while (0)
