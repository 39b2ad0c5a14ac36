// See refusal.h. Wording: lower case, the observed value first, no full stop; origins on lines of their own.
#include "runtime_stub/src/refusal.h"

#include <algorithm>
#include <cctype>

namespace dlcb::rt {
namespace {

bool is_number(std::string_view text) {
  if (!text.empty() && text.front() == '-') text.remove_prefix(1);
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return std::isdigit(static_cast<unsigned char>(c)); });
}

// Whether a dim's text uses a symbol as a whole word.
bool mentions(std::string_view text, std::string_view name) {
  const auto word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; };
  for (size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const size_t end = at + name.size();
    if ((at == 0 || !word(text[at - 1])) && (end == text.size() || !word(text[end]))) return true;
  }
  return false;
}

// "T is dim 1 of input 'speech'", for the first input dim that is the symbol itself; empty when there is none.
std::string home_of(const Model& model, const std::string& symbol, uint32_t skip_input, uint32_t skip_axis) {
  for (uint32_t i = 0; i < model.inputs(); ++i)
    for (uint32_t d = 0; d < model.input_dims(i).size(); ++d) {
      if (model.input_dims(i)[d] != symbol) continue;
      if (i == skip_input && d == skip_axis) return "";
      return symbol + " is dim " + std::to_string(d) + " of " + input_text(model, i);
    }
  return "";
}

// Where the symbols of a text come from: "; T is dim 1 of input 'speech'; ...".
std::string homes_of(const Model& model, std::string_view text, uint32_t skip_input, uint32_t skip_axis) {
  std::string result;
  const auto* symbols = model.program().symbols();
  for (uint32_t s = 0; s < bundle::size_or_zero(symbols); ++s) {
    const std::string name = flatbuffers::GetString(symbols->Get(s)->text());
    if (name.empty() || !mentions(text, name)) continue;
    if (const std::string home = home_of(model, name, skip_input, skip_axis); !home.empty()) result += "; " + home;
  }
  return result;
}

// A constraint on a dim, said of the dim: "7 <= T" becomes "7 or more is needed", "T <= 8" "at most 8 is allowed".
std::string demand(const std::string& constraint, const std::string& dim) {
  if (constraint.starts_with(dim + " <= ") && is_number(constraint.substr(dim.size() + 4)))
    return "at most " + constraint.substr(dim.size() + 4) + " is allowed";
  if (constraint.ends_with(" <= " + dim) && is_number(constraint.substr(0, constraint.size() - dim.size() - 4)))
    return constraint.substr(0, constraint.size() - dim.size() - 4) + " or more is needed";
  return constraint + " is needed";
}

std::string origins_of(const fb::Guard& guard) {
  std::string result;
  for (uint32_t i = 0; i < bundle::size_or_zero(guard.origins()); ++i) {
    const fb::Origin& o = *guard.origins()->Get(i);
    result += "\n  from " + flatbuffers::GetString(o.op()) + " '" + flatbuffers::GetString(o.node()) + "'";
    if (o.detail() && o.detail()->size() > 0) result += " (" + o.detail()->str() + ")";
  }
  return result;
}

std::string text_of(const bundle::Registers& registers, uint32_t reg) {
  return registers.lost(reg) ? "more than 64 bits hold" : std::to_string(registers[reg]);
}

// Why a guard is there, and the nodes that need it.
std::string reason_of(const fb::Guard& guard) {
  const bool known = guard.why() && guard.why()->size() > 0;
  return (known ? "; " + guard.why()->str() : "") + origins_of(guard);
}

// The reason for the size of an input's dim; the bundle states it as a guard of kind 2.
std::string reason_of_dim(const Model& model, uint32_t input, uint32_t axis) {
  constexpr uint8_t kInputDim = 2;
  for (uint32_t i = 0; i < bundle::size_or_zero(model.program().guards()); ++i) {
    const fb::Guard& guard = *model.program().guards()->Get(i);
    if (guard.kind() == kInputDim && guard.input() == static_cast<int64_t>(input) &&
        guard.axis() == static_cast<int64_t>(axis))
      return reason_of(guard);
  }
  return "";
}

}  // namespace

std::string input_text(const Model& model, uint32_t input) {
  return "input '" + model.program().inputs()->Get(input)->name()->str() + "'";
}

std::string output_text(const Model& model, uint32_t output) {
  return "output '" + model.program().outputs()->Get(output)->name()->str() + "'";
}

Error refuse_dim(const Model& model, uint32_t input, uint32_t axis, int64_t actual,
                 const bundle::Registers& registers) {
  const std::string& text = model.input_dims(input)[axis];
  const int64_t wanted = registers[model.program().inputs()->Get(input)->dims()->Get(axis)->reg()];
  std::string message =
      input_text(model, input) + " dim " + std::to_string(axis) + " is " + std::to_string(actual) + ", but ";
  if (!text.empty() && !is_number(text)) message += text + " = ";
  message +=
      std::to_string(wanted) + " is needed" + homes_of(model, text, input, axis) + reason_of_dim(model, input, axis);
  return {DLCB_INPUT_REFUSED, std::move(message)};
}

Error refuse_guard(const Model& model, uint32_t guard, std::span<const std::span<const int64_t>> dims,
                   const bundle::Registers& registers) {
  const fb::Guard& g = *model.program().guards()->Get(guard);
  const std::string text = flatbuffers::GetString(g.text());
  std::string message, values;
  uint32_t input = bundle::kNever, axis = bundle::kNever;
  if (g.input() >= 0 && g.axis() >= 0) {
    input = static_cast<uint32_t>(g.input());
    axis = static_cast<uint32_t>(g.axis());
    message = input_text(model, input) + " dim " + std::to_string(axis) + " is " + std::to_string(dims[input][axis]) +
              ", but " + demand(text, model.input_dims(input)[axis]);
  } else {
    message = (g.input() >= 0 ? input_text(model, static_cast<uint32_t>(g.input())) + ": " : "") + text +
              " is needed, but does not hold";
  }
  for (uint32_t i = 0; i < bundle::size_or_zero(g.shown()); ++i) {
    const fb::Shown& shown = *g.shown()->Get(i);
    const std::string name = flatbuffers::GetString(shown.text());
    if (axis != bundle::kNever && name == model.input_dims(input)[axis]) continue;  // its value has been said
    values += (values.empty() ? "; here " : ", ") + name + " = " + text_of(registers, shown.reg());
  }
  message += values + homes_of(model, text, bundle::kNever, bundle::kNever);
  return {DLCB_INPUT_REFUSED, message + reason_of(g)};
}

}  // namespace dlcb::rt
