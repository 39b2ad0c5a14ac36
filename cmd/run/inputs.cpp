// Gathering tensors; see inputs.h.
#include "cmd/run/inputs.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/text.h"
#include "cmd/common/program.h"
#include "cmd/tensor_io/literal.h"
#include "cmd/tensor_io/npy.h"
#include "cmd/tensor_io/tensor_proto.h"

namespace dlcb::cmd {
namespace {

using Slots = std::vector<std::optional<Tensor>>;

std::string names_of(const std::vector<Port>& ports) {
  std::vector<std::string> names;
  for (const Port& port : ports) names.push_back(port_text(port));
  return join(names, "; ");
}

// The port that "NAME=VALUE" speaks of: the longest name that fits, because names may hold '='.
const Port* find_port(const std::vector<Port>& ports, const std::string& text) {
  const Port* found = nullptr;
  for (const Port& port : ports)
    if (text.starts_with(port.name + "=") && (found == nullptr || port.name.size() > found->name.size())) found = &port;
  return found;
}

Diagnostic unknown_port(const std::vector<Port>& ports, const std::string& flag, const std::string& text) {
  size_t equals = text.find('=');
  if (equals == std::string::npos) return usage(flag + " " + quote(text) + " is not NAME=VALUE");
  std::string name = text.substr(0, equals);
  if (flag == "--input") return diag(DiagKind::UnknownInput, {name, names_of(ports)});
  return usage("the model has no output " + quote(name) + "; its outputs are " + names_of(ports));
}

Status fill_from_texts(const std::vector<Port>& ports, const std::vector<std::string>& texts, const std::string& flag,
                       Slots& slots) {
  for (const std::string& text : texts) {
    const Port* port = find_port(ports, text);
    if (port == nullptr) return unknown_port(ports, flag, text);
    std::optional<Tensor>& slot = slots[static_cast<size_t>(port - ports.data())];
    if (slot) return usage(flag + " gives " + quote(port->name) + " twice");
    DLCB_ASSIGN(slot, tensor_from(port->name, text.substr(port->name.size() + 1), port->dtype));
  }
  return ok();
}

// A file that the count from 0 does not reach would be left out in silence.
Status check_numbering(const std::string& folder, const std::string& prefix, size_t count) {
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = file.path().filename().string();
    if (!name.starts_with(prefix + "_") || !name.ends_with(".pb")) continue;
    const std::string number = name.substr(prefix.size() + 1, name.size() - prefix.size() - 4);
    const bool numeric = !number.empty() && number.find_first_not_of("0123456789") == std::string::npos;
    if (!numeric || (number.size() <= 9 && std::stoul(number) < count)) continue;
    return usage(quote(folder) + " has " + name + " but no " + prefix + "_" + std::to_string(count) + ".pb");
  }
  return ok();
}

// prefix_0.pb, prefix_1.pb ... by the names inside where they are the model's, else by number.
Status fill_from_folder(const std::vector<Port>& ports, const std::string& folder, const std::string& prefix,
                        Slots& slots) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) return diag(DiagKind::CannotOpen, {folder, "it is not a folder"});
  size_t k = 0;
  for (;; ++k) {
    std::string path = (std::filesystem::path(folder) / (prefix + "_" + std::to_string(k) + ".pb")).string();
    if (!std::filesystem::exists(path, error)) break;
    DLCB_ASSIGN(NamedTensor named, read_tensor_proto(path));
    size_t place = k;
    for (size_t i = 0; i < ports.size(); ++i)
      if (ports[i].name == named.name) place = i;
    if (place >= ports.size())
      return bad_tensor(path, "the model has only " + std::to_string(ports.size()) + " such tensors");
    if (!slots[place]) slots[place] = std::move(named.tensor);  // flags come first
  }
  return check_numbering(folder, prefix, k);
}

Result<Tensor> read_plain_proto(const std::string& path) {
  DLCB_ASSIGN(NamedTensor named, read_tensor_proto(path));
  return std::move(named.tensor);
}

}  // namespace

Result<Tensor> tensor_from(const std::string& name, const std::string& value, DType dtype) {
  if (!value.starts_with('@')) return parse_literal(name, value, dtype);
  const std::string path = value.substr(1);
  if (!path.ends_with(".npy") && !path.ends_with(".pb"))
    return bad_tensor(name, quote(path) + " is neither an .npy nor a .pb file");
  auto tensor = path.ends_with(".npy") ? read_npy(path) : read_plain_proto(path);
  // The readers know the file alone.
  if (!tensor && tensor.error().kind == DiagKind::InputFile)
    return bad_tensor(name, quote(path) + " " + tensor.error().args[1]);
  return tensor;
}

Result<std::vector<Tensor>> gather_inputs(const std::vector<Port>& ports, const std::vector<std::string>& texts,
                                          const std::string& folder) {
  Slots slots(ports.size());
  DLCB_TRY(fill_from_texts(ports, texts, "--input", slots));
  if (!folder.empty()) DLCB_TRY(fill_from_folder(ports, folder, "input", slots));
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < ports.size(); ++i) {
    if (!slots[i]) {
      const std::string missing = "no value for input " + port_text(ports[i]);
      if (ports[i].example.empty()) return usage(missing);
      return usage(missing + "; give one, for example --input " +
                   shell_words({ports[i].name + "=" + ports[i].example}));
    }
    tensors.push_back(std::move(*slots[i]));
  }
  return tensors;
}

Result<Slots> gather_expected(const std::vector<Port>& ports, const std::vector<std::string>& texts,
                              const std::string& folder) {
  Slots slots(ports.size());
  DLCB_TRY(fill_from_texts(ports, texts, "--expect", slots));
  if (folder.empty()) return slots;
  DLCB_TRY(fill_from_folder(ports, folder, "output", slots));
  if (std::none_of(slots.begin(), slots.end(), [](const auto& slot) { return slot.has_value(); }))
    return usage("there is nothing to compare: " + quote(folder) + " has no output_0.pb");
  return slots;
}

}  // namespace dlcb::cmd
