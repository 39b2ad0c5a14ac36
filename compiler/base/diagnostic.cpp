// Turns diagnostics into what the user sees: one wording table, rendered as text or as JSON.
#include "base/diagnostic.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/text.h"

namespace dlcb {
namespace {

struct KindInfo {
  DiagKind kind;
  std::string_view name;
  ExitCode exit;
  std::string_view text;
};

constexpr KindInfo kKinds[] = {
#define DIAG(code, name, exit, text) {DiagKind::name, #name, ExitCode::exit, text},
#include "base/diagnostics.def"
#undef DIAG
};

const KindInfo& info(DiagKind kind) {
  for (const KindInfo& k : kKinds)
    if (k.kind == kind) return k;
  internal_error(fmt::format("diagnostic kind {} is not in the table", static_cast<int>(kind)), __FILE__, __LINE__);
}

// "Conv '/enc/conv0' (kernel 7) in model.onnx"; empty when nothing is known.
std::string describe(const Location& where) {
  std::string text = where.op;
  auto append = [&](std::string_view separator, const std::string& part) {
    if (!text.empty()) text += separator;
    text += part;
  };
  if (!where.node.empty()) append(" ", quote(where.node));
  if (!where.detail.empty()) append(" ", text.empty() ? where.detail : "(" + where.detail + ")");
  if (!where.file.empty()) append(" ", "in " + where.file);
  return text;
}

// "from Conv '/c' in m.onnx", or "in m.onnx" where no more is known and the message does not name the file itself.
std::string origin_text(const Location& where, std::span<const std::string> args = {}) {
  const std::string text = describe(where);
  const bool only_file = where.op.empty() && where.node.empty() && where.detail.empty();
  if (only_file && std::find(args.begin(), args.end(), where.file) != args.end()) return "";
  return text.empty() || only_file ? text : "from " + text;
}

std::string json_location(const Location& where) {
  std::vector<std::string> fields;
  auto add = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) fields.push_back(json_quote(key) + ":" + json_quote(value));
  };
  add("file", where.file);
  add("op", where.op);
  add("node", where.node);
  add("detail", where.detail);
  return "{" + join(fields, ",") + "}";
}

}  // namespace

Diagnostic diag(DiagKind kind, std::vector<std::string> args, Location where, std::vector<Note> notes) {
  return {kind, std::move(args), std::move(where), std::move(notes)};
}

std::string message(const Diagnostic& d) {
  std::string_view pattern = info(d.kind).text;
  std::string text;
  size_t next = 0;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern.substr(i, 2) != "{}") {
      text += pattern[i];
      continue;
    }
    DLCB_CHECK(next < d.args.size(), "too few arguments for " + std::string(kind_name(d.kind)));
    text += d.args[next++];
    ++i;
  }
  DLCB_CHECK(next == d.args.size(), "too many arguments for " + std::string(kind_name(d.kind)));
  return text;
}

std::string to_text(const Diagnostic& d) {
  std::string text = fmt::format("error[DLCB{}]: {}\n", static_cast<int>(d.kind), message(d));
  if (std::string from = origin_text(d.where, d.args); !from.empty()) text += "  " + from + "\n";
  for (const Note& note : d.notes) {
    text += "  " + note.text;
    if (std::string from = origin_text(note.where); !from.empty()) text += (note.text.empty() ? "" : ", ") + from;
    text += "\n";
  }
  return text;
}

std::string to_json(const Diagnostic& d) {
  std::vector<std::string> args, notes;
  for (const std::string& arg : d.args) args.push_back(json_quote(arg));
  for (const Note& note : d.notes)
    notes.push_back(fmt::format(R"({{"text":{},"where":{}}})", json_quote(note.text), json_location(note.where)));
  return fmt::format(
      R"({{"severity":"error","code":"DLCB{}","kind":"{}","message":{},"args":[{}],"where":{},"notes":[{}]}})",
      static_cast<int>(d.kind), kind_name(d.kind), json_quote(message(d)), join(args, ","), json_location(d.where),
      join(notes, ","));
}

ExitCode exit_code(DiagKind kind) { return info(kind).exit; }

std::string_view kind_name(DiagKind kind) { return info(kind).name; }

void internal_error(std::string message, const char* file, int line) {
  throw InternalError{std::move(message), file, line};
}

}  // namespace dlcb
